import { type InferRequest, type InferResult, region, TritonClient, tensor } from '@zerohop/triton-client';
import { type BenchRegion, openRegion, outputOffset } from '../region.js';
import { byteLength } from './cases.js';
import type { ClientSpec } from './spec.js';

/** One request, and whether its answer has what it must have. */
export interface Requester {
  /** One for each request in flight. */
  readonly requests: readonly (() => Promise<void>)[];
  close(): Promise<void>;
}

/** @throws Error when the answer is not the one expected */
export function look(result: InferResult, spec: ClientSpec, inRegion: Uint8Array | undefined): void {
  const output = result.output('OUTPUT0');
  const { name, datatype, shape } = output;
  if (name !== 'OUTPUT0' || datatype !== 'FP32' || shape[0] !== spec.work.outputShape[0]) {
    throw new Error(`the answer is ${name} ${datatype} [${shape.join(', ')}]`);
  }
  const bytes = spec.transport === 'message' ? output.bytes : inRegion;
  // The second byte of the float 1, or of a sum of ones: never both zero.
  if (bytes !== undefined && (bytes[2] ?? 0) + (bytes[3] ?? 0) === 0) throw new Error('the output holds zeros');
}

/** Our client: a request for each in flight, its answer's name, shape, datatype and two bytes looked at. */
export async function makeOurs(spec: ClientSpec): Promise<Requester> {
  const client = new TritonClient(urlOf(spec), { lanes: spec.inFlight });
  const slots: BenchRegion[] = [];
  const requests: (() => Promise<void>)[] = [];
  try {
    for (let i = 0; i < spec.inFlight; i += 1) {
      if (spec.transport === 'message') {
        const request = messageRequest(spec);
        requests.push(async () => look(await client.infer(spec.work.model, request), spec, undefined));
        continue;
      }
      const slot = await openRegion(client, {
        purpose: 'client',
        transport: spec.transport,
        input: ones(spec.work.inputShape),
        outputByteLength: byteLength(spec.work.outputShape),
      });
      slots.push(slot);
      const prepared = client.prepare(spec.work.model, regionRequest(spec, slot.name));
      requests.push(async () => look(await prepared.infer(), spec, slot.firstBytes));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { requests, close };

  async function close(): Promise<void> {
    for (const slot of slots) await slot.close();
    await client.close();
  }
}

function urlOf({ client, grpcUrl, httpUrl, socketUrl }: ClientSpec): string {
  if (client === 'http') return httpUrl;
  if (client !== 'socket') return grpcUrl;
  if (socketUrl === undefined) throw new Error('the server listens on no socket');
  return socketUrl;
}

function messageRequest({ work }: ClientSpec): InferRequest {
  return { inputs: { INPUT0: tensor('FP32', work.inputShape, ones(work.inputShape)) } };
}

function regionRequest({ work }: ClientSpec, name: string): InferRequest {
  return {
    inputs: { INPUT0: region(name, { datatype: 'FP32', shape: work.inputShape }) },
    outputs: {
      OUTPUT0: {
        region: name,
        byteOffset: outputOffset(byteLength(work.inputShape)),
        byteLength: byteLength(work.outputShape),
      },
    },
  };
}

export const ones = (shape: readonly number[]) =>
  new Float32Array(byteLength(shape) / Float32Array.BYTES_PER_ELEMENT).fill(1);
