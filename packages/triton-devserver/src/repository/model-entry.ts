import type { IndexEntry } from '../core/core.js';
import type { Runner, StartedModel } from '../core/runner.js';
import { notFound, unavailable } from '../status.js';
import { Turns } from '../turns.js';
import type { RepositoryModel } from './repository.js';

export type ModelState = 'LOADING' | 'READY' | 'UNLOADING' | 'UNAVAILABLE';

/** One version that was started. */
export interface RunningVersion {
  readonly runner: Runner;
  readonly instance: StartedModel;
}

/** One successful load. */
export interface LoadedModel {
  readonly model: RepositoryModel;
  readonly running: ReadonlyMap<number, RunningVersion>;
  /** Whether a version of it has ended by itself: another load then starts it anew. */
  broken: boolean;
}

interface VersionEntry {
  readonly state: ModelState;
  readonly reason: string;
  /** What serves it, while it is ready or unloading; what served it, when that has ended by itself. */
  readonly running?: RunningVersion;
}

/** What the server knows of one model: the states of its versions and what runs. */
export class ModelEntry {
  readonly name: string;
  loaded: LoadedModel | undefined;
  /** Undefined until a first load got as far as to its versions. */
  #versions: Map<number, VersionEntry> | undefined;
  /** What clients asked for: a real server loads and unloads a model one after the other (seen on 2.51). */
  readonly asked = new Turns();
  /** Its starts and ends, also those that other models bring. */
  readonly steps = new Turns();

  constructor(name: string) {
    this.name = name;
  }

  get known(): boolean {
    return this.#versions !== undefined;
  }

  /** Whether it has a version in whichever state. */
  get hasVersions(): boolean {
    return this.#versions !== undefined && this.#versions.size > 0;
  }

  /** Whether there is nothing to know of it: no load got as far as to its versions, and nothing is done to it. */
  get blank(): boolean {
    return !this.known && this.asked.idle && this.steps.idle;
  }

  /** Ready versions, in ascending order. */
  ready(): number[] {
    return this.#sorted().flatMap(([version, { state }]) => (state === 'READY' ? [version] : []));
  }

  /** Whether nothing is wrong: a version that was unloaded on purpose is not. */
  get healthy(): boolean {
    if (this.#versions === undefined) return true;
    const states = [...this.#versions.values()];
    return states.length > 0 && states.every(({ state, reason }) => state === 'READY' || reason === 'unloaded');
  }

  index(readyOnly: boolean): IndexEntry[] {
    if (this.#versions === undefined) return readyOnly ? [] : [{ name: this.name }];
    return this.#sorted()
      .filter(([, { state }]) => !readyOnly || state === 'READY')
      .map(([version, { state, reason }]) => ({
        name: this.name,
        version: String(version),
        state,
        ...(reason === '' ? {} : { reason }),
      }));
  }

  /**
   * What serves a version, or the newest one that is ready.
   *
   * @throws ServerError
   */
  find(version: bigint | undefined): RunningVersion {
    const request = `Request for unknown model: '${this.name}'`;
    if (version === undefined) {
      const newest = this.#newestReady();
      if (newest === undefined) throw notFound(`${request} has no available versions`);
      return newest;
    }
    const entry = this.#versions?.get(Number(version));
    if (entry === undefined) throw notFound(`${request} version ${version} is not found`);
    if (entry.state !== 'READY' || entry.running === undefined) {
      throw unavailable(`${request} version ${version} is not at ready state`);
    }
    return entry.running;
  }

  /** Without a list, as every request asks for it. */
  #newestReady(): RunningVersion | undefined {
    let newest = -1;
    let running: RunningVersion | undefined;
    for (const [version, entry] of this.#versions ?? []) {
      if (entry.state !== 'READY' || version < newest) continue;
      newest = version;
      running = entry.running;
    }
    return running;
  }

  set(version: number, state: ModelState, details: { reason?: string; running?: RunningVersion } = {}): void {
    this.#versions ??= new Map();
    this.#versions.set(version, { state, reason: '', ...details });
  }

  /** The model was read, and has no version to serve. */
  setEmpty(): void {
    this.#versions ??= new Map();
  }

  /** Says that a version has ended by itself, unless it was on its way out. */
  lose(version: number, running: RunningVersion, reason: string): void {
    const entry = this.#versions?.get(version);
    if (entry?.running !== running || entry.state !== 'READY') return;
    this.set(version, 'UNAVAILABLE', { reason, running });
    if (this.loaded?.running.get(version) === running) this.loaded.broken = true;
  }

  /** Says that a version ends or has ended, unless another load has taken its place. */
  leave(version: number, running: RunningVersion, state: 'UNLOADING' | 'UNAVAILABLE'): void {
    if (this.#versions?.get(version)?.running !== running) return;
    if (state === 'UNLOADING') this.set(version, state, { running });
    else this.set(version, state, { reason: 'unloaded' });
  }

  #sorted(): [number, VersionEntry][] {
    return [...(this.#versions ?? [])].sort(([a], [b]) => a - b);
  }
}
