import { internal, type ServerError } from '../status.js';

/** RapidJSON's words (en.h). */
const TEXTS = {
  empty: 'The document is empty.',
  root: 'The document root must not be followed by other values.',
  value: 'Invalid value.',
  name: 'Missing a name for object member.',
  colon: 'Missing a colon after a name of object member.',
  'object-end': "Missing a comma or '}' after an object member.",
  'array-end': "Missing a comma or ']' after an array element.",
  hex: 'Incorrect hex digit after \\u escape in string.',
  surrogate: 'The surrogate pair in string is invalid.',
  escape: 'Invalid escape character in string.',
  quote: 'Missing a closing quotation mark in string.',
  'too-big': 'Number too big to be stored in double.',
  fraction: 'Miss fraction part in number.',
  exponent: 'Miss exponent in number.',
  depth: 'Terminate parsing due to Handler error.',
} as const;

export type JsonProblem = keyof typeof TEXTS;

/** @param at bytes from the text's beginning */
export function jsonError(problem: JsonProblem, at: number): ServerError {
  return internal(`failed to parse the request JSON buffer: ${TEXTS[problem]} at ${at}`);
}
