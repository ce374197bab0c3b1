import type { Lane } from './lane.js';

/** The lanes that wait for a request; the last one used is used first. Those that wait too long are ended. */
export class IdleLanes {
  /** The coldest first. */
  readonly #lanes: Lane[] = [];
  readonly #idleLaneMs: number;
  #sweeps = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(idleLaneMs: number) {
    this.#idleLaneMs = idleLaneMs;
  }

  get size(): number {
    return this.#lanes.length;
  }

  push(lane: Lane): void {
    lane.usedAt = this.#sweeps;
    this.#lanes.push(lane);
    if (this.#timer === undefined) this.#schedule();
  }

  pop(): Lane | undefined {
    return this.#lanes.pop();
  }

  remove(lane: Lane): void {
    const index = this.#lanes.indexOf(lane);
    if (index >= 0) this.#lanes.splice(index, 1);
  }

  /** Makes room for a unary call. */
  endColdest(): void {
    this.#lanes.shift()?.halfClose();
  }

  endAll(): void {
    for (const lane of this.#lanes.splice(0)) lane.halfClose();
  }

  /** As `endAll`, and none will come any more. */
  close(): void {
    this.endAll();
    clearTimeout(this.#timer);
  }

  /** Ends lanes that did nothing for one to two periods. The timer keeps no process alive. */
  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const cold = this.#lanes.findIndex((lane) => lane.usedAt >= this.#sweeps);
      for (const lane of this.#lanes.splice(0, cold < 0 ? this.#lanes.length : cold)) lane.halfClose();
      this.#sweeps += 1;
      if (this.#lanes.length > 0) this.#schedule();
    }, this.#idleLaneMs).unref();
  }
}
