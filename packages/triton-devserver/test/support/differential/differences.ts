import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Outcome } from './servers.js';

const LIST = join(import.meta.dirname, '../../../docs/differences.md');
const MOST = 25;

interface Known {
  /** What a real server says, as the documentation has it. */
  readonly text: string;
  readonly real: RegExp;
  readonly own: RegExp;
}

/** What was asked, as far as it matters here. */
interface Asked {
  /** Whether it names a region or is about one. */
  readonly aboutRegions: boolean;
}

/**
 * The differences that the documentation lists. They are of texts alone: a code or data that differ are never excused, nor
 * is anything about regions.
 */
export class KnownDifferences {
  readonly #known: readonly Known[];
  #counts: Record<string, number> = {};

  /** @throws Error for a list that is too long, or has a row that says too little or too much */
  constructor(markdown: string = readFileSync(LIST, 'utf8')) {
    this.#known = rows(markdown);
    if (this.#known.length > MOST) throw new Error(`${this.#known.length} known differences are more than ${MOST}`);
  }

  get length(): number {
    return this.#known.length;
  }

  excuses({ aboutRegions }: Asked, real: Outcome, own: Outcome): boolean {
    if (aboutRegions || real.code !== own.code || !isDeepStrictEqual(real.data, own.data)) return false;
    const found = this.#known.find((known) => known.real.test(real.text) && known.own.test(own.text));
    if (found === undefined) return false;
    this.#counts[found.text] = (this.#counts[found.text] ?? 0) + 1;
    return true;
  }

  /** How often each was met since the last call. */
  takeCounts(): Record<string, number> {
    const counts = this.#counts;
    this.#counts = {};
    return counts;
  }
}

/** Each row of the table has what a real server says, what the devserver says, … for anything in both, and why. */
function rows(markdown: string): Known[] {
  const [list = ''] = markdown.split('## Left out');
  const lines = list.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const [, text, own] = /^\| `(.+?)` \| `(.+?)` \| .+ \|$/.exec(line) ?? [];
    if (text === undefined || own === undefined) throw new Error(`No known difference of texts: ${line}`);
    for (const cell of [text, own]) {
      if (/shared memory|shared_memory|region/i.test(cell))
        throw new Error(`Nothing about regions is excused: ${line}`);
      // What is left without the parts that may be anything has to say what it is.
      if (cell.replaceAll('…', '').replace(/\W/g, '').length < 12) throw new Error(`This excuses too much: ${line}`);
    }
    return { text, real: pattern(text), own: pattern(own) };
  });
}

function pattern(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

/** What of two servers' outcomes is not the same, and is not known. */
export function differencesBetween(
  asked: Asked,
  real: readonly Outcome[],
  own: readonly Outcome[],
  known: KnownDifferences,
) {
  const differences = [];
  for (let index = 0; index < Math.max(real.length, own.length); index += 1) {
    const [there, here] = [real[index], own[index]];
    if (isDeepStrictEqual(there, here)) continue;
    if (there !== undefined && here !== undefined && known.excuses(asked, there, here)) continue;
    differences.push({ real: there, own: here });
  }
  return differences;
}
