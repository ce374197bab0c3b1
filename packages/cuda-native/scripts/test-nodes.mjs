// Runs the tests of this package, with the binary as it is published, on the other Nodes that it is for.
//
//   node scripts/test-nodes.mjs [--json=FILE] [filters]
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { NODES, nodeProgram, X64_NODES } from '../../../scripts/setup/nodes.mjs';
import { runTests, sum } from './vitest.mjs';

/** Tests of what lies below Node-API, or of the fakes: another Node shows nothing new in them, and they take long. */
const BELOW_NODE = ['faults', 'late-calls', 'fake-libcuda', 'fake-libnvjpeg', 'jpeg-check'].map(
  (name) => `**/driver/${name}.test.ts`,
);

const { values, positionals: filters } = parseArgs({
  options: { json: { type: 'string' } },
  allowPositionals: true,
});

async function testsOn(name) {
  const node = nodeProgram(name);
  if (!existsSync(node)) {
    console.error(`Node ${name} is not set up: run "npm test" once.`);
    return { passed: 0, failed: 0, skipped: 1 };
  }
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  if (version !== NODES[name].version) {
    console.error(`${node} is ${version}, not ${NODES[name].version}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  console.log(`\nNode ${version}`);
  // A test compares it with what it runs on, in a child process too.
  const counts = await runTests({ node, filters, exclude: BELOW_NODE, env: { ZEROHOP_TEST_NODE: version } });
  const onIt = (texts = []) => texts.map((text) => `Node ${version}: ${text}`);
  return { ...counts, failures: onIt(counts.failures), passedAgain: onIt(counts.passedAgain) };
}

const counts = [];
for (const name of X64_NODES) counts.push(await testsOn(name));
const total = sum(counts);
if (values.json) writeFileSync(values.json, JSON.stringify(total));
console.log(`Nodes: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0 || process.exitCode) process.exitCode = 1;
