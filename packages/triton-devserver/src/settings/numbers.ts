import { internal, invalid } from '../status.js';

/**
 * A number of the trace settings as std::stoi reads it: white space before it and anything after its digits are fine.
 *
 * @param range as the server's text gives it; what is checked is an int's
 * @throws ServerError
 */
export function intOf(name: string, text: string, range: string): number {
  const digits = /^[ \t\n\v\f\r]*([+-]?\d+)/.exec(text)?.[1];
  if (digits === undefined) throw invalid(`Unable to parse '${name}', got: ${text}`);
  const value = BigInt(digits.replace('+', ''));
  if (value === BigInt.asIntN(32, value)) return Number(value);
  throw invalid(`Unable to parse '${name}', value is out of range [ ${range} ], got: ${text}`);
}

/** What HTTP says of JSON of another type. */
export const wrongJson = (type: string) => internal(`attempt to access JSON non-${type} as ${type}`);
