import { setTimeout as pause } from 'node:timers/promises';
import { type CallOptions, tensor } from '@zerohop/triton-client';
import { expect } from 'vitest';
import type { ModelDefinition, ModelRequest } from '../../src/index.js';
import { codeOf, faultServer, sender } from './fault-server.js';

const TENSOR = { data_type: 'TYPE_INT32', dims: [-1n] } as const;
type Request = Parameters<ReturnType<typeof sender>['client']['infer']>[1];

/** A request of one number, for which a model that batches gets a batch of one. */
export interface Ask extends Omit<Request, 'inputs'> {
  readonly value?: number;
  /** How many elements each item has. */
  readonly width?: number;
  readonly batch?: number;
}

/**
 * A server whose model `stepped` notes each request that runs as `name` tells it, and answers what runs when `step` is
 * called: so that a test sees in which order, and how many at once, a scheduler runs requests.
 */
export async function steppingServer(config: ModelDefinition['config'], name: (request: ModelRequest) => string) {
  const ran: string[] = [];
  const running: (() => void)[] = [];
  const { server } = await faultServer({
    models: {
      stepped: {
        config: { input: [{ name: 'X', ...TENSOR }], output: [{ name: 'Y', ...TENSOR }], ...config },
        execute: async (request) => {
          ran.push(name(request));
          await new Promise<void>((resolve) => running.push(resolve));
          return { Y: request.inputs.X as { shape: readonly number[]; data: Int32Array } };
        },
      },
    },
  });
  const { client, send } = sender(server, 'unary');
  const batched = (config?.max_batch_size ?? 0) > 0;
  const ask = async ({ value = 0, width = 1, batch = 1, ...more }: Ask = {}, options: CallOptions = {}) => {
    const shape = batched ? [batch, width] : [width];
    const data = new Int32Array(batched ? batch * width : width).fill(value);
    const answer = codeOf(send('stepped', { inputs: { X: tensor('INT32', shape, data) }, ...more }, options));
    // So that requests come in the order in which they were asked.
    await pause(10);
    return { answer };
  };
  /**
   * Lets what runs have its answer, as soon as so many have begun since the last time.
   *
   * @returns what has begun
   */
  const step = async (atLeast = 1): Promise<string[]> => {
    await expect.poll(() => ran.length, { timeout: 5_000 }).toBeGreaterThanOrEqual(atLeast);
    // More that must not run would have begun by then.
    await pause(30);
    const now = ran.splice(0);
    for (const resolve of running.splice(0)) resolve();
    return now;
  };
  return { client, ask, step };
}
