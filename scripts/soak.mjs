#!/usr/bin/env node
// Runs that take longer than a test may: `pnpm soak [NAME [OPTIONS…]]`; without a name it lists them. Each has a short
// form among the tests, of the same code, and a committed result in bench/results. Needs a build. Without a GPU the fake
// driver is used.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildFakeLibcuda } from '../packages/cuda-native/test/fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../packages/cuda-native/test/fake-libnvjpeg/build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * `fake` says that the run wants the fake driver and nvJPEG unless ZEROHOP_LIBCUDA names a driver; `variables`, that its
 * options are variables of its environment.
 */
const RUNS = {
  cycles: {
    says: 'make and close 100,000 objects of each class of cuda-native; nothing may grow [--count N] [--together N] [--kinds …] [--out FILE]',
    program: 'bench/dist/cycles.js',
    fake: true,
  },
  faults: {
    says: 'each call of the driver and of nvJPEG made to fail, with each code, on its first, second and last use [--out FILE]',
    program: 'packages/cuda-native/test/faults/run.mjs',
    fake: true,
  },
  delays: {
    says: "the event loop's delay with each driver call that may wait made 200 ms late [--out FILE]",
    program: 'bench/dist/cuda.js',
    options: ['--parts', 'delays'],
    fake: true,
  },
  'client-requests': {
    says: '1,000,000 requests of all sorts to a real server; nothing may grow or stay unanswered [--count N] [--out FILE]',
    program: 'bench/dist/soak.js',
    options: ['--kind', 'requests'],
  },
  'client-hostile': {
    says: '1,000,000 damaged answers: each gives an answer or a TritonError [ZEROHOP_HOSTILE_SEED=N] [ZEROHOP_HOSTILE_OUT=FILE]',
    program: 'node_modules/vitest/vitest.mjs',
    options: ['run', '--project', 'unit', 'packages/triton-client/test/unit/hostile-answers.test.ts'],
    env: { ZEROHOP_HOSTILE_ANSWERS: '1000000' },
  },
  'client-connections': {
    says: '10,000 clients that connect and close, over gRPC and HTTP in turn [--count N] [--out FILE]',
    program: 'bench/dist/soak.js',
    options: ['--kind', 'connections'],
  },
  'devserver-differential': {
    says: 'generated requests to the devserver and to real servers 2.51 and 2.48: status, text and data are compared [DIFFERENTIAL_SEED=N] [DIFFERENTIAL_REQUESTS=N] [DIFFERENTIAL_REPORT=FILE] [DIFFERENTIAL_OUT=FILE]',
    program: 'node_modules/vitest/vitest.mjs',
    options: ['run', '--project', 'soak', 'packages/triton-devserver/test/soak/differential.test.ts'],
  },
  'pool-schedules': {
    says: '1,000,000 requests of pools under random schedules, to doubles, the devserver and real servers; each answer is its own, and nothing may grow [--requests N] [--seed N] [--out FILE]',
    program: 'node_modules/vitest/vitest.mjs',
    options: ['run', '--project', 'soak', 'packages/shm-pool/test/soak/pool-schedules.test.ts'],
    variables: { requests: 'POOL_SCHEDULES_REQUESTS', seed: 'POOL_SCHEDULES_SEED', out: 'POOL_SCHEDULES_OUT' },
    fake: true,
  },
  'devserver-loads': {
    says: 'loads and unloads, of ensembles too, on the devserver and on real servers 2.51 and 2.48: answers, states and readiness are compared after each',
    program: 'node_modules/vitest/vitest.mjs',
    options: ['run', '--project', 'soak', 'packages/triton-devserver/test/soak/load-unload.test.ts'],
  },
  'preproc-fuzz': {
    says: '10,000 damaged pictures through decodeImage and the preprocessor, in a process of their own: each a tensor or a typed refusal [--count N] [--seed N] [--out FILE]',
    program: 'packages/gpu-preproc/test/fuzz/run.mjs',
  },
  'client-restarts': {
    says: 'a server killed and started again every 20 s for 10 minutes, under load [--count N] [--every MS] [--out FILE]',
    program: 'bench/dist/soak.js',
    options: ['--kind', 'restarts'],
  },
};

const [name, ...options] = process.argv.slice(2);
const run = Object.hasOwn(RUNS, name ?? '') ? RUNS[name] : undefined;
if (run === undefined) {
  const list = Object.entries(RUNS).map(([known, { says }]) => `  pnpm soak ${known}: ${says}`);
  (name === undefined ? console.log : console.error)(list.join('\n'));
  process.exit(name === undefined ? 0 : 2);
}
const env = { ...process.env, ...run.env };
if (run.variables !== undefined) {
  // Vitest takes no options of a test's own.
  const known = Object.fromEntries(Object.keys(run.variables).map((option) => [option, { type: 'string' }]));
  const { values } = parseArgs({ args: options.splice(0), options: known });
  for (const [option, value] of Object.entries(values)) env[run.variables[option]] = value;
}
if (run.fake && env.ZEROHOP_LIBCUDA === undefined) {
  env.ZEROHOP_LIBCUDA = buildFakeLibcuda();
  env.ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();
}
const child = spawn(process.execPath, ['--expose-gc', run.program, ...(run.options ?? []), ...options], {
  cwd: root,
  env,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`soak: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
