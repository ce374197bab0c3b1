export type { ApiGroup, RestrictedApis } from './api-groups.js';
export type { ModelConfigJson } from './config/model-config-json.js';
export type { IndexEntry } from './core/core.js';
export type { Datatype, Elements } from './datatype.js';
export { DevServer } from './dev-server.js';
export type { ActiveFault, Fault, FaultKind, FaultScope } from './faults/fault.js';
export type { ForwardHeaders } from './forwarded-headers.js';
export type { GrpcTls } from './grpc/front-end.js';
export type { ModelConfig } from './grpc/gen/types/model_config.js';
export type {
  BatchOutputs,
  Execute,
  ExecuteBatch,
  ExecuteDecoupled,
  ModelAnswer,
  ModelInstance,
  ModelOutputData,
  ModelOutputs,
  ModelRequest,
  ModelTensor,
  ParameterValue,
} from './model.js';
export type { DevServerOptions, ReplacementOptions } from './options.js';
export type { Version } from './personality.js';
export type { ModelDefinition } from './repository/code.js';
export type { CreateModel } from './repository/model-module.js';
export type { InFlightOptions, SeenInput, SeenRequest } from './request-log.js';
export type { Ports } from './server-process.js';
export { ServerError, type StatusCode } from './status.js';
