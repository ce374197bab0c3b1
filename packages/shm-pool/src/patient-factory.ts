import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.js';
import type { SlotMemoryFactory } from './slot-memory.js';

/** So often is memory made whose registration is gone before it is looked at. */
const ATTEMPTS = 3;

/** Between two of them, in milliseconds. */
const PAUSE_MS = 250;

/**
 * The factory of a pool that is in service: a restart or someone's unregister-all right after a registration looks like
 * another server that answers (ERR_SEVERAL_SERVERS), and is over the next time. At open the same is taken at its word.
 */
export function patientFactory(factory: SlotMemoryFactory): SlotMemoryFactory {
  return {
    ...factory,
    create: async (signal, replaced) => {
      for (let attempts = 1; ; attempts += 1) {
        try {
          return await factory.create(signal, replaced);
        } catch (error) {
          if (codeOf(error) !== 'ERR_SEVERAL_SERVERS' || attempts === ATTEMPTS) throw error;
        }
        // An abort ends the pause early, and the next attempt at its beginning.
        await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}
