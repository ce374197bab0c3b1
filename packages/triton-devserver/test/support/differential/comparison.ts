import { differencesBetween, type KnownDifferences } from './differences.js';
import { GeneratedRepository, generateModels } from './models.js';
import { Pair, RealServerLost } from './pair.js';
import { Random } from './random.js';
import { SharedObjects } from './regions.js';
import type { Step } from './step.js';
import { nextStep } from './steps.js';

export interface ComparisonOptions {
  readonly version: '2.51' | '2.48';
  /** Repeats a run: models and requests follow from it. */
  readonly seed: number;
  readonly requests: number;
  /** Whether models are loaded and unloaded on the way, which takes seconds each. */
  readonly loads: boolean;
  readonly known: KnownDifferences;
  /** So often may the real server die or hang; each time both servers begin anew. */
  readonly mostLost: number;
  /** Told of each difference, and of each loss, when it is found. */
  readonly onProblem?: (problem: object) => void;
}

export interface ComparisonReport {
  readonly version: string;
  readonly seed: number;
  readonly seconds: number;
  /** Requests, by transport and kind. */
  readonly requests: Record<string, Record<string, number>>;
  /** Differences that the documentation explains, by what a real server says. */
  readonly explained: Record<string, number>;
  /** Steps that the real server died of, or never answered. */
  readonly lost: readonly { readonly how: string; readonly what: string }[];
  readonly differences: readonly object[];
}

/** So many differences are enough to look at. */
const MOST_DIFFERENCES = 200;

/** Sends generated requests to a real server and to the devserver. @throws Error when the real server is lost too often */
export async function compareServers(options: ComparisonOptions): Promise<ComparisonReport> {
  const { version, seed, known, loads, mostLost, onProblem = () => undefined } = options;
  const began = performance.now();
  const random = new Random(seed);
  const repository = new GeneratedRepository(generateModels(random));
  const shared = new SharedObjects();
  const around = { version, random, models: repository.models, shared, unloaded: new Set<string>() };
  const requests: Record<string, Record<string, number>> = {};
  const differences: object[] = [];
  const lost: { how: string; what: string }[] = [];
  let pair: Pair | undefined;
  try {
    for (let count = 0; count < options.requests && differences.length < MOST_DIFFERENCES; ) {
      pair ??= await Pair.start(repository, version);
      const step = nextStep(around, loads);
      count += step.count;
      const counts = requests[step.transport] ?? {};
      requests[step.transport] = { ...counts, [step.kind]: (counts[step.kind] ?? 0) + step.count };
      try {
        for (const difference of await compare(pair, step, shared, known)) {
          differences.push(difference);
          onProblem(difference);
        }
      } catch (error) {
        // What a real server dies of, or hangs at, is no difference of ours: both begin anew.
        if (!(error instanceof RealServerLost)) throw error;
        lost.push({ how: error.message, what: step.what });
        onProblem({ how: error.message, what: step.what });
        await pair.stop();
        pair = undefined;
        shared.forget();
        around.unloaded.clear();
        if (lost.length > mostLost) throw new Error(`The real server was lost ${lost.length} times`, { cause: error });
      }
    }
  } finally {
    await pair?.stop();
    shared[Symbol.dispose]();
    repository.remove();
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  return { version, seed, seconds, requests, explained: known.takeCounts(), lost, differences };
}

async function compare(pair: Pair, step: Step, shared: SharedObjects, known: KnownDifferences): Promise<object[]> {
  shared.refill();
  const there = await pair.askReal(step);
  const written = shared.contents();
  shared.refill();
  const here = await pair.askDevserver(step);
  step.done?.(there);
  const { what } = step;
  const found = differencesBetween(step, there, here, known).map((difference) => ({ what, ...difference }));
  return shared.contents() === written ? found : [...found, { what, shared: 'the objects differ' }];
}

/** One line for a report; numbers of 64 bits too. */
export const lineOf = (problem: object): string =>
  JSON.stringify(problem, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
