import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type LocalTriton, startTriton } from '@zerohop/local-triton';
import { ROOT } from '../server.js';

/**
 * A server that is started again on its ports when it dies: at thousands of requests a second Triton 2.51 sometimes ends by
 * SIGSEGV in the deletion of a request, whatever client it has, and a long run must go on.
 */
export class RevivedServer {
  readonly #model: string;
  readonly #onRevival: () => Promise<void>;
  #server: LocalTriton;
  #up: Promise<void>;
  #stopped = false;
  /** How often it died. */
  deaths = 0;

  private constructor(model: string, server: LocalTriton, onRevival: () => Promise<void>) {
    this.#model = model;
    this.#server = server;
    this.#onRevival = onRevival;
    this.#up = Promise.resolve();
    this.#watch();
  }

  /** @param onRevival - makes what a new server lacks, such as regions */
  static async start(model: string, onRevival: () => Promise<void>): Promise<RevivedServer> {
    return new RevivedServer(model, await start(model), onRevival);
  }

  get grpcUrl(): string {
    return this.#server.grpcUrl;
  }

  /** Resolves when it is there; rejects when it can't be started any more. */
  get up(): Promise<void> {
    return this.#up;
  }

  /** For whoever lost a request to a dying server: resolves when its end was noticed, or after two seconds. */
  async noticed(): Promise<void> {
    const { deaths } = this;
    const until = performance.now() + 2000;
    while (this.deaths === deaths && performance.now() < until) await delay(20);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#up.catch(() => undefined);
    await this.#server.stop();
  }

  #watch(): void {
    void this.#server.whenEnded().then(() => {
      if (this.#stopped) return;
      this.deaths += 1;
      this.#up = this.#revive();
      // Whoever asks for it hears of it.
      this.#up.catch(() => undefined);
    });
  }

  async #revive(): Promise<void> {
    this.#server = await start(this.#model, this.#server.ports);
    this.#watch();
    await this.#onRevival();
  }
}

const start = (model: string, ports?: LocalTriton['ports']) =>
  startTriton({
    modelRepository: join(ROOT, 'bench', 'models'),
    models: [model],
    ...(ports !== undefined && { ports }),
  });
