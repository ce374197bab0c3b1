import { errorText } from '../error-text.js';
import { attempt, invalid, ServerError, type StatusCode } from '../status.js';

/** What the server's own texts call its codes. */
const NAMES: Readonly<Record<StatusCode, string>> = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARG: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNSUPPORTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: 'Cancelled',
};

/** Why a version did not start, as the index and the answer to a load have it. */
export function reasonOf(error: unknown): string {
  const known = attempt(() => (error instanceof ServerError ? error : undefined));
  return known === undefined ? `Internal: ${errorText(error)}` : `${NAMES[known.code]}: ${known.message}`;
}

/** A model that was read and yet not loaded. */
export class LoadFailure extends Error {
  /** @param failed - why each of them did not start, by its number */
  static ofVersions(failed: ReadonlyMap<number, string>): LoadFailure {
    const sorted = [...failed].sort(([a], [b]) => a - b);
    const texts = sorted.map(([version, reason]) => `version ${version} is at UNAVAILABLE state: ${reason};`);
    return new LoadFailure(texts.join(''));
  }

  /** The error that a client gets who asked for this model by name. */
  answer(name: string): ServerError {
    return invalid(`load failed for model '${name}': ${this.message}\n`);
  }
}

/** The error of a model that could not be read. Only its cause says why: a real server tells its log. */
export function pollFailure(name: string, cause: unknown): ServerError {
  return new ServerError('INTERNAL', `failed to load '${name}', failed to poll from model repository`, { cause });
}
