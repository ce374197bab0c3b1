import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { type Outcome, run } from './child.js';

const kernels = fileURLToPath(new URL('../fixtures/kernels.fatbin', import.meta.url));
let counter = 0;

/**
 * Code that finds a device, the image of the test kernels, `live()` (what the fake driver has alive), and
 * `collected(done)`, which collects garbage until `done()` is true or ten seconds have passed.
 */
const PRELUDE = `
  import { readFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  const image = readFileSync(${JSON.stringify(kernels)});
  const live = () => JSON.parse(readFileSync(process.env.ZEROHOP_FAKE_REPORT, 'utf8'));
  const total = () => Object.values({ ...live(), bytes: 0 }).reduce((sum, count) => sum + count, 0);
  const collected = async (done) => {
    for (let i = 0; i < 1000 && !done(); i += 1) {
      gc();
      await pause(10);
    }
    return done();
  };
  const device = await zerohop.Device.open(0);
`;

/** Runs code on the fake driver, with garbage collection at hand, to its end. */
export async function runCollected(code: string, env: Record<string, string> = {}): Promise<Outcome> {
  counter += 1;
  const report = join(tmpdir(), `zerohop-live-${process.pid}-${counter}`);
  onTestFinished(() => rmSync(report, { force: true }));
  const base = { ZEROHOP_LIBCUDA: buildFakeLibcuda(), ZEROHOP_FAKE_REPORT: report };
  return run(PRELUDE + code, { ...base, ...env }, ['--expose-gc']);
}
