import type { ModelInferRequest } from '../../../src/grpc/gen/grpc_service.js';
import type { Surroundings } from './grpc-requests.js';
import type { Draft } from './http-requests.js';
import { type Json, type JsonObject, jsonText } from './json.js';
import type { GeneratedModel } from './models.js';

/*
 * What real servers die of or never answer, which is left out of the comparison; docs/differences.md says why. Tests of
 * their own hold the devserver to what it does instead.
 */

export function isDeadlyGrpc(request: ModelInferRequest, around: Surroundings): boolean {
  const { inputs } = request;
  return (
    hasEmptyClasses(request, around) ||
    hasCutElement(request, around) ||
    inputs.some(({ shape }) => startsWithNothing(shape.map(Number)))
  );
}

/** Classification of an output of BYTES, or of one without elements, which is what an input without elements gives. */
function hasEmptyClasses({ inputs, outputs }: ModelInferRequest, { models }: Surroundings): boolean {
  const classified = outputs.filter(({ parameters }) => parameters.classification !== undefined);
  if (classified.length === 0) return false;
  const bytes = bytesOutputs(models);
  return classified.some(({ name }) => bytes.has(name)) || inputs.some(({ shape }) => shape.includes(0n));
}

/**
 * Of a batch of 0 the Python backend takes the next dimension for the size, and forgets the request where that is 0, too:
 * it is never answered, and its model never unloads.
 */
const startsWithNothing = ([batch, first]: readonly number[]) => batch === 0 && (first === 0 || first === undefined);

/** An element of BYTES that ends after its tensor: the Python backend of 2.48 never answers. */
function hasCutElement(request: ModelInferRequest, { version, models, shared }: Surroundings): boolean {
  if (version !== '2.48') return false;
  const bytes = bytesInputs(models.find(({ name }) => name === request.model_name));
  const raw = [...request.raw_input_contents];
  return request.inputs.some(({ name, parameters, contents }) => {
    const region = parameters.shared_memory_region?.string_param;
    if (region !== undefined) return bytes.has(name) && !shared.isZeros(region);
    const own = contents === undefined ? raw.shift() : undefined;
    return own !== undefined && bytes.has(name) && isCut(Buffer.from(own));
  });
}

function isCut(bytes: Buffer): boolean {
  let offset = 0;
  while (bytes.byteLength - offset >= 4) offset += 4 + bytes.readUInt32LE(offset);
  return offset > bytes.byteLength;
}

/** The same, for a request that may be any JSON: `changed` says that it need not fit its model. */
export function isDeadlyHttp(request: Draft & { readonly changed: boolean }, around: Surroundings): boolean {
  return (
    hasEmptyClassesInJson(request.json, around.models) ||
    mayHaveCutElement(request, around) ||
    wrapsToNothing(request.json) ||
    /"shape":\[-?0,(-?0|\[)/.test(jsonText(request.json))
  );
}

/**
 * A shape whose number of elements is 0 in 64 bits, of which the front end then takes no data: the Python backend's process
 * dies, and the model is not served any more.
 */
const wrapsToNothing = (json: Json) =>
  [...jsonText(json).matchAll(/"shape":\[([\d,]+)\]/g)].some(([, shape = '']) => {
    const count = shape.split(',').reduce((product, dimension) => product * BigInt(dimension || 1), 1n);
    return count !== 0n && BigInt.asUintN(64, count) === 0n;
  });

function hasEmptyClassesInJson(json: Json, models: readonly GeneratedModel[]): boolean {
  const outputs = (json as JsonObject)?.outputs;
  if (!Array.isArray(outputs)) return false;
  const classified = outputs.filter((output): output is JsonObject => {
    const { parameters } = (output ?? {}) as { parameters?: Json };
    return typeof parameters === 'object' && parameters !== null && 'classification' in parameters;
  });
  if (classified.length === 0) return false;
  const bytes = bytesOutputs(models);
  return (
    classified.some(({ name }) => typeof name === 'string' && bytes.has(name)) ||
    /"shape":\[([^\]]*,)?-?0[,\]]/.test(jsonText(json))
  );
}

function mayHaveCutElement(
  { path, json, tail, changed }: Draft & { readonly changed: boolean },
  { version, models, shared }: Surroundings,
): boolean {
  if (version !== '2.48') return false;
  const asked = models.find(({ name }) => path.startsWith(`/v2/models/${name}/`) || path === `/v2/models/${name}`);
  if (bytesInputs(asked).size === 0) return false;
  const regions = [...jsonText(json).matchAll(/"shared_memory_region":"([^"]*)"/g)].map(([, name = '']) => name);
  return (changed && tail.length > 0) || regions.some((name) => !shared.isZeros(name));
}

const bytesInputs = (model: GeneratedModel | undefined) =>
  new Set(model?.inputs.filter(({ datatype }) => datatype === 'BYTES').map(({ name }) => name));

const bytesOutputs = (models: readonly GeneratedModel[]) =>
  new Set(
    models.flatMap(({ outputs }) => outputs.filter(({ datatype }) => datatype === 'BYTES').map(({ name }) => name)),
  );
