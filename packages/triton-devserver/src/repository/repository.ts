import type { OpenedModel } from '../core/runner.js';

/** A model as its place has it at one load. */
export interface RepositoryModel extends OpenedModel {
  /** Frees what only this load needed, such as a temporary folder; after all of its versions have ended. */
  dispose?(): Promise<void>;
}

/** Where one model comes from. */
export interface RepositorySource {
  readonly name: string;
  /** Changes when the model's files do: a load of a model that runs and has not changed does nothing. */
  revision(): string;
  /**
   * Reads the model anew.
   *
   * @param config - JSON in place of the model's own configuration
   * @throws whatever is wrong; the client hears no more than that the model could not be polled
   */
  open(config: string | undefined): Promise<RepositoryModel>;
}

/** A place of models. Reading it blocks shortly. */
export interface Repository {
  /** Names of all there are, loaded or not. */
  names(): string[];
  find(name: string): RepositorySource | undefined;
}

/** What completing and reading configurations needs to know of the server. */
export interface RepositoryContext {
  /** Such as '2.51.0': which fields there are. */
  readonly serverVersion: string;
  /** See `CompletionContext`. */
  readonly gpus: number;
}
