import { invalid } from '../status.js';

const LARGEST = 2n ** 63n - 1n;

/**
 * The version that a request asks for; undefined lets the server choose. Digits are read up to the first other sign, as the
 * server's `stol` does: "1x" is 1 and " +2" is 2.
 *
 * @throws ServerError
 */
export function parseVersion(text: string): bigint | undefined {
  if (text === '') return undefined;
  const digits = /^[\t-\r ]*([+-]?)0*(\d+)/.exec(text);
  const value = digits === null ? undefined : BigInt(`${digits[1] === '-' ? '-' : ''}${digits[2]}`);
  if (value === undefined || value > LARGEST || value < -LARGEST - 1n) {
    throw invalid(
      `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`,
    );
  }
  if (value < 0n) {
    throw invalid(`invalid model version specified '${text}' , version should be an integral value > 0`);
  }
  return value;
}
