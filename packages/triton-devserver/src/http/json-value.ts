import { internal } from '../status.js';

/**
 * A JSON value as the server's reader (RapidJSON) tells values apart. A number whose value is whole is an integer of the
 * text: what was written as a double, such as `1.0`, is a `WholeDouble`. Integers that a number cannot hold are bigints,
 * from -2^63 to 2^64-1; beyond these they are doubles.
 */
export type Json = null | boolean | number | bigint | string | WholeDouble | RawString | JsonObject | readonly Json[];

/** A double without a fraction. */
export class WholeDouble {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A string that is no UTF-8. The server takes such strings for BYTES, and hands their bytes on. */
export class RawString {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Members in the order of the text; of equal names the first one counts. */
export class JsonObject {
  readonly members: readonly (readonly [string, Json])[];

  constructor(members: readonly (readonly [string, Json])[]) {
    this.members = members;
  }

  get(name: string): Json | undefined {
    for (const [key, value] of this.members) if (key === name) return value;
    return undefined;
  }
}

/** A member; undefined also when `json` is no object, which the server does not tell apart. */
export function member(json: Json | undefined, name: string): Json | undefined {
  return json instanceof JsonObject ? json.get(name) : undefined;
}

/** @throws ServerError INTERNAL */
export function needed(json: Json | undefined, name: string): Json {
  const value = member(json, name);
  if (value === undefined) throw internal(`attempt to access non-existing object member '${name}'`);
  return value;
}

/** @throws ServerError INTERNAL */
export function asText(json: Json): string {
  if (typeof json === 'string') return json;
  if (json instanceof RawString) return Buffer.from(json.bytes).toString('utf8');
  throw internal('attempt to access JSON non-string as string');
}

/** @throws ServerError INTERNAL */
export function asBytes(json: Json): Uint8Array {
  if (typeof json === 'string') return Buffer.from(json, 'utf8');
  if (json instanceof RawString) return json.bytes;
  throw internal('attempt to access JSON non-string as string');
}

/** @throws ServerError INTERNAL */
export function asBoolean(json: Json): boolean {
  if (typeof json === 'boolean') return json;
  throw internal('attempt to access JSON non-boolean as boolean');
}

/** @throws ServerError INTERNAL */
export function asArray(json: Json): readonly Json[] {
  if (Array.isArray(json)) return json as readonly Json[];
  throw internal('attempt to access JSON non-array as array');
}

const INT64_MAX = 2n ** 63n - 1n;

export function isUnsigned(json: Json): json is number | bigint {
  return (typeof json === 'number' && Number.isInteger(json) && json >= 0) || (typeof json === 'bigint' && json >= 0n);
}

export function isSigned(json: Json): json is number | bigint {
  return (typeof json === 'number' && Number.isInteger(json)) || (typeof json === 'bigint' && json <= INT64_MAX);
}

/** @throws ServerError INTERNAL */
export function asUnsigned(json: Json): bigint {
  if (isUnsigned(json)) return BigInt(json);
  throw internal('attempt to access JSON non-unsigned-integer as unsigned-integer');
}

/** @throws ServerError INTERNAL */
export function asSigned(json: Json): number | bigint {
  if (isSigned(json)) return json;
  throw internal('attempt to access JSON non-signed-integer as signed-integer');
}

/** @throws ServerError INTERNAL */
export function asDouble(json: Json): number {
  if (typeof json === 'number') return json;
  if (json instanceof WholeDouble) return json.value;
  if (typeof json === 'bigint') return Number(json);
  throw internal('attempt to access JSON non-number as double');
}
