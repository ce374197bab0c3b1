import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

let answered = 0;
let cancelled = 0;

/** Works until the file that the parameter `hold` names is gone, the request is cancelled, or 30 s have passed. */
export default async ({ parameters: { hold }, signal }) => {
  if (hold !== undefined) {
    writeFileSync(hold, '');
    const until = performance.now() + 30_000;
    while (existsSync(hold) && !signal.aborted && performance.now() < until) await pause(5);
    cancelled += Number(signal.aborted);
  }
  answered += 1;
  return { OUTPUT0: { shape: [1, 2], data: Int32Array.of(answered, cancelled) } };
};
