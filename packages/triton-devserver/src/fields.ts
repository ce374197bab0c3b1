import { nearest } from './nearest.js';
import { LONGEST_MS } from './within.js';

/** What a value has to be: undefined when it is, else what was expected. */
export type Check = (value: unknown) => string | undefined;

export interface Field {
  readonly check: Check;
  readonly optional?: true;
}

export type Fields = Readonly<Record<string, Field>>;

export function whole(least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Check {
  const from = least === Number.MIN_SAFE_INTEGER ? '' : ` from ${least}`;
  const to = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `a whole number${from}${to}`;
}

export const COUNT: Check = whole(0);
export const AT_LEAST_ONE: Check = whole(1);
export const WHOLE: Check = whole();
export const TEXT: Check = (value) => (typeof value === 'string' ? undefined : 'a string');
export const YES_OR_NO: Check = (value) => (typeof value === 'boolean' ? undefined : 'true or false');
export const TEXTS: Check = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') ? undefined : 'a list of strings';
export const PATHS: Check = (value) =>
  typeof value === 'string' || TEXTS(value) === undefined ? undefined : 'a path or a list of paths';
export const OBJECT: Check = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : 'an object';
export const FUNCTION: Check = (value) => (typeof value === 'function' ? undefined : 'a function');
export const PORT: Check = (value) =>
  whole(0, 65_535)(value) === undefined ? undefined : 'a port: a whole number from 0 to 65535';
/** For a timer. */
export const MILLISECONDS: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= LONGEST_MS ? undefined : 'a number of milliseconds from 0';

export function oneOf(values: readonly string[]): Check {
  return (value) => (values.includes(value as string) ? undefined : `one of ${values.join(', ')}`);
}

export const required = (check: Check): Field => ({ check });
export const optional = (check: Check): Field => ({ check, optional: true });

/**
 * Checks a value that came from outside.
 *
 * @param what how the text names it, such as `The fault 'delay'`
 * @param others whether it may have fields that are not known
 * @throws TypeError, one sentence
 */
export function checkFields(
  what: string,
  value: unknown,
  fields: Fields,
  others = false,
): asserts value is Record<string, unknown> {
  if (OBJECT(value) !== undefined) throw new TypeError(`${what} has to be an object`);
  const given = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    if (!others && !Object.hasOwn(fields, name)) throw new TypeError(unknownField(what, name, Object.keys(fields)));
  }
  for (const [name, { check, optional: mayMiss }] of Object.entries(fields)) {
    const one = given[name];
    if (one === undefined && mayMiss === true) continue;
    const expected = check(one);
    if (expected !== undefined) throw new TypeError(`${what}: '${name}' has to be ${expected}`);
  }
}

function unknownField(what: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const rest = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return `${what} has no field '${name}': ${meant === undefined ? rest : `did you mean '${meant}'?`}`;
}
