import type { LoadOptions } from '../core/core.js';
import { type GraphNode, type NewNode, partsOf } from './dependency-graph.js';
import { openFiles } from './override-files.js';
import type { Repository, RepositoryContext, RepositorySource } from './repository.js';

/** `revision()` of a model's source; undefined when that says nothing of what was loaded, as files came with the load. */
export type Revision = string | undefined;

/** What became of reading one model. */
export interface Read {
  readonly name: string;
  /** What was known of it then. */
  readonly known: GraphNode | undefined;
  /** What a load has to start: undefined when that is what was started before, or there is a problem. */
  readonly opened: NewNode | undefined;
  /** Why it could not be read. */
  readonly problem?: unknown;
}

/** What reading needs to know of the models that were read before. */
export interface KnownModels {
  node(name: string): GraphNode | undefined;
  /** Whether it ended by itself, so that a load starts it anew. */
  isBroken(name: string): boolean;
}

/** Reads models for a load: those that are asked for and all that the ensembles among them are made of. */
export class Reader {
  readonly #repositories: readonly Repository[];
  readonly #context: RepositoryContext;

  constructor(repositories: readonly Repository[], context: RepositoryContext) {
    this.#repositories = repositories;
    this.#context = context;
  }

  /** @param asked - the options of each; what else is read comes without */
  async read(asked: ReadonlyMap<string, LoadOptions>, known: KnownModels): Promise<Read[]> {
    const found = new Map<string, Read>();
    for (let names = [...asked.keys()]; names.length > 0; ) {
      const reads = await Promise.all(names.map((name) => this.#readOne(name, asked.get(name), known)));
      for (const read of reads) found.set(read.name, read);
      const parts = reads.flatMap(({ opened, known: node }) => {
        const model = (opened ?? node)?.model;
        return model === undefined ? [] : partsOf(model.config);
      });
      names = [...new Set(parts)].filter((part) => !found.has(part));
    }
    return [...found.values()];
  }

  async #readOne(name: string, asked: LoadOptions | undefined, { node, isBroken }: KnownModels): Promise<Read> {
    const known = node(name);
    const explicit = asked !== undefined;
    const { config, files } = asked ?? {};
    try {
      if (files !== undefined && files.size > 0) {
        const model = await openFiles(name, { ...asked, files }, this.#context);
        return { name, known, opened: { name, model, revision: undefined, explicit } };
      }
      const source = sourceOf(name, this.#repositories);
      const revision = source.revision();
      // What a load brought stays while nothing has changed in the repository.
      if (config === undefined && known?.revision === revision && !isBroken(name)) {
        return { name, known, opened: undefined };
      }
      return { name, known, opened: { name, model: await source.open(config), revision, explicit } };
    } catch (problem) {
      return { name, known, opened: undefined, problem };
    }
  }
}

function sourceOf(name: string, repositories: readonly Repository[]): RepositorySource {
  const sources = repositories.flatMap((repository) => repository.find(name) ?? []);
  if (sources[0] === undefined) throw new Error('model not found in any model repository');
  if (sources.length > 1) throw new Error('not unique across all model repositories');
  return sources[0];
}
