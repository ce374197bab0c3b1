/** What is wrong with the machine or a step of set-up; shown as it is, without a stack trace. */
export class SetupError extends Error {
  constructor(message, exitCode = 3) {
    super(message);
    this.name = 'SetupError';
    this.exitCode = exitCode;
  }
}
