// Which faults there are to try, and trying them.
import { runTours } from './children.mjs';
import { judge } from './judge.mjs';
import { codes, ONCE, STICKY } from './table.mjs';

/**
 * @typedef {object} Fault the `use`-th call of `call` fails with `status`
 * @property {string} call
 * @property {number} status
 * @property {number} use from 1 on
 * @property {string[]} [only] the sections that are toured; all when left out
 */

/** @typedef {{ fault: Fault; hit?: string; problems: string[] }} Result `hit` is the step that made the call */

const text = ({ call, status, use }) => `${call}#${use}=${status}`;

/** Whether a process stands the fault only once. */
export const isAlone = ({ call, status }) => ONCE.includes(call) || STICKY.includes(status);

/** How often each function was called in all sections. */
export function totals(counts) {
  const all = {};
  for (const section of Object.values(counts)) {
    for (const [name, count] of Object.entries(section)) all[name] = (all[name] ?? 0) + count;
  }
  return all;
}

/** The first, the second and the last of so many. */
const ends = (count) => [...new Set([1, 2, count])].filter((use) => use <= count);

/**
 * Each function with each of its codes on its first, second and last use.
 *
 * @param {string[]} functions
 * @param {Record<string, number>} cold how often each is called in the first tour of a process
 * @param {Record<string, number>} warm the same of a later one
 * @returns {Fault[]}
 */
export function allFaults(functions, cold, warm) {
  return functions.flatMap((call) =>
    codes[call].flatMap((status) =>
      ends((isAlone({ call, status }) ? cold : warm)[call] ?? 0).map((use) => ({ call, status, use })),
    ),
  );
}

/**
 * Each function once, in the first section that calls it and in one for the other device; a few with a lost context.
 *
 * @param {string[]} functions
 * @param {Record<string, Record<string, number>>} cold the calls of each section in the first tour of a process
 * @param {Record<string, Record<string, number>>} warm the same of a later one
 * @returns {Fault[]}
 */
export function sampleFaults(functions, cold, warm) {
  const sectionOf = (counts, call) =>
    Object.keys(counts).find((section) => (counts[section][call] ?? 0) > 0) ?? 'second';
  const at = (counts, call, status) => {
    const section = sectionOf(counts, call);
    return { call, status, use: 1, only: section === 'second' ? [section] : [section, 'second'] };
  };
  const once = functions.map((call, i) => {
    const statuses = codes[call].filter((status) => !STICKY.includes(status));
    return at(ONCE.includes(call) ? cold : warm, call, statuses[i % statuses.length]);
  });
  const lost = ['cuMemAlloc', 'cuMemHostUnregister', 'cuStreamQuery', 'cuGraphLaunch'];
  return [...once, ...lost.map((call, i) => at(cold, call, STICKY[i % 2]))];
}

/**
 * Runs faults, those that allow it in one process, and judges them.
 *
 * @param {object} options of runTours
 * @param {Fault[]} faults one that is alone, or several that are not
 * @returns {Promise<Result[]>}
 */
export async function tryFaults(options, faults) {
  // What the first tour does once is out of the way.
  const warmUp = faults.some(isAlone) ? [] : [{ fault: '' }];
  const rounds = faults.map((fault) => ({ fault: text(fault), only: fault.only }));
  const { outcomes, problem } = await runTours({ ...options, rounds: [...warmUp, ...rounds] });
  const done = outcomes.slice(warmUp.length);
  const results = done.map((outcome, i) => ({ fault: faults[i], ...judge(outcome, faults[i]) }));
  // How often the driver is asked whether something is over depends on the time: the last use may have been an earlier one.
  for (const [i, result] of results.entries()) {
    const { fault, hit, problems } = result;
    if (hit !== undefined || problems.length > 0) continue;
    const use = Math.min(fault.use - 1, totals(done[i].counts)[fault.call] ?? 0);
    if (use < 1) problems.push('the call was never made');
    else [results[i]] = await tryFaults(options, [{ ...fault, use }]);
  }
  const next = faults[results.length];
  if (next === undefined) return results;
  // The child did not survive this one; the others get another.
  const rest = faults.slice(results.length + 1);
  const failed = { fault: next, problems: [problem ?? 'no outcome'] };
  return [...results, failed, ...(rest.length > 0 ? await tryFaults(options, rest) : [])];
}

/** Runs faults in several processes, two at a time. */
export async function tryAll(options, faults, progress = () => undefined) {
  const together = faults.filter((fault) => !isAlone(fault));
  const groups = faults.filter(isAlone).map((fault) => [fault]);
  const size = Math.min(25, Math.ceil(together.length / 2));
  for (let i = 0; i < together.length; i += size) groups.unshift(together.slice(i, i + size));
  const results = [];
  const work = async () => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      results.push(...(await tryFaults(options, group)));
      progress(results.length);
    }
  };
  await Promise.all([work(), work()]);
  return results;
}
