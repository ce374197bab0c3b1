/** What a check found wrong: each line says what, and what to do about it. */
export class CheckFailed extends Error {
  /** @param {string[]} problems at least one */
  constructor(problems) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** @throws {CheckFailed} when there are any */
export function failOn(problems) {
  if (problems.length > 0) throw new CheckFailed(problems);
}
