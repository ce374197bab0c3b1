import type { InferenceRequest, Responder } from '../core/inference.js';
import { checkFault } from './check.js';
import { underFault } from './effects.js';
import type { ActiveFault, Fault } from './fault.js';

type Infer = (request: InferenceRequest, respond: Responder) => void;

interface Entry extends ActiveFault {
  met: number;
}

/** The faults in effect, and what they do to requests on their way to the core and back. */
export class FaultPlan {
  readonly #entries = new Set<Entry>();
  #lastId = 0;

  /**
   * Puts a fault into effect. Those of one request apply in the order in which they were added.
   *
   * @throws TypeError for what is no fault
   */
  add(fault: Fault): ActiveFault {
    checkFault(fault);
    this.#lastId += 1;
    const entry: Entry = { id: this.#lastId, fault, met: 0, remove: () => this.#entries.delete(entry) };
    this.#entries.add(entry);
    return entry;
  }

  list(): readonly ActiveFault[] {
    return [...this.#entries];
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Runs a request under the faults that meet it. @throws ServerError, EmulatedCrash */
  infer(request: InferenceRequest, respond: Responder, run: Infer): void {
    if (this.#entries.size === 0) {
      run(request, respond);
      return;
    }
    let exchanged = { request, respond };
    for (const fault of this.#meet(request)) exchanged = underFault(fault, exchanged);
    run(exchanged.request, exchanged.respond);
  }

  #meet(request: InferenceRequest): Fault[] {
    const faults: Fault[] = [];
    for (const entry of this.#entries) {
      const { model, times } = entry.fault;
      if (model !== undefined && model !== request.model) continue;
      entry.met += 1;
      if (times !== undefined && entry.met >= times) entry.remove();
      faults.push(entry.fault);
    }
    return faults;
  }
}
