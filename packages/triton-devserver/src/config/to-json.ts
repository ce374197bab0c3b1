import type { ModelConfig } from '../grpc/gen/model_config.js';
import { type Field, fieldsOf, knows } from './schema.js';

/** Fields of 64 bits that HTTP gives as text, as protobuf's JSON does; the server makes numbers of all others. */
const AS_TEXT = new Set([
  'ModelInstanceGroup.SecondaryDevice.device_id',
  'ModelSequenceBatching.InitialState.dims',
  'ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim',
]);

/**
 * A configuration as the server's HTTP `/config` gives it: every field that is no message and of no group, defaults
 * included, in the server's order, without a blank. Maps come in the order in which they are held; a real server's order
 * of several entries is that of its hash table.
 */
export function configToJson(config: ModelConfig, serverVersion: string): string {
  return messageToJson('ModelConfig', config as unknown as Record<string, unknown>, serverVersion);
}

function messageToJson(type: string, message: Record<string, unknown>, version: string): string {
  const fields = [...(fieldsOf(type)?.values() ?? [])]
    .filter(({ name }) => message[name] !== undefined && knows(version, type, name))
    .map((field) => `"${field.name}":${fieldToJson(type, field, message[field.name], version)}`);
  return `{${fields.join(',')}}`;
}

function fieldToJson(type: string, field: Field, value: unknown, version: string): string {
  const single = (element: unknown) =>
    fieldsOf(field.type) === undefined
      ? scalarToJson(field.type, element, AS_TEXT.has(`${type}.${field.name}`))
      : messageToJson(field.type, element as Record<string, unknown>, version);
  if (field.key !== undefined) {
    const entries = value instanceof Map ? [...value] : Object.entries(value as object);
    return `{${entries.map(([key, element]) => `${quoted(String(key))}:${single(element)}`).join(',')}}`;
  }
  return field.repeated ? `[${(value as unknown[]).map(single).join(',')}]` : single(value);
}

function scalarToJson(type: string, value: unknown, asText: boolean): string {
  if (typeof value === 'bigint') return asText ? `"${value}"` : String(value);
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    return `"${Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'}"`;
  return String(type === 'float' ? shortest(value as number) : value);
}

/** The number with the fewest digits that is this one in 32 bits: 0.3 for 0.30000001192092896. */
function shortest(value: number): number {
  const digits = [6, 7, 8].find((count) => Math.fround(Number(value.toPrecision(count))) === value);
  return digits === undefined ? value : Number(value.toPrecision(digits));
}

/** As JSON.stringify, but for the capital digits of control characters. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/\\u00[01][0-9a-f]/g, (code) => `\\u${code.slice(2).toUpperCase()}`);
}
