/** The regions that a pool had to give up, and what it says about them. */
import { Gathered } from './gathered.js';
import type { RegisteredRegion } from './region.js';
import { warn } from './warnings.js';

export interface Retirement {
  readonly region: string;
  readonly reason: string;
  /** Of its memory, how much stays allocated until the process ends: all of it, or none. */
  readonly keptBytes: number;
}

export class Retirements {
  readonly #announce: (retirement: Retirement) => void;
  readonly #warnings: Gathered<Retirement>;
  #count = 0;
  #kept = 0;

  constructor(pool: string, announce: (retirement: Retirement) => void) {
    this.#announce = announce;
    this.#warnings = new Gathered((retirements) => warn('ZEROHOP_RETIRED', sentence(pool, retirements)));
  }

  /** All of them. */
  get count(): number {
    return this.#count;
  }

  /** Those whose memory stays allocated. */
  get kept(): number {
    return this.#kept;
  }

  /** Gives up a region whose memory was freed here, or, unless it was, keeps its memory for good. */
  add(region: RegisteredRegion, reason: string, freed: boolean): void {
    if (!freed) {
      region.retire();
      this.#kept += 1;
    }
    this.#count += 1;
    const retirement = { region: region.name, reason, keptBytes: freed ? 0 : region.byteLength };
    this.#announce(retirement);
    this.#warnings.add(retirement);
  }

  /** Warns now of those that no warning has told of. */
  flush(): void {
    this.#warnings.flush();
  }
}

function sentence(pool: string, retirements: readonly [Retirement, ...Retirement[]]): string {
  const [{ region, reason }] = retirements;
  const { length } = retirements;
  const keptBytes = retirements.reduce((sum, retirement) => sum + retirement.keptBytes, 0);
  const what = length === 1 ? `region ${region}` : `${length} regions, the first ${region}`;
  const memory = keptBytes === 0 ? 'the memory was freed here' : `${keptBytes} bytes are kept until the process ends`;
  return `Pool '${pool}' gave up ${what} (${memory}): ${reason}`;
}
