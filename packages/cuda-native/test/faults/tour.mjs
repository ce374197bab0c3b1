// One tour: the sections, each of its own, step by step. A step that fails ends its section; what the section made is
// closed, and the next one begins.
import { readFileSync } from 'node:fs';
import { CallLog } from './call-log.mjs';
import { sections } from './sections.mjs';

/**
 * @typedef {object} Step what one step did
 * @property {string} section
 * @property {string} step its name
 * @property {object} [error] the fields of what it threw
 * @property {object} [refusal] the fields that it had to throw, and did when there is no `error`
 * @property {{ call: string; restoring: boolean; onLoop: boolean }[]} failed the calls that were made to fail meanwhile
 * @property {{ code: string; message: string }[]} warnings
 * @property {string} current which context was current on the JS thread afterwards: "none", or an ordinal
 */

/** The fields of an error that are judged. */
function describe(error) {
  const { name, message, code, status, call, device, sticky, reason } = error;
  return { name, message, code, status, call, device, sticky, reason };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Tour {
  #zerohop;
  #log;
  #report;
  #warnings = [];
  #steps = [];
  #counts = {};
  #onLoop = new Set();
  #section = '';
  /** Those that were opened, by ordinal. */
  #devices = new Map();
  /** @type {(() => Promise<void> | void)[]} what the section must close */
  #open = [];

  /**
   * @param {object} zerohop the package
   * @param {{ log: string; report: string; peer: object; old: boolean }} options the fake driver's files, a handle of
   * another process, and whether the driver is an old one
   */
  constructor(zerohop, options) {
    this.#zerohop = zerohop;
    this.#log = new CallLog(options.log);
    this.#report = options.report;
    this.options = options;
    process.on('warning', (warning) => {
      // That something was dropped is what one section is about.
      if (warning.code !== 'ZEROHOP_LEAK') this.#warnings.push({ code: warning.code, message: warning.message });
    });
  }

  get zerohop() {
    return this.#zerohop;
  }

  /**
   * Runs the sections and tells what happened.
   *
   * @param {string[]} [only] their names; all when left out
   */
  async run(only = Object.keys(sections)) {
    this.#steps = [];
    this.#counts = {};
    this.#onLoop = new Set();
    this.#warnings = [];
    const before = this.live();
    for (const name of only) {
      this.#section = name;
      try {
        await sections[name](this);
      } catch (error) {
        // Already entered by the step that failed.
        if (error !== this.#thrown) throw error;
      }
      await this.#closeAll();
    }
    this.#section = 'end';
    await this.step('end', () => undefined);
    const collected = await this.#settle(before);
    const after = this.live();
    const expected = this.#expected(before);
    const left = Object.keys(expected).filter((kind) => after[kind] !== expected[kind]);
    return {
      steps: this.#steps,
      warnings: this.#warnings,
      counts: this.#counts,
      onLoop: [...this.#onLoop],
      left: Object.fromEntries(left.map((kind) => [kind, after[kind] - expected[kind]])),
      collected,
      threadsWithContext: this.#log.threadsWithContext,
    };
  }

  #thrown;

  /** Runs a step of the section; its error ends the section. */
  async step(name, work) {
    const step = await this.#record(name, work);
    if (step.error === undefined) return step.value;
    this.#thrown = step.error;
    throw step.error;
  }

  /** Runs a step of the section, which goes on after an error. */
  async attempt(name, work) {
    await this.#record(name, work);
  }

  /** Runs a step that must fail with these fields. */
  async refuse(name, fields, work) {
    const refuse = async () => {
      const error = await Promise.resolve()
        .then(work)
        .then(
          () => new Error('Nothing was thrown'),
          (thrown) => thrown,
        );
      const matches = Object.entries(fields).every(([key, value]) => error[key] === value);
      if (!matches) throw error;
    };
    await this.#record(name, refuse, fields);
  }

  /** Makes something in a step; it is closed, in a step, at the end of the section, unless that was done before. */
  async make(name, work) {
    const made = await this.step(name, work);
    this.#open.push(() => this.close(made, name));
    return made;
  }

  /** Closes something that `make` gave. An error does not end the section. */
  async close(made, name = made.constructor.name) {
    if (made.closed) return;
    await this.#record(`close ${name}`, () => made.close());
  }

  /** The two devices. */
  async devices() {
    return [await this.device(0), await this.device(1)];
  }

  async device(ordinal) {
    const device = await this.step(`Device.open(${ordinal})`, () => this.#zerohop.Device.open(ordinal));
    this.#devices.set(ordinal, device);
    return device;
  }

  /** What is alive in the fake driver. */
  live() {
    return JSON.parse(readFileSync(this.#report, 'utf8'));
  }

  /** A frame of its own: what it last had would not be collected while `run` goes on. */
  async #closeAll() {
    for (const close of this.#open.splice(0).reverse()) await close();
  }

  /** Waits until the driver has `change` more, or fewer, of something than at `before`. */
  async until(before, kind, change) {
    // What a lost context has is not counted.
    const wanted = Math.max(0, before[kind] + change);
    for (let i = 0; this.live()[kind] > wanted; i += 1) {
      if (i === 100) throw new Error(`${this.live()[kind]} of ${kind} are alive, not ${wanted}`);
      await pause(2);
    }
  }

  /** Waits until what the garbage collector can find is gone. */
  async untilCollected(before, kind) {
    for (let i = 0; i < 10 && this.live()[kind] > before[kind]; i += 1) {
      globalThis.gc();
      await pause(2);
    }
    await this.until(before, kind, 0);
  }

  async #record(name, work, refusal) {
    const step = { section: this.#section, step: name, ...(refusal && { refusal }) };
    this.#take(this.#log.read(), step);
    const warned = this.#warnings.length;
    let value;
    let thrown;
    try {
      value = await work();
    } catch (error) {
      thrown = error;
    }
    // Warnings are emitted in the next turn.
    await pause(0);
    this.#take(this.#log.read(), step);
    step.warnings = this.#warnings.slice(warned);
    step.current = this.#log.currentOnLoop;
    this.#steps.push(thrown === undefined ? step : { ...step, error: describe(thrown) });
    return { value, error: thrown };
  }

  #take(calls, step) {
    this.#counts[this.#section] ??= {};
    const counts = this.#counts[this.#section];
    for (const name of calls.names) counts[name] = (counts[name] ?? 0) + 1;
    for (const name of calls.onLoop) this.#onLoop.add(name);
    step.failed = [...(step.failed ?? []), ...calls.failed];
  }

  async #dropOne() {
    for (const device of this.#devices.values()) await device.alloc(16).catch(() => undefined);
  }

  /** What is alive when nothing is left: a stream of the package's own for each device that is not lost. */
  #expected(before) {
    const devices = Array.from(this.#devices.values(), (device) => device.contextLost);
    return { ...before, stream: devices.filter((lost) => !lost).length };
  }

  /** Waits until nothing is alive that was not before. Tells whether that took the garbage collector. */
  async #settle(before) {
    const expected = this.#expected(before);
    const isOver = () => Object.entries(this.live()).every(([kind, count]) => count <= expected[kind]);
    for (let i = 0; i < 300 && !isOver(); i += 1) await pause(2);
    if (isOver()) return false;
    // What could not be given back when it was dropped goes with the next thing that is.
    await this.#dropOne();
    for (let i = 0; i < 200 && !isOver(); i += 1) {
      globalThis.gc();
      await pause(5);
    }
    return true;
  }
}
