import type { ModelMetadata, TensorMetadata } from '../core/core.js';
import { datatypeOfConfig } from '../datatype.js';
import type { ModelConfig, ModelInput, ModelOutput } from '../grpc/gen/model_config.js';

/** A model's metadata, as its configuration gives them. @param versions - those to be named */
export function metadataOf(config: ModelConfig, versions: readonly number[]): ModelMetadata {
  const tensor = ({ name, data_type, dims }: ModelInput | ModelOutput): TensorMetadata => ({
    name,
    datatype: datatypeOfConfig(data_type),
    shape: [...(config.max_batch_size > 0 ? [-1] : []), ...dims.map(Number)],
  });
  return {
    name: config.name,
    versions: versions.map(String),
    platform: config.platform === '' ? config.backend : config.platform,
    inputs: config.input.map(tensor),
    outputs: config.output.map(tensor),
  };
}
