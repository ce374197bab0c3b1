// Runs the tests of this package with the addon and the fake driver built with AddressSanitizer, LeakSanitizer and
// UndefinedBehaviorSanitizer. They run in a copy of the package, so that the loader needs no switch for another addon.
//
//   node scripts/test-sanitized.mjs [--json=FILE] [filters]
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { sanitizerProblem } from '../../../scripts/setup/nodes.mjs';
import { home, root } from '../../../scripts/setup/paths.mjs';
import { findingsIn, GAVE_UP, reportsIn } from './sanitizer-reports.mjs';
import { SANITIZERS } from './sanitizers.mjs';
import { run, runTests, sum } from './vitest.mjs';

const source = dirname(dirname(fileURLToPath(import.meta.url)));
const mirror = join(home, 'sanitize');
const copy = join(mirror, 'packages', 'cuda-native');
const prebuilds = join(copy, 'native', 'prebuilds', `linux-${process.arch}`);
const logs = join(mirror, 'logs');
/** Tests that change the binary, which the sanitizers have changed before. */
const PATCHED = ['**/driver/no-external-buffers.test.ts'];

const { values, positionals: filters } = parseArgs({
  options: { json: { type: 'string' } },
  allowPositionals: true,
});

function makeCopy(addon) {
  rmSync(mirror, { recursive: true, force: true });
  mkdirSync(prebuilds, { recursive: true });
  const isBuilt = (path) => path.startsWith(join(source, 'test')) && path.endsWith('/build');
  for (const name of ['src', 'test', 'dist', 'package.json', 'tsconfig.json']) {
    cpSync(join(source, name), join(copy, name), { recursive: true, filter: (path) => !isBuilt(path) });
  }
  // What tests read beside the package's own files.
  for (const name of ['driver_functions.h', 'nvjpeg_functions.h']) {
    const table = join('native', 'src', 'core', name);
    cpSync(join(source, table), join(copy, table));
  }
  cpSync(join(root, 'docs', 'errors.md'), join(mirror, 'docs', 'errors.md'));
  cpSync(addon, prebuilds, { recursive: true });
  cpSync(join(root, 'tsconfig.base.json'), join(mirror, 'tsconfig.base.json'));
  symlinkSync(join(source, 'node_modules'), join(copy, 'node_modules'));
}

/** The environment of what is to be watched; reports go to files, since not every child's output is looked at. */
function watched() {
  const library = (name) =>
    realpathSync(execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim());
  const common = {
    // An error shows as a signal; leaks leave the exit code alone, since most are Node's.
    abort_on_error: 1,
    exitcode: 0,
    stack_trace_format: '"    #%n %p in %f %S (%m)"',
  };
  const options = (more) =>
    Object.entries({ ...common, ...more })
      .map((pair) => pair.join('='))
      .join(':');
  return {
    LD_PRELOAD: library('libasan.so'),
    ASAN_OPTIONS: options({ log_path: join(logs, 'address'), detect_leaks: 1, detect_stack_use_after_return: 1 }),
    UBSAN_OPTIONS: options({ log_path: join(logs, 'undefined'), print_stacktrace: 1 }),
    // The thread-local blocks of threads that have ended crash the leak check of GCC 12 now and then.
    LSAN_OPTIONS: 'use_tls=0',
  };
}

function clearLogs() {
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs);
}

/** A run in which nothing is found proves something only where each kind of fault would be. */
async function checkFaults(env) {
  const library = join(mirror, 'faulty-libcuda.so');
  const input = join(copy, 'test/fixtures/faulty-libcuda.c');
  execFileSync('gcc', [...SANITIZERS.address, '-O1', '-shared', '-fPIC', input, '-o', library], { stdio: 'inherit' });
  const script = `(await import(${JSON.stringify(join(copy, 'dist/index.js'))})).availability()`;
  const expected = {
    overflow: /ERROR: AddressSanitizer: heap-buffer-overflow/,
    undefined: /runtime error: signed integer overflow/,
    leak: /^Direct leak of 16 byte/m,
    none: undefined,
  };
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const [fault, report] of Object.entries(expected)) {
    clearLogs();
    await run(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, ...env, ZEROHOP_LIBCUDA: library, ZEROHOP_TEST_FAULT: fault },
      stdio: 'ignore',
    });
    const found = reportsIn(logs).flatMap((text) => findingsIn(text, [library]));
    const isRight = report === undefined ? found.length === 0 : found.length === 1 && report.test(found[0]);
    counts[isRight ? 'passed' : 'failed'] += 1;
    if (!isRight) counts.failures.push(`A fault of the kind "${fault}" gave these reports: ${JSON.stringify(found)}`);
  }
  return counts;
}

async function testAll(addon) {
  makeCopy(addon);
  const [name] = readdirSync(addon);
  if (!readFileSync(join(addon, name)).includes('__asan_report_load')) throw new Error(`${name} is not instrumented`);
  // The compiler is not watched: it leaks.
  const flags = { ...process.env, CFLAGS: SANITIZERS.address.join(' ') };
  for (const fake of ['fake-libcuda', 'fake-libnvjpeg']) {
    execFileSync(process.execPath, [join(copy, 'test', fake, 'build.mjs')], { env: flags });
  }
  const env = watched();
  const faults = await checkFaults(env);
  clearLogs();
  const tests = await runTests({ root: mirror, env, exclude: PATCHED, filters });
  const reports = reportsIn(logs);
  const found = reports.flatMap((text) => findingsIn(text, [join(prebuilds, name)]));
  const gaveUp = reports.filter((text) => text.includes(GAVE_UP)).length;
  for (const text of found) console.error(`\n${text}`);
  console.log(`Sanitizers: ${found.length} findings in ${reports.length} reports; ${gaveUp} leak checks gave up`);
  const reported = { passed: found.length === 0 ? 1 : 0, failed: found.length, skipped: 0, failures: found };
  return sum([faults, tests, reported]);
}

const addon = join(source, 'native', 'build', 'sanitize-address');
const problem =
  sanitizerProblem() ?? (existsSync(addon) ? undefined : 'The addon is not built with them: run "npm test" once.');
if (problem !== undefined) console.error(`Sanitizers: ${problem}`);
const total = problem === undefined ? await testAll(addon) : { passed: 0, failed: 0, skipped: 1 };
if (values.json) writeFileSync(values.json, JSON.stringify(total));
if (total.failed > 0) process.exitCode = 1;
