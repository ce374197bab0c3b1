import { writeFileSync } from 'node:fs';
import { CheckFailed } from './problems.mjs';

/** Prints one line for each check of each package, and counts. */
export class Report {
  passed = 0;
  failed = 0;
  skipped = 0;
  failures = [];

  /**
   * Runs a check. It returns what its line is to say, and fails by throwing.
   *
   * @template T
   * @param {string} name of the package
   * @param {string} what the check is about
   * @param {() => T | Promise<T>} check
   * @param {(result: T) => string} [say]
   * @returns {Promise<T | undefined>} undefined when it failed
   */
  async check(name, what, check, say = String) {
    const started = Date.now();
    const took = () => `${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s`;
    try {
      const result = await check();
      this.passed++;
      console.log(`ok      ${took()}  ${name}  ${what}: ${say(result)}`);
      return result;
    } catch (error) {
      this.failed++;
      // Anything else is a fault of the check itself, which counts as well.
      const problems = error instanceof CheckFailed ? error.problems : [error.stack];
      console.log(`FAILED  ${took()}  ${name}  ${what}`);
      this.failures.push(`${name}: ${what}\n${problems.join('\n')}`);
      for (const problem of problems) console.log(problem.replace(/^/gm, '         '));
      return undefined;
    }
  }

  /** A check that could not be made here; with CI=true scripts/test.mjs counts it as failed. */
  skip(name, what, why) {
    this.skipped++;
    console.log(`skipped          ${name}  ${what}: ${why}`);
  }

  /** @param {string | undefined} file for scripts/test.mjs */
  end(file) {
    const { passed, failed, skipped, failures } = this;
    if (file !== undefined) writeFileSync(file, JSON.stringify({ passed, failed, skipped, failures }));
    console.log(`${passed} release checks passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
    if (failed > 0) process.exitCode = 1;
  }
}
