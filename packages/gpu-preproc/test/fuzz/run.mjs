// The long form of test/unit/fuzz.test.ts: 10,000 damaged pictures.
//   pnpm soak preproc-fuzz [--count N] [--seed N] [--out FILE]     exits with 1 when one ended otherwise than it may
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { fuzz } from './fuzz.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string' },
  },
});
const began = performance.now();
const { problems, ...report } = await fuzz({
  seed: Number(values.seed),
  count: Number(values.count),
  onProgress: (done) => process.stderr.write(`\r${done} pictures`),
});
process.stderr.write('\n');
const results = {
  kind: 'soak-preproc-fuzz',
  date: new Date().toISOString().slice(0, 10),
  commit: execFileSync('git', ['describe', '--always', '--dirty=+changes', '--abbrev=40'], { encoding: 'utf8' }).trim(),
  machine: {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
  },
  versions: { node: process.version, sharp: sharp.versions.sharp, vips: sharp.versions.vips },
  seconds: Math.round((performance.now() - began) / 1000),
  ...report,
  problems,
};
const text = `${JSON.stringify(results, null, 1)}\n`;
if (values.out === undefined) process.stdout.write(text);
else writeFileSync(values.out, text);
for (const problem of problems) process.stderr.write(`preproc-fuzz: ${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
