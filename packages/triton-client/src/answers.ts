import { TritonError } from './errors.js';
import type { LogSettings, TraceSettings } from './types/server.js';

/** What the control calls' answers are held to. */

/** The error for an answer that says what no server should. */
export function unreadable(method: string, details: string): TritonError {
  return new TritonError(`The answer to ${method} cannot be read: ${details}`, {
    code: 'TRITON_MALFORMED_RESPONSE',
    method,
    details,
  });
}

/**
 * A 64-bit count of the protocol as a number.
 *
 * @throws TritonError `TRITON_MALFORMED_RESPONSE` where a number cannot hold it
 */
export function exactNumber(method: string, name: string, value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw unreadable(method, `${name} is ${value}`);
  return number;
}

/** Trace settings by the server's names; a value is a list of texts. */
export function traceSettings(raw: Readonly<Record<string, readonly string[]>>): TraceSettings {
  const whole = (key: string): number => {
    const text = raw[key]?.[0];
    if (text === undefined || !/^-?\d+$/.test(text)) throw unreadable('TraceSetting', `${key} is '${text}'`);
    return Number(text);
  };
  return {
    level: raw.trace_level ?? [],
    rate: whole('trace_rate'),
    count: whole('trace_count'),
    logFrequency: whole('log_frequency'),
    raw,
  };
}

/** Log settings by the server's names. */
export function logSettings(raw: Readonly<Record<string, unknown>>): LogSettings {
  const value = <T>(key: string, isRight: (value: unknown) => value is T): T => {
    const found = raw[key];
    if (!isRight(found)) throw unreadable('LogSettings', `${key} is ${String(found)}`);
    return found;
  };
  const isBoolean = (found: unknown) => typeof found === 'boolean';
  const isText = (found: unknown) => typeof found === 'string';
  return {
    info: value('log_info', isBoolean),
    warning: value('log_warning', isBoolean),
    error: value('log_error', isBoolean),
    verboseLevel: value('log_verbose_level', (found) => typeof found === 'number'),
    format: value('log_format', isText),
    file: value('log_file', isText),
  };
}
