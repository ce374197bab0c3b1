// The whole fault run: every function of the driver and of nvJPEG, every code of the table, first, second and last use.
// Takes some minutes.
//   pnpm soak faults [--out FILE]     exits with 1 when a fault did not end as the table says
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { runTours, withPeer } from './children.mjs';
import { allFunctions } from './functions.mjs';
import { judge } from './judge.mjs';
import { allFaults, totals, tryAll } from './plan.mjs';
import { codes } from './table.mjs';

const { out } = parseArgs({ options: { out: { type: 'string' } } }).values;
const libcuda = buildFakeLibcuda();
const functions = allFunctions().map(({ name }) => name);

const { faults, results } = await withPeer(libcuda, async (peer) => {
  const options = { libcuda, peer };
  const { outcomes, problem } = await runTours({ ...options, rounds: [{ fault: '' }, { fault: '' }] });
  const problems = outcomes.flatMap((outcome) => judge(outcome).problems);
  if (problem !== undefined || problems.length > 0) throw new Error(problem ?? problems.join('\n'));
  const [cold, warm] = outcomes.map(({ counts }) => totals(counts));
  const faults = allFaults(functions, cold, warm);
  const results = await tryAll(options, faults, (done) => {
    process.stderr.write(`\r${done} of ${faults.length} faults`);
  });
  process.stderr.write('\n');
  return { faults, results };
});

const wrong = results.filter(({ problems }) => problems.length > 0);
const rows = functions.map((name) => {
  const mine = results.filter(({ fault }) => fault.call === name);
  return {
    function: name,
    codes: codes[name],
    uses: [...new Set(faults.filter(({ call }) => call === name).map(({ use }) => use))].sort((a, b) => a - b),
    tried: mine.length,
    steps: [...new Set(mine.map(({ hit }) => hit))],
  };
});
for (const { fault, problems } of wrong) console.error(JSON.stringify(fault), problems);
console.log(`${results.length} faults of ${functions.length} functions, ${wrong.length} ended otherwise than expected`);
if (out !== undefined) {
  const head = {
    driver: 'fake-libcuda, fake-libnvjpeg',
    node: process.version,
    faults: results.length,
    wrong: wrong.length,
  };
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  writeFileSync(out, `${JSON.stringify(head, null, 2).replace(/\n}$/, '')},\n  "functions": [\n${lines}\n  ]\n}\n`);
}
if (wrong.length > 0) process.exitCode = 1;
