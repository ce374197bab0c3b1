import { root } from './paths.mjs';

/** What is wrong with the machine or a step of set-up; shown as it is, without a stack trace. */
export class SetupError extends Error {
  constructor(message, exitCode = 3, options = undefined) {
    super(message, options);
    this.name = 'SetupError';
    this.exitCode = exitCode;
  }
}

const ADVICE = {
  EACCES: 'make the clone writable for this user, or clone it anew',
  EDQUOT: 'free some of your quota',
  ENOSPC: 'free some space',
  EPERM: 'make the clone writable for this user, or clone it anew',
  EROFS: 'clone it to where you can write',
};

/** In one sentence what the system refused, as that of a read-only or a full disk; anything else as it is. */
export function toSetupError(error) {
  if (error instanceof SetupError || typeof error?.syscall !== 'string') return error;
  const advice = ADVICE[error.code] === undefined ? '' : `: ${ADVICE[error.code]}`;
  return new SetupError(`Set-up can't work in ${root} (${error.message})${advice}.`, 3, { cause: error });
}
