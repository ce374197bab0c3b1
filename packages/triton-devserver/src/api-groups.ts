import type { Protocol } from './protocol.js';

/** The groups of `--grpc-restricted-protocol` and `--http-restricted-api`. */
export const API_GROUPS = [
  'health',
  'metadata',
  'inference',
  'shared-memory',
  'model-config',
  'model-repository',
  'statistics',
  'trace',
  'logging',
] as const;

export type ApiGroup = (typeof API_GROUPS)[number];

/** One rule of `--grpc-restricted-protocol` and `--http-restricted-api`: APIs for those alone who send a header. */
export interface RestrictedApis {
  readonly apis: readonly ApiGroup[];
  /** Over gRPC it is sent with the prefix `triton-grpc-protocol-`, over HTTP without. */
  readonly header: string;
  readonly value: string;
  /** Where it holds; absent: over both. */
  readonly protocol?: Protocol;
}

/** The rules that hold over a protocol. */
export function rulesOf(protocol: Protocol, rules: readonly RestrictedApis[]): RestrictedApis[] {
  return rules.filter((rule) => rule.protocol === undefined || rule.protocol === protocol);
}
