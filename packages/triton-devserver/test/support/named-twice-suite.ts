import { expect, onTestFinished, test } from 'vitest';
import { serializeElements } from '../../src/bytes-elements.js';
import {
  type InferParameter,
  ModelInferRequest,
  ModelInferResponse,
  GRPCInferenceServiceService as Service,
} from '../../src/grpc/gen/grpc_service.js';
import { Server } from './differential/servers.js';
import { ShmObject } from './shm-object.js';

type Parameters = Record<string, InferParameter>;

const classes = (count: bigint): Parameters => ({ classification: { int64_param: count } });
const region = (offset: number, size = 16): Parameters => ({
  shared_memory_region: { string_param: 'r' },
  shared_memory_offset: { int64_param: BigInt(offset) },
  shared_memory_byte_size: { int64_param: BigInt(size) },
});

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

const TENSOR = 'FP32 [1,4]';
const ALL = ['5.000000:1', '3.000000:2', '2.000000:3', '1.000000:0'];
const texts = (count: number) => `BYTES [${count}] ${latin1(serializeElements(ALL.slice(0, count)))}`;

/** What stands for OUTPUT0 in a gRPC request, what the answer has of [1, 5, 3, 2], and where the region is written. */
const BY_GRPC: readonly [what: string, outputs: readonly Parameters[], answer: string, written: readonly number[]][] = [
  ['plain, then classes', [{}, classes(2n)], texts(2), []],
  ['classes, then plain', [classes(2n), {}], texts(2), []],
  ['classes twice', [classes(1n), classes(2n)], texts(1), []],
  ['a region, then classes', [region(0), classes(2n)], texts(2), [0]],
  ['classes, then a region', [classes(2n), region(64)], texts(2), [64]],
  ['plain, then a region', [{}, region(128)], TENSOR, [128]],
  ['two regions', [region(192), region(256)], TENSOR, [192]],
  ['a region, then plain', [region(320), {}], TENSOR, [320]],
  ['2^32 classes', [classes(2n ** 32n)], texts(0), []],
  ['2^32 + 1 classes', [classes(2n ** 32n + 1n)], texts(1), []],
  ['2^31 classes', [classes(2n ** 31n)], texts(4), []],
  ['2^63 - 1 classes', [classes(2n ** 63n - 1n)], texts(4), []],
];

const withClasses = (classification: number) => ({ name: 'OUTPUT0', parameters: { classification } });
const plain = { name: 'OUTPUT0' };
const BY_HTTP: readonly [what: string, outputs: readonly object[], answer: string][] = [
  ['plain, then classes', [plain, withClasses(2)], '"FP32","shape":[1,4],"data":[1.0,5.0,3.0,2.0]'],
  ['classes, then plain', [withClasses(2), plain], '"BYTES","shape":[2],"data":["5.000000:1","3.000000:2"]'],
  ['2^32 classes', [withClasses(2 ** 32)], '"FP32","shape":[1,4],"data":[1.0,5.0,3.0,2.0]'],
  ['2^32 + 1 classes', [withClasses(2 ** 32 + 1)], '"BYTES","shape":[1],"data":["5.000000:1"]'],
];

/** Outputs that a request names several times, and numbers of classes beyond 32 bits: the same for each kind of server. */
export function namedTwiceSuite(open: () => Promise<{ readonly grpcUrl: string; readonly httpUrl: string }>): void {
  test.for(BY_GRPC)('gRPC: %s', async ([, outputs, answer, written]) => {
    const server = new Server(await open());
    onTestFinished(() => server.close());
    const object = new ShmObject(512);
    const register = { name: 'r', key: object.key, offset: 0n, byte_size: 512n };
    expect(await server.call(Service.systemSharedMemoryRegister, register)).toMatchObject({ code: 0 });
    const request = ModelInferRequest.fromPartial({
      model_name: 'identity',
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1n, 4n] }],
      outputs: outputs.map((parameters) => ({ name: 'OUTPUT0', parameters })),
      raw_input_contents: [new Uint8Array(Float32Array.of(1, 5, 3, 2).buffer)],
    });
    try {
      expect(said(await server.call(Service.modelInfer, request))).toBe(answer);
      const bytes = object.bytes();
      const places = Array.from({ length: 32 }, (_, index) => index * 16);
      expect(places.filter((at) => bytes.subarray(at, at + 16).some(Boolean))).toEqual(written);
    } finally {
      await server.call(Service.systemSharedMemoryUnregister, { name: 'r' });
    }
  });

  test.for(BY_HTTP)('HTTP: %s', async ([, outputs, answer]) => {
    const { httpUrl } = await open();
    const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 5, 3, 2] }];
    const body = JSON.stringify({ inputs, outputs });
    const response = await fetch(`${httpUrl}/v2/models/identity/infer`, { method: 'POST', body });
    expect(await response.text()).toContain(`"outputs":[{"name":"OUTPUT0","datatype":${answer}}]`);
  });
}

function said({ text, data }: { text: string; data?: unknown }): string {
  if (text !== '') return text;
  const { outputs, raw_output_contents: raw } = ModelInferResponse.fromPartial(data as ModelInferResponse);
  return outputs
    .map(({ datatype, shape }, index) => {
      const what = `${datatype} [${shape}]`;
      return datatype === 'BYTES' ? `${what} ${latin1(raw[index] ?? new Uint8Array(0))}` : what;
    })
    .join('; ');
}
