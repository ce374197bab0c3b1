import { configToJson } from '../config/to-json.js';
import type { Core, Duration, ModelStatistics } from '../core/core.js';
import { internal, invalid, unsupported } from '../status.js';
import type { HttpRequest } from './exchange.js';
import { readJson } from './json-reader.js';
import { asBoolean, asText, asUnsigned, type Json, JsonObject, member, needed } from './json-value.js';
import type { Answer } from './json-writer.js';
import { DONE, HEALTHY, JSON_TYPE, jsonReply, plainReply, type Reply } from './reply.js';
import type { Route } from './routes.js';
import { changesOf } from './settings-json.js';

type Of<Name extends Route['name']> = Extract<Route, { name: Name }>;
type Control = Exclude<Route['name'], 'infer' | 'generate' | 'generate-stream'>;

/** Everything but inference. Handlers throw ServerErrors, which the caller answers with. */
export async function control(
  route: Extract<Route, { name: Control }>,
  request: HttpRequest,
  core: Core,
): Promise<Reply> {
  switch (route.name) {
    case 'health':
      // A 400 without a word (seen on 2.51).
      return (route.what === 'live' ? core.live() : core.ready()) ? HEALTHY : { status: 400, body: [] };
    case 'model-ready':
      return core.modelReady(route.model, route.version) ? HEALTHY : plainReply(400, 'Model version not ready');
    case 'server-metadata':
      return jsonReply({
        name: core.serverName,
        version: core.personality.serverVersion,
        extensions: core.extensions,
      });
    case 'model-metadata': {
      const { name, versions, platform, inputs, outputs } = core.modelMetadata(route.model, route.version);
      const tensors = (list: typeof inputs) => list.map(({ name, datatype, shape }) => ({ name, datatype, shape }));
      return jsonReply({ name, versions, platform, inputs: tensors(inputs), outputs: tensors(outputs) });
    }
    case 'model-config': {
      const config = core.modelConfig(route.model, route.version);
      const json = configToJson(config, core.personality.serverVersion);
      return { status: 200, contentType: JSON_TYPE, body: [Buffer.from(json, 'utf8')] };
    }
    case 'statistics':
      return jsonReply({ model_stats: core.modelStatistics(route.model, route.version).map(statisticsAnswer) });
    case 'index':
      return index(request, core);
    case 'load':
    case 'unload':
      return repository(route, request, core);
    case 'region-status':
      return regionStatus(route, core);
    case 'region-register':
      return register(route, request, core);
    case 'region-unregister':
      if (route.kind === 'system') core.regions.unregisterSystem(route.region);
      else await core.regions.unregisterCuda(route.region);
      return DONE;
    case 'trace':
      return trace(route, request, core);
    case 'logging': {
      const changes = request.method === 'POST' ? changesOf(readJson(request.body)) : {};
      return jsonReply(core.logSettings(changes, 'http'));
    }
  }
}

function statisticsAnswer(statistics: ModelStatistics): Answer {
  const { name, version, lastInference, inferenceCount, executionCount, inference, batches } = statistics;
  const duration = ({ count, ns }: Duration) => ({ count, ns });
  return {
    name,
    version,
    last_inference: lastInference,
    inference_count: inferenceCount,
    execution_count: executionCount,
    inference_stats: {
      success: duration(inference.success),
      fail: duration(inference.fail),
      queue: duration(inference.queue),
      compute_input: duration(inference.compute_input),
      compute_infer: duration(inference.compute_infer),
      compute_output: duration(inference.compute_output),
      cache_hit: duration(inference.cache_hit),
      cache_miss: duration(inference.cache_miss),
    },
    response_stats: {},
    batch_stats: batches.map(({ batchSize, computeInput, computeInfer, computeOutput }) => ({
      batch_size: batchSize,
      compute_input: duration(computeInput),
      compute_infer: duration(computeInfer),
      compute_output: duration(computeOutput),
    })),
    memory_usage: [],
  };
}

/** An empty body is as good as an empty object here. */
function optionalJson(body: Buffer): Json | undefined {
  return body.byteLength === 0 ? undefined : readJson(body);
}

function index({ body }: HttpRequest, core: Core): Reply {
  const ready = member(optionalJson(body), 'ready');
  const entries = core.repositoryIndex(ready !== undefined && asBoolean(ready));
  return jsonReply(
    entries.map(({ name, version, state, reason }) => ({
      name,
      version,
      state,
      reason: reason === '' ? undefined : reason,
    })),
  );
}

async function repository(route: Of<'load' | 'unload'>, { body }: HttpRequest, core: Core): Promise<Reply> {
  if (route.repository !== undefined) throw unsupported("'repository_name' specification is not supported");
  if (route.name === 'load') {
    await core.load(route.model, loadOptions(member(optionalJson(body), 'parameters')));
  } else {
    await core.unload(route.model, unloadsDependents(body));
  }
  return DONE;
}

/** Whatever is wrong with an unload's body is passed over (seen on 2.51). */
function unloadsDependents(body: Buffer): boolean {
  try {
    return member(member(optionalJson(body), 'parameters'), 'unload_dependents') === true;
  } catch {
    return false;
  }
}

function loadOptions(parameters: Json | undefined) {
  if (parameters === undefined) return {};
  if (!(parameters instanceof JsonObject)) throw internal('attempt to get members for non-object');
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, json] of parameters.members) {
    const value = asText(json);
    if (name === 'config') config = value;
    else if (name.startsWith('file:')) files.set(name.slice('file:'.length), Buffer.from(value, 'base64'));
    else throw internal('unexpected error on creating Triton parameter');
  }
  return { ...(config !== undefined && { config }), ...(files.size > 0 && { files }) };
}

function regionStatus({ kind, region }: Of<'region-status'>, core: Core): Reply {
  if (kind === 'system') {
    return jsonReply(
      core.regions
        .systemStatus(region)
        .map(({ name, key, offset, byteSize }) => ({ name, key, offset, byte_size: byteSize })),
    );
  }
  return jsonReply(
    core.regions
      .cudaStatus(region)
      .map(({ name, deviceId, byteSize }) => ({ name, device_id: deviceId, byte_size: byteSize })),
  );
}

const HANDLE_BYTES = 64;

async function register({ kind, region }: Of<'region-register'>, { body }: HttpRequest, core: Core): Promise<Reply> {
  if (region === '') throw invalid(`'region name' is necessary to register ${kind} shared memory region`);
  const json = readJson(body);
  const lacks = (field: string) => invalid(`Shared memory register request has no '${field}' field`);
  if (kind === 'system') {
    const keyJson = member(json, 'key');
    if (keyJson === undefined) throw lacks('key');
    const key = asText(keyJson);
    const offsetJson = member(json, 'offset');
    const offset = offsetJson === undefined ? 0n : asUnsigned(offsetJson);
    const sizeJson = member(json, 'byte_size');
    if (sizeJson === undefined) throw lacks('byte_size');
    await core.regions.registerSystem({ name: region, key, offset, byteSize: asUnsigned(sizeJson) });
    return DONE;
  }
  const handleJson = member(json, 'raw_handle');
  if (handleJson === undefined) throw lacks('raw_handle');
  const base64 = asText(needed(handleJson, 'b64'));
  const byteSize = asUnsigned(needed(json, 'byte_size'));
  const deviceId = asUnsigned(needed(json, 'device_id'));
  const rawHandle = Buffer.from(base64, 'base64');
  if (rawHandle.byteLength !== HANDLE_BYTES) {
    throw invalid("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
  }
  await core.regions.registerCuda({ name: region, rawHandle, deviceId, byteSize });
  return DONE;
}

function trace({ model }: Of<'trace'>, { method, body }: HttpRequest, core: Core): Reply {
  // An unknown model is told before the body is looked at.
  let settings = core.traceSettings(model, undefined, 'http');
  if (method === 'POST') settings = core.traceSettings(model, changesOf(readJson(body)), 'http');
  return jsonReply(
    Object.fromEntries(
      Object.entries(settings).map(([name, values]) => [name, name === 'trace_level' ? values : (values[0] ?? '')]),
    ),
  );
}
