import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals } from '../child.js';
import { measureLoop } from '../loop.js';
import type { MeasureSpec } from '../measure-spec.js';
import { type BenchRegion, openRegion, outputOffset } from '../region.js';
import type { Measurement } from '../results.js';

/**
 * What one writes with grpc-js and proto-loader alone: a unary ModelInfer per request, its message built and encoded each
 * time. A peer to compare with; only its region is made with our packages.
 */
export async function measureUnary(spec: MeasureSpec): Promise<Measurement> {
  // The shared-memory object's name goes with the process's exit event.
  exitOnSignals();
  const stub = connect(spec.grpcUrl);
  try {
    const region = spec.transport === 'bytes' ? undefined : await makeRegion(spec, spec.transport);
    try {
      const build = region === undefined ? messageRequest(spec) : regionRequest(spec, region.name);
      const request = () =>
        new Promise<void>((resolve, reject) => {
          stub.ModelInfer(build(), (error) => (error === null ? resolve() : reject(error)));
        });
      return await measureLoop(request, spec);
    } finally {
      await region?.close();
    }
  } finally {
    stub.close();
  }
}

type InferStub<Answer> = Client & {
  readonly ModelInfer: {
    (request: object, callback: (error: Error | null, answer?: Answer) => void): void;
    readonly requestSerialize: (request: object) => Buffer;
  };
};

/** A stub as proto-loader makes it, field names as in the .proto files. */
export function connect<Answer>(grpcUrl: string): InferStub<Answer> {
  const proto = join(dirname(fileURLToPath(import.meta.resolve('@zerohop/triton-client/package.json'))), 'proto');
  const definition = loadSync('grpc_service.proto', { includeDirs: [proto], keepCase: true, longs: Number });
  const { inference } = loadPackageDefinition(definition) as {
    inference?: { GRPCInferenceService?: ServiceClientConstructor };
  };
  const Service = inference?.GRPCInferenceService;
  if (Service === undefined) throw new Error(`${proto} defines no inference.GRPCInferenceService`);
  return new Service(new URL(grpcUrl).host, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  }) as unknown as InferStub<Answer>;
}

/** What every client sends. */
const ones = (spec: MeasureSpec) => new Float32Array(spec.inputByteLength / Float32Array.BYTES_PER_ELEMENT).fill(1);

async function makeRegion(spec: MeasureSpec, transport: 'system' | 'cuda'): Promise<BenchRegion> {
  const client = new TritonClient(spec.grpcUrl);
  const { outputByteLength } = spec;
  const opened = await openRegion(client, { purpose: 'unary', transport, input: ones(spec), outputByteLength });
  return {
    ...opened,
    async close() {
      await opened.close();
      await client.close();
    },
  };
}

type RegionWork = Pick<MeasureSpec, 'model' | 'inputShape' | 'inputByteLength' | 'outputByteLength'>;

/** A request whose input and output lie in a region made by `openRegion`, in proto-loader's form. */
export function regionRequest(spec: RegionWork, region: string): () => object {
  const place = (byteSize: number, offset: number) => ({
    shared_memory_region: { string_param: region },
    shared_memory_byte_size: { int64_param: byteSize },
    shared_memory_offset: { int64_param: offset },
  });
  return () => ({
    model_name: spec.model,
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: spec.inputShape, parameters: place(spec.inputByteLength, 0) }],
    outputs: [{ name: 'OUTPUT0', parameters: place(spec.outputByteLength, outputOffset(spec.inputByteLength)) }],
  });
}

function messageRequest(spec: MeasureSpec): () => object {
  const data = Buffer.from(ones(spec).buffer);
  return () => ({
    model_name: spec.model,
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: spec.inputShape }],
    raw_input_contents: [data],
  });
}
