import { deflateSync, gzipSync } from 'node:zlib';
import type { RawRequest } from '../raw-http.js';
import { isDeadlyHttp } from './deadly.js';
import type { Surroundings } from './grpc-requests.js';
import { type Json, type JsonObject, jsonPlaces, jsonText, Literal } from './json.js';
import type { GeneratedModel } from './models.js';
import type { Random } from './random.js';
import { fittingInputs, jsonElements, rawBytes, type TensorValue } from './tensors.js';

/** A request before it becomes bytes. */
export interface Draft {
  path: string;
  json: JsonObject;
  tail: Buffer[];
  headers: Record<string, string>;
}

const ODD: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  2,
  1.5,
  new Literal('9223372036854775808'),
  new Literal('18446744073709551616'),
  new Literal('1e3'),
  new Literal('1.0'),
  new Literal('-0'),
  '',
  'r',
  'é"\\',
  'FP32',
  'BYTES',
  'NOPE',
  [],
  [1],
  [[1], [2, 3]],
  ['a'],
  {},
  { a: 1 },
];

const KEYS = [
  'custom',
  'data',
  'parameters',
  'outputs',
  'id',
  'shape',
  'name',
  'binary_data',
  'binary_data_size',
  'binary_data_output',
  'classification',
  'shared_memory_region',
  'shared_memory_offset',
  'shared_memory_byte_size',
  'sequence_id',
  'sequence_start',
  'sequence_end',
  'priority',
  'timeout',
  'triton_x',
  'triton_enable_empty_final_response',
  'headers',
];

export function httpRequest(around: Surroundings, model: GeneratedModel): RawRequest {
  const { random } = around;
  const draft = draftOf(around, model);
  const count = random.pick([0, 0, 1, 1, 2]);
  for (const mutate of random.shuffled(MUTATIONS).slice(0, count)) mutate(draft, around);
  if (isDeadlyHttp({ ...draft, changed: count > 0 }, around)) return httpRequest(around, model);
  let text = jsonText(draft.json);
  if (random.chance(0.06)) text = brokenText(text, random);
  const json = Buffer.from(text);
  const length = draft.headers[LENGTH] === 'exact' ? String(json.byteLength) : undefined;
  const headers = { ...draft.headers, ...(length === undefined ? {} : { [LENGTH]: length }) };
  const accepted = random.chance(0.15) ? { 'Accept-Encoding': random.pick(ACCEPTED) } : {};
  const body = Buffer.concat([json, ...draft.tail]);
  const plain = { path: draft.path, headers: { ...headers, ...accepted }, body };
  return random.chance(0.15) && draft.headers['Content-Encoding'] === undefined ? compressed(plain, random) : plain;
}

const ACCEPTED = [
  'gzip',
  'deflate',
  'gzip, deflate',
  'deflate;q=0.5, gzip;q=0.4',
  'gzip;q=0',
  '*',
  'br',
  'identity',
  'GZIP',
  '',
];

/** Mostly as its name says, and whole. */
function compressed({ path, headers, body }: RawRequest & { readonly body: Buffer }, random: Random): RawRequest {
  const [encoding, compress] = random.pick<readonly [string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateSync],
    ['gzip', deflateSync],
    ['deflate', gzipSync],
    ['gzip', (bytes) => bytes],
    ['gzip', (bytes) => gzipSync(bytes).subarray(0, -9)],
  ]);
  return { path, headers: { ...headers, 'Content-Encoding': encoding }, body: compress(body) };
}

const LENGTH = 'Inference-Header-Content-Length';

function draftOf(around: Surroundings, model: GeneratedModel): Draft {
  const { random } = around;
  const tail: Buffer[] = [];
  const inputs = fittingInputs(random, model).map((value): JsonObject => {
    const { name, datatype, shape } = value;
    const tensor = { name, datatype, shape: [...shape] };
    const bytes = rawBytes(value);
    if (random.chance(0.12)) return { ...tensor, parameters: regionParameters(around, bytes.byteLength) };
    if (random.chance(0.3) || datatype === 'FP16') {
      tail.push(bytes);
      return { ...tensor, parameters: { binary_data_size: bytes.byteLength } };
    }
    return { ...tensor, data: jsonData(value, random) };
  });
  const json: JsonObject = { inputs };
  if (random.chance(0.3)) json.id = random.pick(['q', 'é"\\', '']);
  const parameters = requestParameters(random, model);
  if (Object.keys(parameters).length > 0) json.parameters = parameters;
  if (random.chance(0.6)) {
    const chosen = random.shuffled(model.outputs).slice(0, random.integer(1, model.outputs.length));
    json.outputs = chosen.map(({ name, datatype }): JsonObject => {
      if (random.chance(0.15)) return { name, parameters: regionParameters(around, 400) };
      const given: JsonObject = {};
      if (random.chance(0.5) || datatype === 'FP16') given.binary_data = true;
      if (datatype !== 'BYTES' && random.chance(0.2)) given.classification = random.integer(1, 4);
      return Object.keys(given).length > 0 || random.chance(0.2) ? { name, parameters: given } : { name };
    });
  }
  const version = random.chance(0.3) ? '/versions/1' : '';
  return {
    path: `/v2/models/${model.name}${version}/infer`,
    json,
    tail,
    headers: tail.length > 0 || random.chance(0.1) ? { [LENGTH]: 'exact' } : {},
  };
}

/** Flat, or nested as the shape is. */
function jsonData(value: TensorValue, random: Random): Json {
  const flat: Json[] = jsonElements(value).map((text) => new Literal(text));
  if (random.chance(0.6) || flat.length === 0) return flat;
  return value.shape
    .slice(1)
    .reverse()
    .reduce<Json[]>((parts, size) => {
      const rows = Math.ceil(parts.length / size);
      return Array.from({ length: rows }, (_, row) => parts.slice(row * size, (row + 1) * size));
    }, flat);
}

function regionParameters({ random, shared }: Surroundings, byteLength: number): JsonObject {
  const { offset, size } = shared.extent(random, byteLength);
  return {
    shared_memory_region: shared.regionName(random),
    shared_memory_byte_size: Number(size),
    ...(offset === 0n ? {} : { shared_memory_offset: Number(offset) }),
  };
}

function requestParameters(random: Random, { kind }: GeneratedModel): JsonObject {
  const parameters: JsonObject = {};
  if (random.chance(0.2)) parameters.custom = random.pick<Json>([true, 5, -3, 'é', 1.5, new Literal('1.0'), '']);
  if (random.chance(0.1)) parameters.priority = random.integer(0, 3);
  if (random.chance(0.2)) parameters.binary_data_output = random.chance(0.7);
  if (kind === 'sequence') {
    parameters.sequence_id = random.pick<Json>([1, 2, 3, 'a']);
    if (random.chance(0.5)) parameters.sequence_start = true;
    if (random.chance(0.2)) parameters.sequence_end = true;
  } else if (random.chance(0.05)) {
    parameters.fail = random.pick(['error', 'code', 'raise']);
  }
  return parameters;
}

/** What goes wrong in a text of JSON. Numbers stay whole: a digit more could be a size that leaves a mapping. */
function brokenText(text: string, random: Random): string {
  const at = random.integer(0, text.length - 1);
  const rest = text.slice(at + 1);
  return random.pick([
    text.slice(0, at),
    ...['}', ']', '"', ',', '{', ' ', 'tru', '\\', '\t', '/'].map((part) => text.slice(0, at) + part + rest),
    `${text} x`,
    `\n ${text} \n`,
    '',
  ]);
}

type Mutation = (draft: Draft, around: Surroundings) => void;

const MUTATIONS: readonly Mutation[] = [
  ...Array.from(
    { length: 6 },
    (): Mutation =>
      ({ json }, { random }) => {
        const places = jsonPlaces(json);
        if (places.length === 0) return;
        const { holder, key } = random.pick(places);
        holder[key] = structuredOdd(random);
      },
  ),
  ...Array.from(
    { length: 3 },
    (): Mutation =>
      ({ json }, { random }) => {
        const places = jsonPlaces(json);
        if (places.length === 0) return;
        const { holder, key } = random.pick(places);
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else delete holder[key];
      },
  ),
  ...Array.from(
    { length: 3 },
    (): Mutation =>
      ({ json }, { random }) => {
        const objects = [json, ...jsonPlaces(json).map(({ holder, key }) => holder[key])].filter(
          (value): value is JsonObject =>
            typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Literal),
        );
        random.pick(objects)[random.pick(KEYS)] = structuredOdd(random);
      },
  ),
  ({ json }, { random }) => {
    const lists = jsonPlaces(json)
      .map(({ holder, key }) => holder[key])
      .filter((value) => Array.isArray(value));
    if (lists.length === 0) return;
    const list = random.pick(lists);
    list.push(list.length > 0 && random.chance(0.5) ? random.pick(list) : structuredOdd(random));
  },
  (draft, { random, models }) => {
    const { name } = random.pick(models);
    draft.path = random.pick([
      '/v2/models/nope/infer',
      `/v2/models/${name}/infer`,
      `/v2/models/${name}/versions/2/infer`,
      `/v2/models/${name}/versions/01/infer`,
      `/v2/models/${name}/versions/0/infer`,
      `/v2/models/${name}/versions/99999999999999999999/infer`,
      `/v2/models/${name}/infer?x=1`,
      `/v2/models/${name}/infer/`,
      `/v2/models/${name}`,
    ]);
  },
  (draft, { random }) => {
    draft.headers[LENGTH] = random.pick(['0', '1', '-1', '99999', 'abc', '', '5x']);
  },
  (draft) => {
    delete draft.headers[LENGTH];
  },
  (draft, { random }) => {
    draft.headers['Content-Encoding'] = random.pick(['', 'identity', 'br', 'gzip']);
  },
  ({ tail }, { random }) => {
    const last = tail.pop() ?? Buffer.alloc(3, 1);
    tail.push(random.chance(0.5) ? last.subarray(1) : Buffer.concat([last, Buffer.from([0])]));
  },
  ({ tail }) => {
    tail.reverse();
  },
];

function structuredOdd(random: Random): Json {
  const value = random.pick(ODD);
  return value instanceof Literal ? value : structuredClone(value);
}
