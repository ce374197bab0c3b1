import type { ModelConfig } from '../grpc/gen/model_config.js';

/** Which of the versions that are there a model serves, in ascending order. A policy that names none means all. */
export function servedVersions(config: ModelConfig, present: readonly number[]): number[] {
  const ascending = [...present].sort((a, b) => a - b);
  const { latest, specific } = config.version_policy ?? {};
  if (specific !== undefined) return ascending.filter((version) => specific.versions.includes(BigInt(version)));
  if (latest === undefined) return ascending;
  return latest.num_versions === 0 ? [] : ascending.slice(-latest.num_versions);
}
