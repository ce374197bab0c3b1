/** The two ways in which short work on a GPU is timed here. */
import type { Device, DeviceMemory, Graph, Stream } from '@zerohop/cuda-native';
import { percentile, spread } from '../statistics.js';

export interface Timing {
  readonly medianUs: number;
  readonly p95Us: number;
  readonly minUs: number;
}

const REPEATS = 20;
/** Nodes of a graph. */
export const NODES = 100;

const summarise = (us: readonly number[]): Timing => ({
  medianUs: spread(us).median,
  p95Us: percentile(Float64Array.from(us).sort(), 0.95),
  minUs: Math.min(...us),
});

export class Timer {
  readonly #device: Device;
  readonly #stream: Stream;
  /** Larger than every L2. */
  readonly #flush: DeviceMemory;

  constructor(device: Device, stream: Stream, flush: DeviceMemory) {
    this.#device = device;
    this.#stream = stream;
    this.#flush = flush;
  }

  async #between(work: () => void, before: () => void): Promise<number> {
    const start = this.#device.createEvent({ timing: true });
    const end = this.#device.createEvent({ timing: true });
    try {
      before();
      this.#stream.record(start);
      work();
      this.#stream.record(end);
      await this.#stream.done();
      return 1000 * end.elapsedMs(start);
    } finally {
      await Promise.all([start.close(), end.close()]);
    }
  }

  /** "node": one captured graph of 100 times `enqueue(i)`, one behind the other; a node's share of the time. */
  async node(enqueue: (index: number) => void): Promise<Timing> {
    const graph: Graph = await this.#stream.capture(() => {
      for (let i = 0; i < NODES; i++) enqueue(i);
    });
    try {
      const samples: number[] = [];
      for (let i = -3; i < REPEATS; i++) {
        const us = await this.#between(
          () => this.#stream.launchGraph(graph),
          () => undefined,
        );
        if (i >= 0) samples.push(us / NODES);
      }
      return summarise(samples);
    } finally {
      await graph.close();
    }
  }

  /**
   * "event": a write of 512 MB, then events round one `enqueue`. The write is made twice, so that the device is still at
   * it when JavaScript has enqueued all; else the device may wait for the launch, and the time of that counts.
   */
  async event(enqueue: (index: number) => void): Promise<Timing> {
    const samples: number[] = [];
    for (let i = -3; i < REPEATS; i++) {
      const us = await this.#between(
        () => enqueue(i + 3),
        () => {
          this.#stream.fill(this.#flush, i & 0xff);
          this.#stream.fill(this.#flush, ~i & 0xff);
        },
      );
      if (i >= 0) samples.push(us);
    }
    return summarise(samples);
  }
}
