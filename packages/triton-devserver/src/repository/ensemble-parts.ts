import { joinEnsemble } from '../config/ensemble.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { ServerError } from '../status.js';
import type { DependencyGraph, GraphNode } from './dependency-graph.js';
import { LoadFailure } from './load-failure.js';

/** What an ensemble asks of what runs. */
export interface Running {
  /** The ready versions of a model, in ascending order. */
  versions(name: string): number[];
  /** The configuration of its newest one. */
  config(name: string): ModelConfig;
}

/** How the loads of this turn ended: undefined for one that went well. */
export type Results = ReadonlyMap<string, LoadFailure | undefined>;

/**
 * Holds a model that is an ensemble to what it is made of.
 *
 * @returns its configuration, which says whether one of its parts is decoupled
 * @throws LoadFailure
 */
export function joinParts(node: GraphNode, graph: DependencyGraph, running: Running, results: Results): ModelConfig {
  const { config } = node.model;
  const { parts } = node;
  if (config.ensemble_scheduling === undefined) return config;
  for (const part of parts)
    checkPart(config, part, graph.get(part)?.problem, running.versions(part), results.get(part));
  try {
    return joinEnsemble(config, new Map(parts.map((part) => [part, running.config(part)])));
  } catch (error) {
    throw error instanceof ServerError ? new LoadFailure(error.message) : error;
  }
}

function checkPart(
  config: ModelConfig,
  part: string,
  problem: LoadFailure | undefined,
  versions: readonly number[],
  result: LoadFailure | undefined,
): void {
  const depends = `ensemble '${config.name}' depends on '${part}'`;
  if (problem !== undefined) {
    throw new LoadFailure(`${depends} which is not valid. Model '${part}' failed with error: ${problem.message}`);
  }
  if (versions.length === 0) {
    const why = result === undefined ? '' : ` Model '${part}' loading failed with error: ${result.message}`;
    throw new LoadFailure(`${depends} which has no loaded version.${why}`);
  }
  for (const step of config.ensemble_scheduling?.step ?? []) {
    const { model_name, model_version } = step;
    if (model_name !== part || model_version < 0n || versions.includes(Number(model_version))) continue;
    throw new LoadFailure(`${depends} whose required version ${model_version} is not loaded.`);
  }
}
