import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ModelConfigJson } from '../config/model-config-json.js';
import type { ModelConfig } from '../grpc/gen/types/model_config.js';
import type { Execute, ExecuteBatch, ExecuteDecoupled, ModelInstance } from '../model.js';
import { isFile } from './files.js';
import { syntaxPlace } from './syntax-place.js';

/** Makes the code of one version of a model, such as one that loads weights first. */
export type CreateModel = (config: ModelConfig, version: number) => ModelInstance | Promise<ModelInstance>;

/** What a model is made of in code: one of these. */
export interface ModelCode {
  readonly execute?: Execute;
  readonly executeBatch?: ExecuteBatch;
  readonly executeDecoupled?: ExecuteDecoupled;
  readonly create?: CreateModel;
}

/** The namespace of a model's module. */
export type ModelModule = Readonly<Record<string, unknown>>;

/** What of an instance runs requests. */
const RUNS = ['execute', 'executeBatch', 'executeDecoupled'] as const;
const FILENAMES = ['model.mjs', 'model.js', 'model.cjs'];

/** The JavaScript of a version's folder: the file that the configuration names, if it is one, or one of the usual names. */
export function moduleFile(folder: string, config: ModelConfig): string | undefined {
  const own = /\.[cm]?js$/.test(config.default_model_filename) ? [config.default_model_filename] : [];
  return [...own, ...FILENAMES].map((name) => join(folder, name)).find(isFile);
}

const { cache } = createRequire(import.meta.url);
let imports = 0;

/**
 * Imports a file anew, whatever an earlier import of it gave. Modules that it imports itself are those of before. Each
 * import stays in memory, as JavaScript has no way to forget a module. A SyntaxError says where it is.
 */
export async function importAnew(file: string): Promise<ModelModule> {
  // A CommonJS module is kept under its path, whatever the query.
  delete cache[file];
  imports++;
  try {
    return (await import(`${pathToFileURL(file).href}?load=${imports}`)) as ModelModule;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SyntaxError(`${error.message}, at ${await syntaxPlace(file, error)}`, { cause: error });
  }
}

/** The configuration that a module exports, for a folder without a config.pbtxt. */
export function moduleConfig(module: ModelModule): ModelConfigJson | undefined {
  return (module.config ?? objectIn(module.default)?.config) as ModelConfigJson | undefined;
}

/**
 * The model in a module. Its exports `create`, `execute`, `executeBatch` and `executeDecoupled` may be named ones or be those of the default
 * export. A default export that is a function is `create` if that is its name; else it is what runs a request:
 * `executeDecoupled` when the configuration says that the model is decoupled, or `execute`.
 */
export function moduleInstance(module: ModelModule, config: ModelConfig, version: number): Promise<ModelInstance> {
  const main = module.default;
  if (typeof main === 'function') {
    if (main.name === 'create') return codeInstance({ create: main as CreateModel }, config, version);
    const decoupled = config.model_transaction_policy?.decoupled === true;
    return codeInstance({ [decoupled ? 'executeDecoupled' : 'execute']: main }, config, version);
  }
  const owner = [module, objectIn(main)].find(
    (candidate) => candidate !== undefined && [...RUNS, 'create'].some((name) => typeof candidate[name] === 'function'),
  );
  if (owner === undefined) throw new TypeError(`the module exports none of ${RUNS.join(', ')} and create`);
  return codeInstance(owner, config, version);
}

/**
 * The model that code makes; an object that is an instance already stays itself, with its `close`.
 *
 * @throws TypeError for code that can't answer a request of this configuration; what `create` throws
 */
export async function codeInstance(code: ModelCode, config: ModelConfig, version: number): Promise<ModelInstance> {
  if (code.create === undefined) return runnable(code, config);
  const instance: unknown = await code.create(config, version);
  const made = objectIn(instance);
  if (made === undefined || !RUNS.some((name) => typeof made[name] === 'function')) {
    throw new TypeError(`create() must give an object with ${RUNS.join(' or ')}`);
  }
  return runnable(made, config);
}

/** What runs a request has to fit the configuration: a model that is not decoupled has one answer to each. */
function runnable(instance: ModelInstance, config: ModelConfig): ModelInstance {
  const decoupled = config.model_transaction_policy?.decoupled === true;
  const { execute, executeBatch, executeDecoupled } = instance;
  if (!decoupled && (execute ?? executeBatch) === undefined) {
    throw new TypeError(
      'the model has executeDecoupled and no execute, but its configuration lacks ' +
        'model_transaction_policy { decoupled: true }',
    );
  }
  if (decoupled && (execute ?? executeDecoupled) === undefined) {
    throw new TypeError('the model has executeBatch alone, which a decoupled one can not have');
  }
  return instance;
}

function objectIn(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
