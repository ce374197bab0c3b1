import type { MakeRunner, Runner } from '../core/runner.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { notFound } from '../status.js';
import type { Lifecycle } from './dependency-order.js';
import { LoadFailure } from './load-failure.js';
import { type LoadedModel, ModelEntry } from './model-entry.js';
import type { RepositoryModel } from './repository.js';
import { Retirement } from './retirement.js';
import { startVersions } from './start-versions.js';
import { parseVersion } from './version-text.js';

/** What runs, and in which state it is; whatever brought it. */
export class ModelLifecycle implements Lifecycle {
  readonly #makeRunner: MakeRunner;
  readonly #entries = new Map<string, ModelEntry>();
  readonly #retirement = new Retirement();

  constructor(makeRunner: MakeRunner) {
    this.#makeRunner = makeRunner;
  }

  /** In alphabetical order. */
  names(): string[] {
    return [...this.#entries.keys()].sort();
  }

  entries(): ModelEntry[] {
    return [...this.#entries.values()];
  }

  known(name: string): ModelEntry | undefined {
    return this.#entries.get(name);
  }

  /** What is known of a model; of one that is not yet, nothing. */
  entry(name: string): ModelEntry {
    const entry = this.#entries.get(name) ?? new ModelEntry(name);
    this.#entries.set(name, entry);
    return entry;
  }

  /** Clients may ask for any name: those that are none leave nothing. */
  forget(entry: ModelEntry): void {
    if (entry.blank) this.#entries.delete(entry.name);
  }

  /**
   * What serves a version of a model; '' means the newest that is ready.
   *
   * @throws ServerError
   */
  find(name: string, version: string): Runner {
    const wanted = parseVersion(version);
    const entry = this.known(name);
    if (entry?.known !== true) {
      throw notFound(`Request for unknown model: '${name}' is not found`);
    }
    return entry.find(wanted).runner;
  }

  /** The ready versions of a model, in ascending order. */
  versions(name: string): number[] {
    return this.known(name)?.ready() ?? [];
  }

  config(name: string): ModelConfig {
    return this.find(name, '').config;
  }

  /** Starts all versions in the place of what runs. @throws LoadFailure, and leaves what runs */
  start(name: string, model: RepositoryModel): Promise<void> {
    const entry = this.entry(name);
    return entry.steps.run(() => this.#startVersions(entry, model));
  }

  /** Resolves when nothing is ending any more. */
  settled(): Promise<void> {
    return this.#retirement.settled();
  }

  /** Starts all versions and puts them in the place of what runs; with one that fails, none is. */
  async #startVersions(entry: ModelEntry, model: RepositoryModel): Promise<void> {
    const { name, loaded: old } = entry;
    if (model.versions.length === 0) {
      entry.setEmpty();
      await model.dispose?.();
      throw new LoadFailure(`at least one version must be available under the version policy of model '${name}'`);
    }
    if (old === undefined) for (const version of model.versions) entry.set(version, 'LOADING');
    const { running, failed } = await startVersions(model, this.#makeRunner);
    const started: LoadedModel = { model, running, broken: false };
    if (failed.size > 0) {
      if (old === undefined) {
        for (const [version, reason] of failed) entry.set(version, 'UNAVAILABLE', { reason });
        for (const [version, each] of running) entry.set(version, 'READY', { running: each });
      }
      this.#retirement.add(entry, started);
      throw LoadFailure.ofVersions(failed);
    }
    for (const [version, each] of running) entry.set(version, 'READY', { running: each });
    entry.loaded = started;
    for (const [version, each] of running) {
      void each.instance.lost?.then((reason) => entry.lose(version, each, reason));
    }
    if (old !== undefined) this.#retirement.add(entry, old);
  }

  /** Takes a model down, if it runs; what it answers just now ends later. */
  async takeDown(name: string): Promise<void> {
    const entry = this.entry(name);
    await entry.steps.run(() => {
      const { loaded } = entry;
      entry.loaded = undefined;
      if (loaded !== undefined) this.#retirement.add(entry, loaded);
    });
    this.forget(entry);
  }
}
