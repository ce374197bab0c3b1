// Compares what a tour with a fault did with what the table says.
import { EXCEPTIONS, jpegCode, STICKY } from './table.mjs';

/** @typedef {import('./tour.mjs').Step} Step */
/** @typedef {{ call: string; status: number }} Fault */

function matches(exception, fault, failed, step) {
  return (
    exception.calls.includes(fault.call) &&
    (exception.status === undefined || exception.status.includes(fault.status)) &&
    (exception.sticky === undefined || exception.sticky === STICKY.includes(fault.status)) &&
    (exception.step === undefined || exception.step.test(step.step)) &&
    (exception.restoring === undefined || failed.restoring)
  );
}

const ofNvjpeg = (call) => call?.startsWith('nvjpeg') === true;

function isFault(error, { call, status }) {
  if (ofNvjpeg(call)) {
    return (
      error?.name === 'JpegError' &&
      error.call === call &&
      error.status === status &&
      error.code === jpegCode(call, status) &&
      / on device [01]\./.test(error.message)
    );
  }
  return (
    error?.name === 'CudaError' &&
    error.call === call &&
    error.status === status &&
    error.sticky === STICKY.includes(status)
  );
}

function isUnavailable(error, { call }) {
  const code = ofNvjpeg(call) ? 'ERR_NVJPEG_UNAVAILABLE' : 'ERR_CUDA_UNAVAILABLE';
  return error?.code === code && error.message.includes(`${call} failed`);
}

const warns = (step, { call }) =>
  step.warnings.some(({ code, message }) => code === 'CUDA_CLEANUP' && message.startsWith(`${call} failed`));

/** What is wrong with the step in which the call failed; undefined when nothing is. */
function judgeHit(step, failed, fault) {
  const { outcome, stays } = EXCEPTIONS.find((each) => matches(each, fault, failed, step)) ?? { outcome: 'error' };
  const { error } = step;
  const refused = step.refusal?.call === fault.call && step.refusal.status === fault.status;
  const right = {
    error: () => isFault(error, fault) || (refused && error === undefined),
    'error-or-none': () => error === undefined || isFault(error, fault),
    none: () => error === undefined,
    'range-error-or-none': () => error === undefined || error.name === 'RangeError',
    unavailable: () => isUnavailable(error, fault),
    warning: () => warns(step, fault) && (error === undefined || (stays && / alive, not /.test(error.message))),
  }[outcome]();
  if (!right) return `expected ${outcome}, got ${JSON.stringify(error ?? step.warnings)}`;
  if (outcome !== 'warning' && step.warnings.length > 0) return `unexpected ${JSON.stringify(step.warnings)}`;
  return undefined;
}

/** What is wrong with another step. */
function judgeOther(step, fault, hit) {
  if (step.error === undefined) return undefined;
  const sticky = STICKY.includes(fault.status);
  if (hit && sticky && isFault(step.error, fault) && /restart the process$/.test(step.error.message)) return undefined;
  if (hit && ['cuInit', 'nvjpegGetProperty'].includes(fault.call) && isUnavailable(step.error, fault)) return undefined;
  return `unexpected ${JSON.stringify(step.error)}`;
}

/** A lost context is one device's; the other one works. */
function judgeDevices(steps, fault) {
  const lost = new Set(steps.filter(({ error }) => error?.sticky).map(({ error }) => error.device));
  if (lost.size > 1) return ['errors of two devices'];
  const second = steps.filter(({ section, error }) => section === 'second' && error !== undefined);
  return lost.has(0) && second.length > 0 ? [`the other device failed too after ${fault.call}`] : [];
}

/**
 * @param {{ steps: Step[]; warnings: object[]; left: object; collected: boolean; threadsWithContext: number }} outcome
 * @param {Fault} [fault] none when nothing was to fail
 * @returns {{ problems: string[]; hit?: string; outcome?: string }} `hit` is the step in which the call failed
 */
export function judge(outcome, fault) {
  const problems = [];
  let hit;
  let collected = false;
  for (const step of outcome.steps) {
    const failed = fault && step.failed.find(({ call }) => call === fault.call);
    const problem = failed ? judgeHit(step, failed, fault) : judgeOther(step, fault ?? {}, hit !== undefined);
    if (failed) {
      hit ??= `${step.section}: ${step.step}`;
      collected ||= EXCEPTIONS.find((each) => matches(each, fault, failed, step))?.collected === true;
    }
    if (problem !== undefined) problems.push(`${step.section}: ${step.step}: ${problem}`);
    if (step.current !== 'none')
      problems.push(`${step.section}: ${step.step}: left the context of device ${step.current}`);
  }
  if (fault === undefined && outcome.warnings.length > 0)
    problems.push(`unexpected ${JSON.stringify(outcome.warnings)}`);
  if (Object.keys(outcome.left).length > 0) problems.push(`left ${JSON.stringify(outcome.left)}`);
  if (outcome.collected && !collected) problems.push('was not all given back before the garbage collector ran');
  if (outcome.threadsWithContext > 0) problems.push(`${outcome.threadsWithContext} threads were left with a context`);
  if (fault !== undefined) problems.push(...judgeDevices(outcome.steps, fault));
  return { problems, hit };
}
