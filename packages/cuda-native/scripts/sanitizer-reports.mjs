import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LEAKS = 'ERROR: LeakSanitizer: detected memory leaks';
/** What stands in a report of nothing: which of the sanitizer's own suppressions applied. */
const SUPPRESSIONS = /^-+\nSuppressions used:\n(?:.*\n)*?-+$/gm;
/** The leak check could not stop the process's threads. It says nothing of the program, so it is counted and told. */
export const GAVE_UP = 'LeakSanitizer has encountered a fatal error';

/** Where allocations come from and never begin: the sanitizers themselves and the C and C++ libraries. */
const RUNTIME = /\/lib(asan|c|stdc\+\+)\.so[.\d]*$/;

/**
 * The leaks of a report whose memory `libraries` themselves allocated. At exit Node leaves much behind, what only objects
 * in V8's heap point to looks lost, for the sanitizer does not know that heap, and the driver's objects stay on purpose.
 */
function leaksOf(text, libraries) {
  const blocks = text.split('\n\n').filter((block) => /^(Direct|Indirect) leak of /m.test(block));
  return blocks.filter((block) => {
    const modules = Array.from(block.matchAll(/^ +#\d+ .*\((.+)\)$/gm), ([, module]) => module);
    return libraries.includes(modules.find((module) => !RUNTIME.test(module)));
  });
}

/**
 * What one report says, a text for each finding.
 *
 * @param {string[]} libraries paths of those whose leaks count
 */
export function findingsIn(text, libraries) {
  if (text.includes(LEAKS)) return leaksOf(text, libraries);
  // Whatever else is written ended its process.
  return text.includes(GAVE_UP) || text.replace(SUPPRESSIONS, '').trim() === '' ? [] : [text];
}

/** All reports in the folder `logs`. */
export function reportsIn(logs) {
  return readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
}
