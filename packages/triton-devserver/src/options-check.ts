import { statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { API_GROUPS, type RestrictedApis } from './api-groups.js';
import {
  checkFields,
  type Field,
  type Fields,
  FUNCTION,
  OBJECT,
  oneOf,
  optional,
  PATHS,
  PORT,
  required,
  TEXT,
  TEXTS,
  YES_OR_NO,
} from './fields.js';
import type { DevServerOptions, PlaceOption } from './options.js';
import { VERSIONS } from './personality.js';
import { isModelFolder } from './repository/folder.js';

const START = 'DevServer.start';

const REGEXP = (value: unknown) => (value instanceof RegExp ? undefined : 'a RegExp');
const PEM = (value: unknown) =>
  typeof value === 'string' || Buffer.isBuffer(value) ? undefined : 'PEM, as a string or a Buffer';

/** Where a server is, which its successor takes over. */
const PLACE: Readonly<Record<PlaceOption, Field>> = {
  host: optional(TEXT),
  grpcPort: optional(PORT),
  httpPort: optional(PORT),
  metricsPort: optional(PORT),
  grpcSocket: optional(TEXT),
  controlPort: optional(PORT),
};

const OTHERS: Readonly<Record<Exclude<keyof DevServerOptions, PlaceOption>, Field>> = {
  models: optional(OBJECT),
  modelRepository: optional(PATHS),
  version: optional(oneOf(VERSIONS)),
  modelControl: optional(oneOf(['none', 'explicit'])),
  loadModels: optional(TEXTS),
  metrics: optional(YES_OR_NO),
  tls: optional(OBJECT),
  exitOnError: optional(YES_OR_NO),
  strictReadiness: optional(YES_OR_NO),
  forwardHeaders: optional((value) =>
    value instanceof RegExp || OBJECT(value) === undefined ? undefined : 'a RegExp, or one for each protocol',
  ),
  restricted: optional((value) => (Array.isArray(value) ? undefined : 'a list of rules')),
  allowClientShm: optional(YES_OR_NO),
  gpuUuids: optional(TEXTS),
  tracing: optional(YES_OR_NO),
  exitTimeoutMs: optional((value) =>
    typeof value === 'number' && value >= 0 ? undefined : 'a number of milliseconds from 0',
  ),
};

const TLS: Fields = { cert: required(PEM), key: required(PEM), clientCa: optional(PEM) };
const FORWARDED: Fields = { grpc: optional(REGEXP), http: optional(REGEXP) };
const RULE: Fields = {
  apis: required(TEXTS),
  header: required(TEXT),
  value: required(TEXT),
  protocol: optional(oneOf(['grpc', 'http'])),
};
const MODEL: Fields = {
  config: optional(OBJECT),
  execute: optional(FUNCTION),
  executeBatch: optional(FUNCTION),
  executeDecoupled: optional(FUNCTION),
  create: optional(FUNCTION),
  onnx: optional(TEXT),
  labels: optional(OBJECT),
  versions: optional((value) =>
    Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each > 0)
      ? undefined
      : 'a list of whole numbers from 1',
  ),
};

/**
 * Checks what a server is started with, which may come from JavaScript.
 *
 * @throws TypeError, one sentence that says what to do
 */
export function checkOptions(options: unknown): asserts options is DevServerOptions {
  checkFields(START, options, { ...PLACE, ...OTHERS });
  const { models = {}, modelRepository = [], tls, forwardHeaders, restricted = [] } = options as DevServerOptions;
  const { modelControl = 'none', loadModels = [] } = options as DevServerOptions;
  for (const [name, model] of Object.entries(models)) checkFields(`The model '${name}'`, model, MODEL, true);
  for (const path of [modelRepository].flat()) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new TypeError(`${START}: 'modelRepository' takes folders, and '${path}' is none`);
    }
    if (isModelFolder(path)) {
      throw new TypeError(`${START}: 'modelRepository' takes folders of models, and '${path}' is a model's own`);
    }
  }
  if (loadModels.length > 0 && modelControl !== 'explicit') {
    throw new TypeError(`${START}: 'loadModels' needs modelControl: 'explicit'`);
  }
  if (tls !== undefined) checkTls(tls);
  if (forwardHeaders !== undefined && !(forwardHeaders instanceof RegExp)) {
    checkFields("The option 'forwardHeaders'", forwardHeaders, FORWARDED);
  }
  checkRestricted(restricted);
}

/** @throws TypeError for what a replacement can't change */
export function checkReplacement(options: unknown): void {
  checkFields('replace', options, OTHERS);
}

function checkTls(tls: NonNullable<DevServerOptions['tls']>): void {
  checkFields("The option 'tls'", tls, TLS);
  const { cert, key, clientCa } = tls;
  try {
    createSecureContext({ cert, key, ...(clientCa === undefined ? {} : { ca: clientCa }) });
  } catch (error) {
    throw new TypeError(`The option 'tls' can't be used: ${(error as Error).message}`, { cause: error });
  }
}

/** As a real server's start, which refuses an API that is in two rules of one protocol. */
function checkRestricted(rules: readonly RestrictedApis[]): void {
  const seen = new Set<string>();
  for (const rule of rules) {
    checkFields("A rule of 'restricted'", rule, RULE);
    for (const api of rule.apis) {
      const expected = oneOf(API_GROUPS)(api);
      if (expected !== undefined)
        throw new TypeError(`A rule of 'restricted': 'apis' has '${api}', and takes ${expected}`);
      for (const protocol of rule.protocol === undefined ? ['grpc', 'http'] : [rule.protocol]) {
        if (seen.has(`${protocol} ${api}`)) throw new TypeError(`'${api}' is in two rules of 'restricted'`);
        seen.add(`${protocol} ${api}`);
      }
    }
  }
}
