import type { LogValue } from '../core/core.js';
import type { Protocol } from '../protocol.js';
import { invalid, type ServerError, unavailable, unsupported } from '../status.js';
import { wrongJson } from './numbers.js';

const SWITCHES = ['log_info', 'log_warning', 'log_error'] as const;
const FORMATS = ['default', 'ISO8601'];

interface Words {
  readonly notBoolean: (name: string) => ServerError;
  readonly notNumber: () => ServerError;
  readonly notString: () => ServerError;
  readonly unknownFormat: (format: string) => ServerError;
}

const WORDS: Readonly<Record<Protocol, Words>> = {
  grpc: {
    notBoolean: (name) => invalid(`expect boolean for '${name}'`),
    notNumber: () => invalid("expect int32 for 'log_verbose_level'"),
    notString: () => invalid("expect string for 'log_format'"),
    unknownFormat: (format) => invalid(`invalid argument for log_format, got: ${format}`),
  },
  http: {
    notBoolean: () => wrongJson('boolean'),
    notNumber: () => wrongJson('unsigned-integer'),
    notString: () => wrongJson('string'),
    unknownFormat: (format) => unavailable(`invalid argument for --log_format, got: ${format}`),
  },
};

/** What a real server logs, as 2.51 has it over gRPC and HTTP; this one logs nothing, and only remembers. */
export class LogSettings {
  readonly #values: Record<string, LogValue> = {
    log_file: '',
    log_info: true,
    log_warning: true,
    log_error: true,
    log_verbose_level: 0,
    log_format: 'default',
  };

  /**
   * Changes settings and gives them all, in HTTP's order. What comes before a mistake is changed all the same.
   *
   * @param changes over gRPC what is set of each parameter, undefined when nothing is; over HTTP the request's JSON object as
   * it was parsed. Names that the server does not know are no error
   * @throws ServerError
   */
  update(changes: Readonly<Record<string, unknown>>, protocol: Protocol): Record<string, LogValue> {
    const words = WORDS[protocol];
    // null is nothing over HTTP, and can't come over gRPC.
    const given = Object.entries(changes).filter(([, value]) => value !== null);
    const named = new Map(given);
    if (named.has('log_file')) {
      throw unsupported('log file location can not be updated through network protocol');
    }
    for (const name of SWITCHES) {
      if (!named.has(name)) continue;
      const value = named.get(name);
      if (typeof value !== 'boolean') throw words.notBoolean(name);
      this.#values[name] = value;
    }
    if (named.has('log_verbose_level')) this.#values.log_verbose_level = this.#level(named, words);
    if (named.has('log_format')) {
      const format = named.get('log_format');
      if (typeof format !== 'string') throw words.notString();
      if (!FORMATS.includes(format)) throw words.unknownFormat(format);
      this.#values.log_format = format;
    }
    return { ...this.#values };
  }

  /** A uint32 that becomes an int, of which the server shows no negative one. */
  #level(named: ReadonlyMap<string, unknown>, words: Words): number {
    const value = named.get('log_verbose_level');
    const whole = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
    if (!whole || value < 0) throw words.notNumber();
    return Math.max(0, Number(BigInt.asIntN(32, BigInt(value))));
  }
}
