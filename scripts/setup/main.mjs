import { existsSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { isStamped, stamp, unstamp } from './fingerprint.mjs';
import { handOver } from './hand-over.mjs';
import { lock } from './lock.mjs';
import { checkMachine } from './machine.mjs';
import { environment, root } from './paths.mjs';
import { SetupError, toSetupError } from './problems.mjs';
import { StepLog } from './run.mjs';
import { stepsFor } from './steps.mjs';
import { needsOf } from './tiers.mjs';

/** Of the command line of zerohop. */
const COMMANDS = ['detect', 'bench', 'doctor', 'serve', 'help'];

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** How often a step that is not shown on a terminal says that it is still at work. */
const QUIET_MS = 15_000;

/**
 * @param {'setup' | 'demo' | 'test' | 'triton'} command
 * @param {string[]} args
 */
export async function main(command, args) {
  if (!['setup', 'demo', 'test', 'triton'].includes(command)) {
    console.error('Use: npm run setup, npm run demo [-- arguments], npm test [-- arguments], npm run triton');
    process.exitCode = 2;
    return;
  }
  try {
    await setUp(command, args);
  } catch (thrown) {
    const error = toSetupError(thrown);
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = error.exitCode;
    return;
  }
  if (command === 'demo')
    handOver(process.execPath, [join(root, 'apps/demo/dist/main.js'), ...demoArguments(args)], { cwd: userFolder() });
  if (command === 'test')
    handOver(process.execPath, [join(root, 'scripts/test.mjs'), ...args], { cwd: root, env: environment() });
  if (command === 'triton') {
    const { serve } = await import('../triton.mjs');
    process.exitCode = await serve(args);
  }
}

async function setUp(command, args) {
  const started = Date.now();
  const needs = needsOf(command, args);
  // Tests without a server fill no shared memory worth speaking of.
  const machine = checkMachine(needs.has('server') ? command : 'setup');
  const steps = stepsFor(needs, machine);
  // Where all is there nothing is written, not even a lock: the clone may be another user's, or on a read-only disk.
  const did = steps.every((make) => isDone(make())) ? 0 : await runSteps(steps);
  if (did > 0 || command === 'setup') {
    console.error(`Set-up is complete (${seconds(started)}).${command === 'setup' ? ' Next: npm run demo' : ''}`);
  }
}

const isDone = (step) => isStamped(step.name, step.inputs) && step.outputs.every((path) => existsSync(path));

/** Runs the steps that are not done; resolves with their number. */
async function runSteps(steps) {
  const { descriptor, release } = await lock();
  const interrupt = new AbortController();
  // A signal ends the step's programs first: nobody else begins while they are there.
  const interrupted = (signal) => {
    // The terminal may have gone.
    process.stderr.on('error', () => undefined);
    const message = `Set-up was interrupted (${signal}). The same command again goes on from here.`;
    interrupt.abort(new SetupError(message, 128 + constants.signals[signal]));
  };
  for (const signal of SIGNALS) process.on(signal, interrupted);
  let did = 0;
  try {
    for (const [index, make] of steps.entries()) {
      interrupt.signal.throwIfAborted();
      const step = make();
      if (isDone(step)) continue;
      did++;
      await runStep(step, `[${index + 1}/${steps.length}]`, { descriptor, signal: interrupt.signal });
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
    release();
  }
  return did;
}

async function runStep(step, position, run) {
  unstamp(step.name);
  const log = new StepLog(step.name, run);
  const started = Date.now();
  const line = `${position} ${step.title}`;
  const live = process.stderr.isTTY === true;
  const show = () => process.stderr.write(`\r${line} … ${seconds(started)}`);
  const timer = live
    ? setInterval(show, 250)
    : setInterval(() => console.error(`${line} … ${seconds(started)}`), QUIET_MS);
  if (live) show();
  else console.error(`${line} …`);
  try {
    await step.run(log);
    stamp(step.name, step.inputs);
    process.stderr.write(live ? `\r${line}: ${seconds(started)}   \n` : `${line}: ${seconds(started)}\n`);
  } catch (error) {
    if (live) process.stderr.write('\n');
    throw error;
  } finally {
    clearInterval(timer);
    log.close();
  }
}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Where the user is: npm changes to the clone's root and keeps the folder it was called in. */
function userFolder() {
  return process.env.INIT_CWD ?? process.cwd();
}

/** No arguments: the whole pipeline on a sample. A path: that image. A command or an option: passed on as it is. */
function demoArguments(args) {
  const first = args[0];
  if (first === undefined) {
    const samples = join(root, 'samples');
    const image = readdirSync(samples)
      .sort()
      .find((name) => /\.(jpe?g|png)$/i.test(name));
    return ['detect', join(samples, image), '--out', join(root, 'out')];
  }
  if (COMMANDS.includes(first) || first === '--help' || first === '-h' || first === '--version') return args;
  // Who asks for JSON asks for no picture beside it.
  const hasOutput = args.some((argument) => /^--(out|json)(=|$)/.test(argument));
  return ['detect', ...args, ...(hasOutput ? [] : ['--out', join(root, 'out')])];
}
