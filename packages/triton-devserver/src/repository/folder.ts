import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { completeFromOnnx } from '../backends/onnx/complete.js';
import { OnnxModel } from '../backends/onnx/model.js';
import { checkConfig, checkStart } from '../config/check.js';
import { completeConfig, isEnsemble } from '../config/complete.js';
import { ConfigError } from '../config/config-error.js';
import { configFromJson, parseConfigJson } from '../config/from-json.js';
import { parseTextFormat } from '../config/text-format.js';
import type { StartedModel } from '../core/runner.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { invalid, type ServerError } from '../status.js';
import { foldersIn, isFile, readText, revisionOf } from './files.js';
import { readLabels } from './labels.js';
import { readModelFile } from './model-file.js';
import { importAnew, type ModelModule, moduleConfig, moduleFile, moduleInstance } from './model-module.js';
import type { Repository, RepositoryContext, RepositoryModel, RepositorySource } from './repository.js';
import { servedVersions } from './versions.js';

const CONFIG = 'config.pbtxt';

/** A folder of model folders, as a Triton server's `--model-repository`; read anew each time. */
export class FolderRepository implements Repository {
  readonly #path: string;
  readonly #context: RepositoryContext;

  constructor(path: string, context: RepositoryContext) {
    this.#path = path;
    this.#context = context;
  }

  names(): string[] {
    return foldersIn(this.#path);
  }

  find(name: string): RepositorySource | undefined {
    return this.names().includes(name) ? new FolderModel(name, join(this.#path, name), this.#context) : undefined;
  }
}

/**
 * A model's folder: `config.pbtxt`, a folder for each version with `model.mjs`, `model.js` or `model.onnx`, and
 * files of labels.
 * Whichever JavaScript there is runs, whatever `backend` says, so that a copy of a Python model's folder keeps its
 * configuration.
 */
export class FolderModel implements RepositorySource {
  readonly name: string;
  readonly #path: string;
  readonly #context: RepositoryContext;

  constructor(name: string, path: string, context: RepositoryContext) {
    this.name = name;
    this.#path = path;
    this.#context = context;
  }

  revision(): string {
    return revisionOf(this.#path);
  }

  async open(override: string | undefined): Promise<RepositoryModel> {
    const present = foldersIn(this.#path).filter((folder) => /^\d+$/.test(folder));
    const numbers = present.map(Number);
    const loaded = new Map<number, ModelModule>();
    const config = await this.#config(override, numbers, loaded);
    this.#checkBackend(config, present);
    const onnx = numbers.length === 0 ? undefined : this.#onnxFile(Math.max(...numbers), config);
    const { serverVersion, gpus } = this.#context;
    const unfit =
      onnx === undefined ? undefined : await completeFromOnnx(config, onnx, { name: this.name, serverVersion });
    completeConfig(config, { name: this.name, gpus });
    checkConfig(config, this.name);
    const { labels, problem } = this.#labels(config);
    return {
      config,
      versions: servedVersions(config, numbers),
      labels,
      warmUpFile: (file) => readModelFile(join(this.#path, 'warmup', file)),
      start: async (version) => {
        if (isEnsemble(config)) return {};
        if (unfit !== undefined) throw unfit;
        if (problem !== undefined) throw problem;
        checkStart(config, gpus);
        const early = loaded.get(version);
        loaded.delete(version);
        return this.#start(config, version, early);
      },
    };
  }

  /** A backend that is not named follows from a file `model.<backend>`; the words are those in the log of 2.51. */
  #checkBackend({ backend, platform, default_model_filename: file }: ModelConfig, versions: readonly string[]): void {
    if (backend !== '' || platform !== '' || file !== '' || versions.length === 0) return;
    const hasModel = (version: string) => readdirSync(join(this.#path, version)).some((name) => /^model\../.test(name));
    if (versions.some(hasModel)) return;
    const why = `Could not determine backend for model '${this.name}' with no backend in model configuration`;
    throw new ConfigError('', `Invalid model name: ${why}. Expected model name of the form 'model.<backend_name>'.`);
  }

  /** The model's own configuration, as it was written; without a file it is what the newest version's module exports. */
  async #config(
    override: string | undefined,
    versions: readonly number[],
    loaded: Map<number, ModelModule>,
  ): Promise<ModelConfig> {
    const { serverVersion } = this.#context;
    if (override !== undefined) return parseConfigJson(override, serverVersion);
    const text = readText(join(this.#path, CONFIG));
    if (text !== undefined) return parseTextFormat(text, serverVersion);
    const empty = configFromJson({}, serverVersion);
    const newest = Math.max(...versions);
    const file = versions.length === 0 ? undefined : moduleFile(this.#versionPath(newest), empty);
    if (file === undefined && versions.length > 0 && this.#onnxFile(newest, empty) !== undefined) return empty;
    if (file === undefined)
      throw invalid(`model '${this.name}' has neither ${CONFIG} nor a module that exports its config`);
    try {
      const module = await importAnew(file);
      loaded.set(newest, module);
      return configFromJson(moduleConfig(module) ?? {}, serverVersion);
    } catch (error) {
      // A module that fails says so when its version starts, which is where the client hears of it.
      if (loaded.size === 0) return empty;
      throw error;
    }
  }

  #labels(config: ModelConfig): { labels: ReadonlyMap<string, readonly string[]>; problem?: ServerError } {
    try {
      return { labels: readLabels(this.#path, config) };
    } catch (error) {
      return { labels: new Map(), problem: error as ServerError };
    }
  }

  async #start(config: ModelConfig, version: number, early: ModelModule | undefined): Promise<StartedModel> {
    if (early !== undefined) return moduleInstance(early, config, version);
    const folder = this.#versionPath(version);
    const file = moduleFile(folder, config);
    const onnx = this.#onnxFile(version, config);
    if (onnx !== undefined) return OnnxModel.open(onnx, config);
    if (file === undefined) throw invalid(`there is no model.mjs, model.js or model.onnx in ${folder}`);
    return moduleInstance(await importAnew(file), config, version);
  }

  /** The ONNX file of a version that has no JavaScript; a folder in its place has it as `model.onnx`. */
  #onnxFile(version: number, config: ModelConfig): string | undefined {
    const folder = this.#versionPath(version);
    if (moduleFile(folder, config) !== undefined) return undefined;
    const name = config.default_model_filename.endsWith('.onnx') ? config.default_model_filename : 'model.onnx';
    const path = join(folder, name);
    return [path, join(path, 'model.onnx')].find(isFile);
  }

  /** The folder of a version; its name may have leading zeros. */
  #versionPath(version: number): string {
    const name = foldersIn(this.#path).find((folder) => /^\d+$/.test(folder) && Number(folder) === version);
    return join(this.#path, name ?? String(version));
  }
}

/** Whether a path is the folder of one model, which is easily taken for one of models. */
export function isModelFolder(path: string): boolean {
  const versions = foldersIn(path).filter((name) => /^\d+$/.test(name));
  return versions.some((version) => {
    const files = readdirSync(join(path, version));
    return !files.includes(CONFIG) && files.some((file) => file.startsWith('model.'));
  });
}
