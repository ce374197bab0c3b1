import { type CallOptions, type InferCall, TritonClient, TritonError, tensor } from '@zerohop/triton-client';
import { onTestFinished } from 'vitest';
import { DevServer, type DevServerOptions, type ModelRequest, type ModelTensor } from '../../src/index.js';

const INTS = { data_type: 'TYPE_INT32', dims: [-1n] } as const;
const TEXT = { data_type: 'TYPE_STRING', dims: [-1n] } as const;
const X = [{ name: 'X', ...INTS }];
const Y = [{ name: 'Y', ...INTS }];

/** A model that answers when it is told to, and what asked it. */
export class Gate {
  readonly #waiting: { readonly resolve: () => void; readonly signal: AbortSignal }[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Those that wait although their clients have given up. */
  get cancelled(): number {
    return this.#waiting.filter(({ signal }) => signal.aborted).length;
  }

  wait({ signal }: ModelRequest): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ resolve, signal }));
  }

  open(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }
}

/** A server with models for tests of faults; it and its gates end with the test. */
export async function faultServer(options: DevServerOptions = {}) {
  const gate = new Gate();
  const server = await DevServer.start({
    modelControl: 'none',
    ...options,
    models: {
      same: {
        config: { input: X, output: Y, instance_group: [{ count: 4 }] },
        execute: ({ inputs }) => ({ Y: inputs.X as ModelTensor & { data: Int32Array } }),
      },
      held: {
        config: { input: X, output: Y, instance_group: [{ count: 4 }] },
        execute: async (request) => {
          await gate.wait(request);
          return { Y: request.inputs.X as ModelTensor & { data: Int32Array } };
        },
      },
      failing: {
        config: { input: X, output: Y },
        execute: () => {
          throw Object.assign(new Error('no'), { code: 'INTERNAL' });
        },
      },
      texts: {
        config: { input: [{ name: 'X', ...TEXT }], output: [{ name: 'Y', ...TEXT }] },
        execute: ({ inputs }) => ({ Y: inputs.X as ModelTensor & { data: Uint8Array[] } }),
      },
      count: {
        config: { model_transaction_policy: { decoupled: true }, input: X, output: Y },
        *executeDecoupled() {
          for (let value = 0; value < 4; value += 1)
            yield { outputs: { Y: { shape: [1], data: Int32Array.of(value) } } };
        },
      },
      chain: {
        config: {
          platform: 'ensemble',
          input: X,
          output: Y,
          ensemble_scheduling: {
            step: [{ model_name: 'held', model_version: -1n, input_map: { X: 'X' }, output_map: { Y: 'Y' } }],
          },
        },
      },
      ...options.models,
    },
  });
  onTestFinished(async () => {
    gate.open();
    await server.kill();
  });
  return { server, gate };
}

/** A client that ends with the test, whatever it still waits for. */
export function clientOf(url: string, options: ConstructorParameters<typeof TritonClient>[1] = {}): TritonClient {
  const client = new TritonClient(url, { closeTimeoutMs: 0, connectTimeoutMs: 5_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

export const ints = (...values: number[]) => ({
  inputs: { X: tensor('INT32', [values.length], Int32Array.from(values)) },
});

/** The ways of a request to a server. */
export const WAYS = ['lane', 'unary', 'http'] as const;
export type Way = (typeof WAYS)[number];

/** Sends requests in one of the ways. */
export function sender(server: DevServer, way: Way) {
  const client = clientOf(way === 'http' ? server.httpUrl : server.grpcUrl);
  // A call with headers of its own is a unary one.
  const headers = way === 'unary' ? { headers: { 'x-test': '1' } } : {};
  const send = (model: string, request: Parameters<TritonClient['infer']>[1], options: CallOptions = {}): InferCall =>
    client.infer(model, request, { ...headers, ...options });
  return { client, send };
}

/** The code of the error that a call rejects with; 'OK' when it does not. */
export async function codeOf(call: PromiseLike<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    return error.code;
  }
}

/** Until it works again: a connection that was lost has to be made anew. */
export async function recovers(call: () => PromiseLike<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if ((await codeOf(call())) === 'OK') return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  await call();
}
