// The gate runs what failed once more, by itself: real servers, kills and races at ten thousand tests meet a bad moment now
// and then. What fails twice has failed. What passes then has passed and is named at the end, each time it happens: a name
// that comes back is a bug to be found.
import { countsOfReport, DID_NOT_END } from './vitest-report.mjs';

/** More than so many failed files are no bad moment. */
export const MOST_FILES = 3;

/** @typedef {import('./vitest-report.mjs').Report} Report */

/**
 * The files to run again.
 *
 * @param {Report | undefined} report
 * @returns {string[]} none when another run could not tell more: nothing is known of what failed, or it is too much
 */
export function filesToRunAgain(report) {
  const { files = {}, errors = [] } = report ?? {};
  const failed = new Set(Object.keys(files).filter((path) => files[path].failures.length > 0));
  const crashed = [...failed].some((path) => files[path].failures.some((text) => text.endsWith(DID_NOT_END)));
  for (const { file } of errors) {
    if (file !== undefined) failed.add(file);
    // That of a process that crashed is of the file that did not end; any other may be of a file that would not run again.
    else if (!crashed) return [];
  }
  return failed.size > MOST_FILES ? [] : [...failed];
}

/**
 * The report of both runs together, in which files that were run again count as they did then.
 *
 * @param {Report} first
 * @param {Report} second of all files that failed in the first
 * @returns {{ report: Report, passedAgain: string[] }} `passedAgain`: what failed the first time only
 */
export function joined(first, second) {
  const passes = (path) => second.files[path]?.failures.length === 0;
  const passedAgain = Object.keys(second.files).filter(passes);
  const isSettled = second.errors.length === 0 && passedAgain.length === Object.keys(second.files).length;
  return {
    report: { files: { ...first.files, ...second.files }, errors: second.errors },
    passedAgain: [
      ...passedAgain.flatMap((path) => first.files[path]?.failures ?? []),
      ...(isSettled ? first.errors.map(({ text }) => text) : []),
    ],
  };
}

/**
 * Counts a run of vitest and, with CI=true, runs once more what failed in it.
 *
 * @param {(filters: string[]) => Promise<{ report: Report | undefined, ok: boolean }>} run runs the files whose paths contain
 *   one of the filters
 * @param {string[]} filters
 * @returns {Promise<import('./vitest-report.mjs').Counts & { passedAgain?: string[] }>}
 */
export async function runTwice(run, filters, inCi = process.env.CI === 'true') {
  const first = await run(filters);
  const files = first.ok || !inCi ? [] : filesToRunAgain(first.report);
  if (files.length === 0) return countsOfReport(first.report, first.ok);
  console.log(`\n--- once more: ${files.join(', ')}\n`);
  const second = await run(files);
  if (files.some((path) => second.report?.files[path] === undefined)) return countsOfReport(first.report, false);
  const { report, passedAgain } = joined(first.report, second.report);
  return { ...countsOfReport(report, second.ok), passedAgain };
}
