// Runs the tiers one after the other, prints the seconds of each, and ends with the line "N passed, N failed, N skipped".
//
//   npm test                       everything
//   npm test -- unit triton        these tiers
//   npm test -- unit packages/shm-pool   these tiers, files whose path contains this
//   npm test -- --list             the tiers
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { runTwice } from './run-again.mjs';
import { home, root, server, tools } from './setup/paths.mjs';
import { tiersIn } from './setup/tiers.mjs';
import { readReport } from './vitest-report.mjs';

/** The only tiers whose tests may be skipped with CI=true; a need that is missing elsewhere fails (tools/test-support). */
const MAY_SKIP_IN_CI = ['gpu'];

const results = join(home, 'results');
/** The server's Python: numpy and onnxruntime are all that training/ needs for its checks. */
const python = join(server, 'bin', 'python3');
const reporter = join(root, 'scripts', 'vitest-report.mjs');
const bin = (name) => join(root, 'node_modules', '.bin', name);

/** A program whose success is one test. */
const check = (program, args) => async () => {
  const ok = await runs(program, args);
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
};

/** A tier of vitest. */
const vitest = (name) => (filters) => {
  const file = join(results, `${name}.json`);
  const args = ['run', '--project', name, '--passWithNoTests', '--reporter=default', `--reporter=${reporter}`];
  const run = async (names) => {
    rmSync(file, { force: true });
    const ok = await runs(bin('vitest'), [...args, ...names], { env: { ZEROHOP_TEST_REPORT: file } });
    return { report: readReport(file), ok };
  };
  return runTwice(run, filters);
};

/** Python's unittest over a project's folder `tests`. */
const unittest = (project) => async () => {
  let output = '';
  const args = ['-m', 'unittest', 'discover', '-s', `${project}/tests`, '-t', project];
  const ok = await runs(python, args, { listen: (text) => (output += text) });
  const ran = Number(/^Ran (\d+) test/m.exec(output)?.[1] ?? 0);
  const count = (word) => Number(new RegExp(`${word}=(\\d+)`).exec(output)?.[1] ?? 0);
  const failed = count('failures') + count('errors');
  return {
    passed: ran - failed - count('skipped'),
    failed: ok ? failed : Math.max(1, failed),
    skipped: count('skipped'),
  };
};

/** A script that writes its counts as JSON, with the `failures` that it knows, and what `passedAgain`. */
const counting = (name, script, takesFilters) => async (filters) => {
  const report = join(results, `${name}.json`);
  rmSync(report, { force: true });
  const args = [join(root, script), `--json=${report}`, ...(takesFilters ? filters : [])];
  const ok = await runs(process.execPath, args);
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { passed: 0, failed: 0, skipped: 0 };
  return { ...counts, failed: ok ? counts.failed : Math.max(1, counts.failed) };
};

/** A tier that is run once more as a whole: what it needs of a network or a server may have met a bad moment. */
const twice = (tier) => async (filters) => {
  const first = await tier(filters);
  if (first.failed === 0 || process.env.CI !== 'true') return first;
  console.log('\n--- once more\n');
  const second = await tier(filters);
  return second.failed === 0 ? { ...second, passedAgain: first.failures } : second;
};

const TIERS = {
  format: check(bin('biome'), ['check', '--error-on-warnings', '.']),
  lint: check(bin('eslint'), ['.']),
  types: check(join(tools, 'pnpm'), ['exec', 'turbo', 'run', 'typecheck', '--output-logs=errors-only']),
  size: check(process.execPath, [join(root, 'scripts', 'check-size.mjs')]),
  unit: vitest('unit'),
  contract: vitest('contract'),
  host: vitest('host'),
  driver: vitest('driver'),
  nodes: counting('nodes', 'packages/cuda-native/scripts/test-nodes.mjs', true),
  arm64: vitest('arm64'),
  sanitize: counting('sanitize', 'packages/cuda-native/scripts/test-sanitized.mjs', true),
  training: unittest('training'),
  detector: check(python, ['training/check.py', '--images', '5']),
  triton: vitest('triton'),
  gpu: vitest('gpu'),
  readme: twice(counting('readme', 'scripts/readme-check.mjs')),
  release: twice(counting('release', 'scripts/release/check.mjs')),
};

/** What a log or a pipe gets has no colours; vitest's and turbo's own guess differs. */
const plain = process.stdout.isTTY || process.env.FORCE_COLOR ? {} : { NO_COLOR: '1' };

/** The tier's program in progress, and the first signal that came. */
let child;
let received;

function runs(program, args, { listen, env = {} } = {}) {
  child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...plain, ...env },
    stdio: listen ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
  });
  for (const [stream, out] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    stream?.on('data', (text) => {
      out.write(text);
      listen(text);
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) => console.error(error.message));
    child.once('close', (code) => {
      child = undefined;
      if (received !== undefined) end();
      resolve(code === 0);
    });
  });
}

/** The status of a program that a signal ended. */
function end() {
  process.exit(128 + constants.signals[received]);
}

async function main(args) {
  if (args.includes('--list')) {
    console.log(Object.keys(TIERS).join('\n'));
    return;
  }
  try {
    mkdirSync(results, { recursive: true });
  } catch (error) {
    console.error(`The tests can't write to ${results}: ${error.message}`);
    process.exitCode = 3;
    return;
  }
  const filters = args.filter((argument) => !Object.hasOwn(TIERS, argument));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const table = [];
  const failures = [];
  const again = [];
  for (const name of tiersIn(args)) {
    console.log(`\n=== ${name}`);
    const started = Date.now();
    const { failures: texts = [], passedAgain = [], ...counts } = await TIERS[name](filters);
    failures.push(...texts.map((text) => `${name}: ${text}`));
    again.push(...passedAgain.map((text) => `${name}: ${text}`));
    if (process.env.CI === 'true' && counts.skipped > 0 && !MAY_SKIP_IN_CI.includes(name)) {
      console.error(
        `${counts.skipped} tests of "${name}" were skipped: with CI=true only ${MAY_SKIP_IN_CI.join(', ')} may skip.`,
      );
      counts.failed += counts.skipped;
      counts.skipped = 0;
    }
    for (const key of Object.keys(total)) total[key] += counts[key];
    table.push({ name, seconds: (Date.now() - started) / 1000, ...counts });
  }
  // At the end too: of a long log often only the end is kept.
  if (again.length > 0) console.log(`\n=== failed once, and passed when run again\n\n${again.join('\n\n')}`);
  if (failures.length > 0) console.log(`\n=== failed\n\n${failures.join('\n\n')}`);
  console.log(
    `\n${'tier'.padEnd(10)}${'seconds'.padStart(9)}${'passed'.padStart(9)}${'failed'.padStart(9)}${'skipped'.padStart(9)}`,
  );
  for (const { name, seconds, passed, failed, skipped } of table) {
    const numbers = [seconds.toFixed(1), passed, failed, skipped].map((value) => String(value).padStart(9)).join('');
    console.log(`${name.padEnd(10)}${numbers}`);
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  if (total.failed > 0 || total.passed + total.skipped === 0) process.exitCode = 1;
}

// The tier in progress ends its servers and workers itself; we only wait for it, and begin no other.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    received ??= signal;
    if (child === undefined) end();
    else child.kill(signal);
  });
}
await main(process.argv.slice(2));
