import { TritonError, type TritonErrorCode } from './errors.js';
import type { ControlOptions } from './types/request.js';
import type { ModelConfig, ModelMetadata } from './types/server.js';

/** What the server says of a model. */
export interface ModelFacts {
  readonly metadata: ModelMetadata;
  readonly config: ModelConfig | undefined;
}

/** The client, as it is asked for a model's facts. */
export interface FactsSource {
  modelMetadata(model: string, version: string, options?: ControlOptions): Promise<ModelMetadata>;
  modelConfig(model: string, version: string, options?: ControlOptions): Promise<ModelConfig>;
}

/** @throws TritonError `TRITON_NOT_FOUND` for an unknown model */
export async function readModelFacts(
  source: FactsSource,
  model: string,
  version: string,
  options: ControlOptions | undefined,
): Promise<ModelFacts> {
  const [metadata, config] = await Promise.all([
    source.modelMetadata(model, version, options),
    source.modelConfig(model, version, options).catch(withheld),
  ]);
  return { metadata, config };
}

const WITHHELD: ReadonlySet<TritonErrorCode> = new Set([
  'TRITON_UNIMPLEMENTED',
  'TRITON_PERMISSION_DENIED',
  'TRITON_UNAUTHENTICATED',
  // The metadata call says whether there is such a model.
  'TRITON_NOT_FOUND',
]);

/** Undefined for a configuration that the server has and does not give, or does not have at all. */
function withheld(error: unknown): undefined {
  const restricted = error instanceof TritonError && error.details.includes('restricted, expecting header');
  if (error instanceof TritonError && (restricted || WITHHELD.has(error.code))) return undefined;
  throw error;
}
