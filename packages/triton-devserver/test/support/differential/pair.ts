import { setTimeout as pause } from 'node:timers/promises';
import type { LocalTriton } from '@zerohop/local-triton';
import { privateTriton } from '@zerohop/test-support';
import { DevServer } from '../../../src/dev-server.js';
import type { GeneratedRepository } from './models.js';
import { type Outcome, Server } from './servers.js';
import type { Step } from './step.js';

/** gRPC's. */
const UNAVAILABLE = 14;
const NO_CONNECTION = 'no connection';
/** What takes longer never ends, unless the step says otherwise. */
const LONGEST_MS = 30_000;
/** Within this a death shows. */
const NOTICED_MS = 3_000;

/** The real server died of a step, or never answers it: there is nothing to compare with. */
export class RealServerLost extends Error {}

/** A real server and the devserver with the same models, fresh. */
export class Pair {
  readonly #triton: LocalTriton;
  readonly #devserver: DevServer;
  readonly #real: Server;
  readonly #own: Server;

  private constructor(triton: LocalTriton, devserver: DevServer) {
    this.#triton = triton;
    this.#devserver = devserver;
    this.#real = new Server(triton);
    this.#own = new Server(devserver);
  }

  static async start(repository: GeneratedRepository, version: '2.51' | '2.48'): Promise<Pair> {
    const models = repository.models.map(({ name }) => name);
    const triton = await privateTriton({ modelRepository: repository.python, models, version });
    const devserver = await DevServer.start({
      modelRepository: repository.javascript,
      modelControl: 'explicit',
      loadModels: models,
      version,
    });
    return new Pair(triton, devserver);
  }

  /** @throws RealServerLost */
  async askReal(step: Step): Promise<readonly Outcome[]> {
    const there = await within(asked(step, this.#real), step.longestMs);
    if (there === undefined) throw new RealServerLost('no answer');
    // A connection that ended may be the first sign of it.
    if (there.some(isBroken)) await within(this.#triton.whenEnded(), NOTICED_MS);
    if (!this.#triton.running) throw new RealServerLost('died');
    const lost = there.find(({ code }) => code === NO_CONNECTION);
    if (lost !== undefined) throw new RealServerLost(lost.text);
    return there;
  }

  async askDevserver(step: Step): Promise<readonly Outcome[]> {
    const here = await within(asked(step, this.#own), step.longestMs);
    if (here === undefined) throw new Error(`The devserver does not answer ${step.what}`);
    return here;
  }

  async stop(): Promise<void> {
    this.#real.close();
    this.#own.close();
    await this.#devserver.kill();
    // What it never answers would keep it until its exit timeout.
    this.#triton.kill('SIGKILL');
    await this.#triton.stop();
  }
}

/** Undefined when nothing came in time. */
async function within<Value>(answer: Promise<Value>, ms = LONGEST_MS): Promise<Value | undefined> {
  const over = new AbortController();
  const late = pause(ms, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    over.abort();
  }
}

/** Whether the connection ended before the answer. */
const isBroken = ({ code }: Outcome) => code === NO_CONNECTION || code === '' || code === UNAVAILABLE;

/** A connection that ended is an outcome too. */
async function asked(step: Step, server: Server): Promise<readonly Outcome[]> {
  try {
    return await step.ask(server);
  } catch (error) {
    return [{ code: NO_CONNECTION, text: String(error), data: undefined }];
  }
}
