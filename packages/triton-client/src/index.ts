export { type ClientStats, TritonClient } from './client.js';
export { elementByteLength } from './datatype.js';
export { DisposedError, TritonError, type TritonErrorCode } from './errors.js';
export type { LaneStats } from './lane-pool.js';
export type { TritonClientOptions } from './options.js';
export { type RegionTensorOptions, region, type TensorData, tensor } from './tensor.js';
export type {
  CallOptions,
  CudaRegionStatus,
  CudaRegions,
  Datatype,
  DurationStatistic,
  InferCall,
  InferOutput,
  InferRequest,
  InferResult,
  InstanceGroup,
  LoadModelOptions,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  OutputRequest,
  ParameterValue,
  PreparedRequest,
  RegionRef,
  RegionTensor,
  RepositoryModel,
  ServerMetadata,
  Settlement,
  SystemRegionStatus,
  SystemRegions,
  Tensor,
  TensorMetadata,
} from './types.js';
