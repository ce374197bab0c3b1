// What the fake driver logs (ZEROHOP_FAKE_LOG), read bit by bit.
import { closeSync, openSync, readSync } from 'node:fs';

/**
 * @typedef {object} Calls what was logged since the last reading
 * @property {string[]} names the functions called, in order
 * @property {Set<string>} onLoop those called on the JS thread
 * @property {{ call: string; restoring: boolean; onLoop: boolean }[]} failed the calls that were made to fail;
 *   `restoring` when the thread had a context then
 */

export class CallLog {
  #file;
  #position = 0;
  #rest = '';
  /** Which context is current on which thread: "none" or an ordinal. */
  #current = new Map();

  /** @param {string} file that exists */
  constructor(file) {
    this.#file = openSync(file, 'r');
  }

  /** @returns {Calls} */
  read() {
    const calls = { names: [], onLoop: new Set(), failed: [] };
    for (const line of this.#lines()) {
      const [what = '', thread, more = ''] = line.split(' ');
      const onLoop = Number(thread) === process.pid;
      if (what === 'current') this.#current.set(thread, more);
      else if (what === 'failed') {
        calls.failed.push({ call: more, restoring: (this.#current.get(thread) ?? 'none') !== 'none', onLoop });
      } else {
        calls.names.push(what);
        if (onLoop) calls.onLoop.add(what);
      }
    }
    return calls;
  }

  /** The context that is current on the JS thread, as far as was read: "none" or an ordinal. */
  get currentOnLoop() {
    return this.#current.get(String(process.pid)) ?? 'none';
  }

  /** On how many threads some context is current, as far as was read. */
  get threadsWithContext() {
    return Array.from(this.#current.values()).filter((device) => device !== 'none').length;
  }

  close() {
    closeSync(this.#file);
  }

  #lines() {
    const chunk = Buffer.alloc(1 << 16);
    let text = this.#rest;
    for (;;) {
      const length = readSync(this.#file, chunk, 0, chunk.length, this.#position);
      if (length === 0) break;
      this.#position += length;
      text += chunk.toString('latin1', 0, length);
    }
    const lines = text.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
