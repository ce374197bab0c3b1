import type { CaseScope, ConformanceCase } from './case.js';
import type { RowId } from './rows.js';

/** Why a row has no use of one kind, there where `scope` says. */
export interface Exemption extends CaseScope {
  readonly row: RowId;
  readonly use: ConformanceCase['use'];
  readonly reason: string;
}

const NEEDS_GPU = 'needs a GPU: test/gpu/conformance.test.ts';
const GRPC_ONLY = 'HTTP has no such thing';
const HTTP_ONLY = 'gRPC has no such thing';

const grpcOnly = (row: RowId, uses: readonly ConformanceCase['use'][] = ['accepted', 'refused']): Exemption[] =>
  uses.map((use) => ({ row, use, reason: GRPC_ONLY, transports: ['http'] }));
const httpOnly = (row: RowId): Exemption[] =>
  (['accepted', 'refused'] as const).map((use) => ({ row, use, reason: HTTP_ONLY, transports: ['grpc'] }));

export const EXEMPTIONS: readonly Exemption[] = [
  ...grpcOnly('health-check', ['accepted']),
  ...grpcOnly('model-stream-infer', ['accepted']),
  ...grpcOnly('empty-final-response', ['accepted']),
  ...grpcOnly('stream-timeout'),
  ...grpcOnly('grpc-compression'),
  ...grpcOnly('unix-socket'),
  ...grpcOnly('keepalive'),
  ...httpOnly('binary-data'),
  ...httpOnly('http-compression'),
  ...httpOnly('http-limits'),
  { row: 'grpc-error-header', use: 'accepted', reason: 'no server survives it with two requests under way' },
  { row: 'cuda-register', use: 'accepted', reason: NEEDS_GPU },
  { row: 'register-cuda-bad-handle', use: 'accepted', reason: NEEDS_GPU },
  { row: 'register-cuda-too-large', use: 'accepted', reason: NEEDS_GPU },
  { row: 'register-cuda-too-large', use: 'refused', reason: NEEDS_GPU },
  { row: 'register-cuda-handle-length', use: 'accepted', reason: NEEDS_GPU },
  { row: 'register-cuda-cpu-build', use: 'accepted', reason: NEEDS_GPU },
  {
    row: 'register-cuda-cpu-build',
    use: 'refused',
    reason: 'the wheels’ servers are built with CUDA: the text is in test/unit/error-texts.test.ts',
  },
  {
    row: 'unregister-all-partly',
    use: 'refused',
    reason: 'the server accepts it and dies',
    versions: ['2.48'],
  },
  {
    row: 'shm-unsupported',
    use: 'refused',
    reason: 'servers from 2.68 and on Windows: the text is in test/unit/error-texts.test.ts',
  },
];
