import type { RetryOptions } from './types/request.js';

type Mender = NonNullable<RetryOptions['onUnknownRegion']>;

/** Requests that did not run and are sent again: after a while, or when what they lack was mended. */
export class Postponed<Request> {
  readonly #requests = new Map<Request, NodeJS.Timeout | undefined>();
  /** One question for all requests that lack the same region. */
  readonly #questions = new Map<Mender, Map<string, Promise<boolean>>>();

  get size(): number {
    return this.#requests.size;
  }

  /** Calls `again` after `delayMs`, unless the request is removed before. */
  wait(request: Request, delayMs: number, again: () => void): void {
    const timer = setTimeout(() => {
      if (this.remove(request)) again();
    }, delayMs);
    this.#requests.set(request, timer);
  }

  /** Asks `mend` for the region, then calls `done`, unless the request is removed before. */
  mend(request: Request, mend: Mender, region: string, done: (mended: boolean, reason?: unknown) => void): void {
    this.#requests.set(request, undefined);
    this.#ask(mend, region).then(
      (mended) => {
        if (this.remove(request)) done(mended);
      },
      (reason: unknown) => {
        if (this.remove(request)) done(false, reason);
      },
    );
  }

  /** False when it is not one of these. */
  remove(request: Request): boolean {
    clearTimeout(this.#requests.get(request));
    return this.#requests.delete(request);
  }

  /** All of them, which are none of these any more. */
  takeAll(): Request[] {
    const all = [...this.#requests.keys()];
    for (const request of all) this.remove(request);
    return all;
  }

  #ask(mend: Mender, region: string): Promise<boolean> {
    let regions = this.#questions.get(mend);
    if (regions === undefined) {
      regions = new Map();
      this.#questions.set(mend, regions);
    }
    let question = regions.get(region);
    if (question === undefined) {
      question = call(mend, region).finally(() => {
        this.#questions.get(mend)?.delete(region);
        if (this.#questions.get(mend)?.size === 0) this.#questions.delete(mend);
      });
      regions.set(region, question);
    }
    return question;
  }
}

/** A function that throws rejects. */
async function call(mend: Mender, region: string): Promise<boolean> {
  return (await mend(region)) === true;
}
