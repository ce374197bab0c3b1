import type { Protocol } from '../protocol.js';
import { invalid, unsupported } from '../status.js';
import { intOf, wrongJson } from './numbers.js';

interface Values {
  readonly trace_level: readonly string[];
  /** A uint32: a negative number wraps. */
  readonly trace_rate: number;
  /** -1: without a limit. */
  readonly trace_count: number;
  readonly log_frequency: number;
}

/** What a request changes; null goes back to what applies without it. */
type Changes = { readonly [Name in keyof Values]?: Values[Name] | null };

export interface TraceSettingsOptions {
  /** Where a real server would write traces; without one it allows no tracing. This server writes none. */
  readonly file?: string;
}

/** Of the server or of one model: what was set, and what applies since. */
interface Scope {
  readonly own: Partial<Values>;
  readonly effective: Values;
}

const DEFAULTS: Values = { trace_level: [], trace_rate: 1000, trace_count: -1, log_frequency: 0 };
const UINT32 = '0, 4294967295';
const LEVELS = ['TIMESTAMPS', 'TENSORS'];

/**
 * The trace settings of the server and of single models, as 2.51 has them over gRPC and HTTP. A model's settings are those
 * that it was given, and for the others the server's.
 */
export class TraceSettings {
  readonly #file: string;
  #server: Scope = { own: {}, effective: DEFAULTS };
  readonly #models = new Map<string, Scope>();

  constructor(options: TraceSettingsOptions = {}) {
    this.#file = options.file ?? '';
  }

  /**
   * Changes settings and gives what then applies: by name, in HTTP's order, each as a list of which
   * HTTP shows only that of `trace_level` as one.
   *
   * @param model '' for the server
   * @param ready whether a model is there
   * @param changes over gRPC lists of strings, an empty one to clear; over HTTP the request's JSON object as it was parsed.
   * Names that the server does not know are no error. undefined only reads, as HTTP's GET
   * @throws ServerError
   */
  update(
    model: string,
    changes: Readonly<Record<string, unknown>> | undefined,
    protocol: Protocol,
    ready: (model: string) => boolean,
  ): Record<string, string[]> {
    if (model !== '' && !ready(model)) throw invalid(`Request for unknown model : ${model}`);
    // Over HTTP even no change is one: it meets what a change of the server's settings has left.
    const reads = changes === undefined || (protocol === 'grpc' && Object.keys(changes).length === 0);
    if (!reads) this.#apply(model, readChanges(changes, protocol));
    const { trace_level, trace_rate, trace_count, log_frequency } = (this.#models.get(model) ?? this.#server).effective;
    return {
      trace_level: trace_level.length === 0 ? ['OFF'] : [...trace_level],
      trace_rate: [String(trace_rate)],
      trace_count: [String(trace_count)],
      log_frequency: [String(log_frequency)],
      trace_file: [this.#file],
      trace_mode: ['triton'],
    };
  }

  #apply(model: string, changes: Changes): void {
    const before = model === '' ? this.#server.own : (this.#models.get(model)?.own ?? {});
    const own = Object.fromEntries(
      Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null),
    ) as Partial<Values>;
    if (model !== '') {
      this.#applyToModel(model, own);
      return;
    }
    this.#server = this.#checked(DEFAULTS, own);
    // Where the new ones don't go with a model's own, that is told, but the server's stay changed and the model's as they were.
    for (const name of [...this.#models.keys()].sort()) this.#applyToModel(name, this.#models.get(name)?.own ?? {});
  }

  #applyToModel(model: string, own: Partial<Values>): void {
    if (Object.keys(own).length === 0) this.#models.delete(model);
    else this.#models.set(model, this.#checked(this.#server.effective, own));
  }

  /** Only tracing that is off may have settings with which it could not work. */
  #checked(fallback: Values, own: Partial<Values>): Scope {
    const effective = { ...fallback, ...own };
    const { trace_level, trace_rate, trace_count } = effective;
    if (trace_level.length === 0) return { own, effective };
    const refused = 'Attempting to set invalid trace setting :';
    if (trace_rate === 0) throw invalid(`${refused}sample rate must be non-zero`);
    if (this.#file === '') throw invalid(`${refused}trace file name is not given`);
    if (trace_count === 0) throw invalid(refused);
    return { own, effective };
  }
}

/** In the order in which the server looks for them, which decides which of two mistakes is told. */
function readChanges(changes: Readonly<Record<string, unknown>>, protocol: Protocol): Changes {
  if (Object.hasOwn(changes, 'trace_file')) {
    throw unsupported('trace file location can not be updated through network protocol');
  }
  const read = protocol === 'grpc' ? oneOfList : oneOfJson;
  const number = (name: string, range: string) => {
    const text = Object.hasOwn(changes, name) ? read(name, changes[name]) : undefined;
    return typeof text === 'string' ? intOf(name, text, range) : text;
  };
  const wrapped = (name: string) => {
    const value = number(name, UINT32);
    return typeof value === 'number' ? value >>> 0 : value;
  };
  const trace_level = Object.hasOwn(changes, 'trace_level') ? readLevel(changes.trace_level, protocol) : undefined;
  const trace_rate = wrapped('trace_rate');
  const trace_count = number('trace_count', '-1, 2147483647');
  if (typeof trace_count === 'number' && trace_count < -1) {
    const space = protocol === 'grpc' ? ' ' : '';
    throw invalid(`Unable to parse 'trace_count'. Expecting value >= -1, got:${space}${trace_count}`);
  }
  const log_frequency = wrapped('log_frequency');
  return {
    ...(trace_level !== undefined && { trace_level }),
    ...(trace_rate !== undefined && { trace_rate }),
    ...(trace_count !== undefined && { trace_count }),
    ...(log_frequency !== undefined && { log_frequency }),
  };
}

/** undefined when nothing in the list is a level; OFF alone is the empty list. */
function readLevel(given: unknown, protocol: Protocol): readonly string[] | null | undefined {
  if (protocol === 'http' && given === null) return null;
  if (!Array.isArray(given)) throw wrongJson('array');
  // Over HTTP an empty list is no change.
  if (protocol === 'grpc' && given.length === 0) return null;
  for (const level of given as unknown[]) {
    if (typeof level !== 'string') throw wrongJson('string');
    if (level !== 'OFF') continue;
    if (given.length > 1) throw invalid("Expect only one trace level 'OFF' is specified");
    return [];
  }
  const levels = LEVELS.filter((level) => given.includes(level));
  return levels.length === 0 ? undefined : levels;
}

function oneOfList(name: string, given: unknown): string | null {
  const list = given as readonly string[];
  if (list.length > 1) throw invalid(`expect only 1 value for '${name}'`);
  return list[0] ?? null;
}

function oneOfJson(_name: string, given: unknown): string | null {
  if (given === null || typeof given === 'string') return given;
  throw wrongJson('string');
}
