import { completeFromOnnx } from '../backends/onnx/complete.js';
import { OnnxModel } from '../backends/onnx/model.js';
import { checkConfig, checkStart } from '../config/check.js';
import { completeConfig, isEnsemble } from '../config/complete.js';
import { configFromJson, parseConfigJson } from '../config/from-json.js';
import type { ModelConfigJson } from '../config/model-config-json.js';
import { internal } from '../status.js';
import { codeInstance, type ModelCode } from './model-module.js';
import type { Repository, RepositoryContext, RepositoryModel, RepositorySource } from './repository.js';
import { servedVersions } from './versions.js';

/** A model that is given in code: one of `execute`, `executeBatch`, `executeDecoupled`, `create` and `onnx`, unless it is an ensemble. */
export interface ModelDefinition extends ModelCode {
  /** The JSON form of config.pbtxt; completed as a server does. */
  readonly config?: ModelConfigJson;
  /** An ONNX file's path, in place of code; tensors that `config` does not name are the file's own. */
  readonly onnx?: string;
  /** For classification: an output's labels by its name. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Which versions there are; the version policy says which of them are served. Default: 1. */
  readonly versions?: readonly number[];
}

/** Models given in code, by name. */
export class CodeRepository implements Repository {
  readonly #models: Readonly<Record<string, ModelDefinition>>;
  readonly #context: RepositoryContext;

  constructor(models: Readonly<Record<string, ModelDefinition>>, context: RepositoryContext) {
    this.#models = models;
    this.#context = context;
  }

  names(): string[] {
    return Object.keys(this.#models).sort();
  }

  find(name: string): RepositorySource | undefined {
    const definition = Object.hasOwn(this.#models, name) ? this.#models[name] : undefined;
    return definition && new CodeModel(name, definition, this.#context);
  }
}

class CodeModel implements RepositorySource {
  readonly name: string;
  readonly #definition: ModelDefinition;
  readonly #context: RepositoryContext;

  constructor(name: string, definition: ModelDefinition, context: RepositoryContext) {
    this.name = name;
    this.#definition = definition;
    this.#context = context;
  }

  revision(): string {
    return '';
  }

  open(override: string | undefined): Promise<RepositoryModel> {
    return this.#open(override);
  }

  async #open(override: string | undefined): Promise<RepositoryModel> {
    const { serverVersion, gpus } = this.#context;
    const definition = this.#definition;
    const { config: given = {}, labels = {}, versions = [1] } = definition;
    const config =
      override === undefined ? configFromJson(given, serverVersion) : parseConfigJson(override, serverVersion);
    const { onnx } = definition;
    const unfit =
      onnx === undefined ? undefined : await completeFromOnnx(config, onnx, { name: this.name, serverVersion });
    completeConfig(config, { name: this.name, gpus });
    checkConfig(config, this.name);
    return {
      config,
      versions: servedVersions(config, versions),
      labels: new Map(Object.entries(labels)),
      warmUpFile: (file) => {
        throw internal(`failed to open text file for read ${file}: a model in code has no folder`);
      },
      start: async (version) => {
        if (isEnsemble(config)) return {};
        if (unfit !== undefined) throw unfit;
        checkStart(config, gpus);
        checkCode(definition);
        if (onnx !== undefined) return OnnxModel.open(onnx, config);
        return codeInstance(definition, config, version);
      },
    };
  }
}

/** What runs: the code, or the file. */
function checkCode({ execute, executeBatch, executeDecoupled, create, onnx }: ModelDefinition): void {
  const code = { 'an execute function': execute ?? executeBatch ?? executeDecoupled, create, onnx };
  const given = Object.entries(code).filter(([, value]) => value !== undefined);
  if (given.length === 0)
    throw new TypeError('the model has none of execute, executeBatch, executeDecoupled, create and onnx');
  const names = given.map(([name]) => name).join(' and ');
  if (given.length > 1) throw new TypeError(`the model has ${names}: give it one of them`);
}
