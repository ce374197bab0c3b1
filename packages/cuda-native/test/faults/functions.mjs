// The functions of the driver and of nvJPEG that the addon calls, out of its own tables.
import { readFileSync } from 'node:fs';

/** @typedef {{ name: string; callClass: string; optional: boolean }} CalledFunction `name` as the fakes log it */

/**
 * Reads one table.
 *
 * @param {string} file
 * @param {RegExp} row with the name and the class
 * @param {number} least how many there are at least: another layout of the table would leave nothing to test
 * @returns {CalledFunction[]}
 */
function readTable(file, row, least) {
  const text = readFileSync(new URL(`../../native/src/core/${file}`, import.meta.url), 'utf8');
  const [required = '', optional = ''] = text.split('#define ZEROHOP_OPTIONAL_DRIVER_FUNCTIONS');
  const functions = [required, optional].flatMap((part, index) =>
    Array.from(part.matchAll(row), ([, name, callClass]) => ({ name, callClass, optional: index === 1 })),
  );
  if (functions.length < least) throw new Error(`only ${functions.length} functions were found in ${file}`);
  return functions;
}

export function driverFunctions() {
  return readTable('driver_functions.h', /^ {2}X\((\w+), "\w+", (\w+),/gm, 50);
}

export function nvjpegFunctions() {
  return readTable('nvjpeg_functions.h', /^ {2}X\((\w+), (\w+),/gm, 16);
}

export function allFunctions() {
  return [...driverFunctions(), ...nvjpegFunctions()];
}
