import { metadataOf } from '../config/metadata.js';
import type { IndexEntry, LoadOptions, ModelMetadata, ModelStatistics } from '../core/core.js';
import type { MakeRunner, Runner } from '../core/runner.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { internal, invalid, type ServerError, unavailable } from '../status.js';
import { DependencyGraph, type GraphNode } from './dependency-graph.js';
import { startInOrder } from './dependency-order.js';
import type { Results } from './ensemble-parts.js';
import { ModelLifecycle } from './lifecycle.js';
import { pollFailure } from './load-failure.js';
import { ModelEntry } from './model-entry.js';
import { type KnownModels, type Read, Reader } from './reading.js';
import type { Repository, RepositoryContext } from './repository.js';
import { parseVersion } from './version-text.js';

export interface ModelManagerOptions {
  readonly repositories: readonly Repository[];
  readonly context: RepositoryContext;
  /** `explicit` lets clients load and unload; with `none` all there is is loaded at the start, and that is that. */
  readonly control: 'none' | 'explicit';
  /** Whether a model that failed to load, or is on its way, makes the server not ready. Default: true. */
  readonly strictReadiness?: boolean;
  readonly makeRunner: MakeRunner;
}

/** The models of a server: what is loaded, in which state, and how that changes. Texts are those of 2.51. */
export class ModelManager {
  readonly #options: ModelManagerOptions;
  readonly #reader: Reader;
  #graph = new DependencyGraph();
  /** Models that a load or an unload is about, and when it is over. */
  readonly #changing = new Map<string, Promise<void>>();
  readonly #lifecycle: ModelLifecycle;
  #starting: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ModelManagerOptions) {
    this.#options = options;
    this.#lifecycle = new ModelLifecycle(options.makeRunner);
    this.#reader = new Reader(options.repositories, options.context);
  }

  /**
   * Loads these, by default all there are in mode `none`, and none in mode `explicit`.
   *
   * @returns the errors of those that could not be loaded; rejects only when a repository can't be read
   */
  async start(names?: readonly string[]): Promise<ReadonlyMap<string, ServerError>> {
    const wanted = names ?? (this.#options.control === 'none' ? this.names() : []);
    const failures = this.#load(new Map(wanted.map((name) => [name, {}])));
    this.#starting = failures.catch(() => undefined);
    return failures;
  }

  /**
   * Loads a model, or loads it anew if it has changed or comes with a configuration. What runs goes on until the new one
   * is ready, and stays if that fails.
   *
   * @throws ServerError
   */
  async load(name: string, options: LoadOptions): Promise<void> {
    this.#checkControl();
    const failures = await this.#asked(name, () => this.#load(new Map([[name, options]])));
    const failure = failures.get(name);
    if (failure !== undefined) throw failure;
  }

  /**
   * Takes a model down: new requests are refused at once, those under way finish later. Resolves before that.
   *
   * @param dependents - also the models that only this ensemble needed
   * @throws ServerError
   */
  async unload(name: string, dependents: boolean): Promise<void> {
    this.#checkControl();
    const remove = () => this.#change((graph) => graph.remove([name], dependents));
    await this.#asked(name, async () => {
      while ((await remove()) === undefined);
    });
  }

  /** All that the repositories have. */
  names(): string[] {
    return [...new Set(this.#options.repositories.flatMap((repository) => repository.names()))].sort();
  }

  index(readyOnly: boolean): IndexEntry[] {
    return this.names().flatMap((name) => (this.#lifecycle.known(name) ?? new ModelEntry(name)).index(readyOnly));
  }

  /** Whether the server is ready, as far as its models are concerned. */
  get ready(): boolean {
    return this.#options.strictReadiness === false || this.#lifecycle.entries().every((entry) => entry.healthy);
  }

  /** See `ModelLifecycle.find`. */
  find(name: string, version: string): Runner {
    return this.#lifecycle.find(name, version);
  }

  /** @throws ServerError for what is no version's number */
  modelReady(name: string, version: string): boolean {
    parseVersion(version);
    try {
      this.find(name, version);
      return true;
    } catch {
      return false;
    }
  }

  config(name: string, version: string): ModelConfig {
    return this.find(name, version).config;
  }

  metadata(name: string, version: string): ModelMetadata {
    const runner = this.find(name, version);
    return metadataOf(runner.config, version === '' ? this.versions(name) : [runner.version]);
  }

  /** The ready versions of a model, in ascending order. */
  versions(name: string): number[] {
    return this.#lifecycle.versions(name);
  }

  /**
   * @param name - '' means all models, and `version` '' all versions
   * @throws ServerError
   */
  statistics(name: string, version: string): ModelStatistics[] {
    const wanted = parseVersion(version);
    if (name === '') return this.#lifecycle.names().flatMap((each) => this.#statistics(each, wanted));
    if (this.versions(name).length === 0) throw invalid(`requested model '${name}' is not available`);
    const found = this.#statistics(name, wanted);
    if (found.length === 0) throw invalid(`requested model version is not available for model '${name}'`);
    return found;
  }

  /** Everything that is ready. */
  runners(): Runner[] {
    return this.#lifecycle
      .entries()
      .flatMap((entry) => entry.ready().map((version) => entry.find(BigInt(version)).runner));
  }

  /** Takes all models down, as a server that ends does, and waits until their requests have finished. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#starting;
    // What is being loaded may bring others.
    while (this.#changing.size > 0 || this.#lifecycle.entries().some(({ asked }) => !asked.idle)) {
      const asked = this.#lifecycle.entries().map((entry) => entry.asked.run(() => undefined));
      await Promise.all([...asked, ...this.#changing.values()]);
    }
    this.#graph = new DependencyGraph();
    await Promise.all(this.#lifecycle.names().map((name) => this.#lifecycle.takeDown(name)));
    await this.#lifecycle.settled();
  }

  #statistics(name: string, version: bigint | undefined): ModelStatistics[] {
    const entry = this.#lifecycle.known(name);
    const wanted = entry?.ready().filter((each) => version === undefined || BigInt(each) === version);
    return wanted?.flatMap((each) => entry?.find(BigInt(each)).runner.statistics() ?? []) ?? [];
  }

  #checkControl(): void {
    if (this.#closed) throw unavailable('Server not ready');
    if (this.#options.control === 'explicit') return;
    throw unavailable('explicit model load / unload is not allowed if polling is enabled');
  }

  /** What is asked of one name is done one after the other, as a real server does it (seen on 2.51). */
  async #asked<T>(name: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#lifecycle.entry(name);
    try {
      return await entry.asked.run(work);
    } finally {
      this.#lifecycle.forget(entry);
    }
  }

  /** @returns why models were not loaded, by the names that were asked for */
  async #load(asked: ReadonlyMap<string, LoadOptions>): Promise<Map<string, ServerError>> {
    const known: KnownModels = {
      node: (name) => this.#graph.get(name),
      isBroken: (name) => this.#lifecycle.known(name)?.loaded?.broken === true,
    };
    for (;;) {
      const reads = await this.#reader.read(asked, known);
      const opened = reads.flatMap((read) => read.opened ?? []);
      const isLate = reads.some(({ name, known: node }) => !isSame(node, this.#graph.get(name)));
      const unchanged = reads.flatMap((read) => (read.opened === undefined && read.known ? read.name : []));
      const results = isLate
        ? undefined
        : await this.#change((graph) => ({ removed: [], affected: [...graph.put(opened), ...unchanged] }));
      if (results !== undefined) return this.#failures(asked.keys(), reads, results);
      // Another load or unload was about these: they are read again.
      for (const { model } of opened) await model.dispose?.();
    }
  }

  #failures(names: Iterable<string>, reads: readonly Read[], results: Results): Map<string, ServerError> {
    const unread = new Map(reads.flatMap((read) => ('problem' in read ? [[read.name, read.problem] as const] : [])));
    const failures = new Map<string, ServerError>();
    for (const name of names) {
      const failure = results.get(name);
      // One that could not be read is enough, even if it runs.
      const cause = [name, ...this.#graph.needs(name)].find((each) => unread.has(each));
      if (failure !== undefined) failures.set(name, failure.answer(name));
      else if (cause !== undefined) failures.set(name, pollFailure(name, unread.get(cause)));
      else if (!this.#lifecycle.entry(name).hasVersions)
        failures.set(name, internal(`failed to load '${name}', no version is available`));
    }
    return failures;
  }

  /**
   * Changes which models there are, and starts and takes down what that is about, side by side with changes that are about
   * others.
   *
   * @param apply - changes a copy of the graph; gives what it took out, and all that this is about
   * @returns undefined when it has to be asked again, as another change was about the same models
   */
  async #change(
    apply: (graph: DependencyGraph) => { removed: Iterable<string>; affected: Iterable<string> },
  ): Promise<Results | undefined> {
    const graph = this.#graph.copy();
    const { removed, affected } = apply(graph);
    const names = new Set(affected);
    const conflict = [...names].flatMap((name) => this.#changing.get(name) ?? [])[0];
    if (conflict !== undefined) {
      await conflict;
      return undefined;
    }
    const others = new Set(this.#changing.keys());
    this.#graph = graph.copy();
    const work = this.#work(graph, { removed, names, others });
    const over = work.then(
      () => undefined,
      () => undefined,
    );
    for (const name of names) this.#changing.set(name, over);
    return work;
  }

  async #work(
    graph: DependencyGraph,
    { removed, names, others }: { removed: Iterable<string>; names: Set<string>; others: Set<string> },
  ): Promise<Results> {
    try {
      for (const name of removed) await this.#lifecycle.takeDown(name);
      return await startInOrder(graph, others, this.#lifecycle);
    } finally {
      this.#graph.writeBack(graph, names);
      for (const name of names) this.#changing.delete(name);
    }
  }
}

/** Whether nothing came between: a model is what it was when it was read. */
function isSame(before: GraphNode | undefined, now: GraphNode | undefined): boolean {
  return before?.model === now?.model && before?.revision === now?.revision;
}
