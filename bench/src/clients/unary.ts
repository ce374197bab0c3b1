import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Device, SharedMemory } from '@zerohop/cuda-native';
import { TritonClient } from '@zerohop/triton-client';
import { exitOnSignals } from '../child.js';
import { measureLoop } from '../loop.js';
import type { MeasureSpec } from '../measure-spec.js';
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
    const region = spec.transport === 'bytes' ? undefined : await openRegion(spec);
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

type InferStub = Client & {
  ModelInfer(request: object, callback: (error: Error | null) => void): void;
};

function connect(grpcUrl: string): InferStub {
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
  }) as unknown as InferStub;
}

const OUTPUT_OFFSET_ALIGNMENT = 256;

/** What every client sends. */
const ones = (spec: MeasureSpec) => new Float32Array(spec.inputByteLength / Float32Array.BYTES_PER_ELEMENT).fill(1);

/** Registered memory that holds the input. */
interface PeerRegion {
  readonly name: string;
  close(): Promise<void>;
}

function layout(spec: MeasureSpec) {
  const outputOffset = Math.ceil(spec.inputByteLength / OUTPUT_OFFSET_ALIGNMENT) * OUTPUT_OFFSET_ALIGNMENT;
  return { outputOffset, byteLength: outputOffset + spec.outputByteLength };
}

async function openRegion(spec: MeasureSpec): Promise<PeerRegion> {
  const client = new TritonClient(spec.grpcUrl);
  const name = `bench-unary-${randomBytes(8).toString('hex')}`;
  const { byteLength } = layout(spec);
  if (spec.transport === 'cuda') {
    const device = await Device.open(0);
    const memory = await device.alloc(byteLength, { exportable: true });
    const stream = device.createStream();
    await stream.copyToDevice(memory.slice(0, spec.inputByteLength), ones(spec));
    await stream.close();
    await client.cudaSharedMemory.register({ name, byteLength, deviceId: 0, rawHandle: memory.exportIpc().rawHandle });
    return {
      name,
      async close() {
        await client.cudaSharedMemory.unregister(name);
        await memory.close();
        await client.close();
      },
    };
  }
  const memory = await SharedMemory.create(`/${name}`, byteLength);
  new Float32Array(memory.buffer, 0, spec.inputByteLength / Float32Array.BYTES_PER_ELEMENT).set(ones(spec));
  await client.systemSharedMemory.register({ name, key: memory.key, byteLength });
  return {
    name,
    async close() {
      await client.systemSharedMemory.unregister(name);
      memory.unlink();
      memory.close();
      await client.close();
    },
  };
}

function regionRequest(spec: MeasureSpec, region: string): () => object {
  const { outputOffset } = layout(spec);
  const place = (byteSize: number, offset: number) => ({
    shared_memory_region: { string_param: region },
    shared_memory_byte_size: { int64_param: byteSize },
    shared_memory_offset: { int64_param: offset },
  });
  return () => ({
    model_name: spec.model,
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: spec.inputShape, parameters: place(spec.inputByteLength, 0) }],
    outputs: [{ name: 'OUTPUT0', parameters: place(spec.outputByteLength, outputOffset) }],
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
