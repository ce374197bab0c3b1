import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { limited } from '../../src/settle.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('a limit of time outlives a collection of garbage that nothing but its listener refers to', async () => {
  const { signal } = new AbortController();
  let over = false;
  const listen = () =>
    limited(50, signal).addEventListener('abort', () => {
      over = true;
    });
  listen();
  for (let rounds = 0; rounds < 100 && !over; rounds += 1) {
    collect();
    await sleep(10);
  }
  expect(over).toBe(true);
});

test('a limit of time ends with the signal it is given', () => {
  const controller = new AbortController();
  const signal = limited(60_000, controller.signal);
  expect(signal.aborted).toBe(false);
  controller.abort(new Error('enough'));
  expect(signal.reason).toEqual(new Error('enough'));
});
