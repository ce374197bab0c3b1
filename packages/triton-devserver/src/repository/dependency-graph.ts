import type { ModelConfig } from '../grpc/gen/model_config.js';
import { LoadFailure } from './load-failure.js';
import type { Revision } from './reading.js';
import type { RepositoryModel } from './repository.js';

/** A model that was read, from then until it is unloaded: also one that does not run. */
export interface GraphNode {
  readonly name: string;
  /** As it was read last. An ensemble is started from it again when one of its parts has changed. */
  readonly model: RepositoryModel;
  /** See `partsOf`. */
  readonly parts: readonly string[];
  /** What a later load is held against; that of the load before where this one failed. */
  revision: Revision;
  readonly previous: Revision;
  /** Whether a client named it, and so not only an ensemble that it is a part of. */
  readonly explicit: boolean;
  /** Why it can't be loaded: what is wrong with an ensemble or its parts. */
  problem: LoadFailure | undefined;
  /** Whether it was started, or found to have a problem, since it or a part of it changed. */
  checked: boolean;
}

/** A model that was read anew. */
export type NewNode = Pick<GraphNode, 'name' | 'model' | 'revision' | 'explicit'>;

/**
 * The models that were read and which of them an ensemble needs, as the core of a real server has them
 * (model_repository_manager.cc of 2.51). A load or an unload works on a copy of its own, of which only what it was about is
 * written back: the ensembles above that stay unchecked, and the next load or unload of any model starts them again.
 */
export class DependencyGraph {
  readonly #nodes: Map<string, GraphNode>;

  constructor(nodes: Iterable<readonly [string, GraphNode]> = []) {
    this.#nodes = new Map(nodes);
  }

  copy(): DependencyGraph {
    return new DependencyGraph(Array.from(this.#nodes, ([name, node]) => [name, { ...node }] as const));
  }

  get(name: string): GraphNode | undefined {
    return this.#nodes.get(name);
  }

  nodes(): GraphNode[] {
    return [...this.#nodes.values()];
  }

  /** The ensembles that need a model, whether it is there or not. */
  users(part: string): GraphNode[] {
    return this.nodes().filter((node) => node.parts.includes(part));
  }

  /** All that a model is made of, and those in turn, whether they are there or not. */
  needs(name: string): Set<string> {
    const found = new Set<string>();
    this.#addParts(name, found);
    return found;
  }

  /** Puts models in that were read anew, each in the place of what it was. @returns whom that is about */
  put(models: readonly NewNode[]): Set<string> {
    const affected = new Set<string>();
    for (const { name, model, revision, explicit } of models) {
      const old = this.#nodes.get(name);
      for (const user of this.users(name)) {
        this.#uncheck(user);
        if (old === undefined) affected.add(user.name);
      }
      const node = { name, model, revision, previous: old?.revision, explicit: explicit || old?.explicit === true };
      this.#nodes.set(name, { ...node, parts: partsOf(model.config), problem: undefined, checked: false });
      affected.add(name);
    }
    this.#connect(affected);
    return affected;
  }

  /**
   * Takes models out.
   *
   * @param dependents - also the parts that no other ensemble needs and no client named
   */
  remove(names: Iterable<string>, dependents: boolean): { removed: Set<string>; affected: Set<string> } {
    const removed = new Set<string>();
    const affected = new Set<string>();
    const queue = [...names];
    for (const name of queue) {
      const node = this.#nodes.get(name);
      if (node === undefined) continue;
      this.#nodes.delete(name);
      removed.add(name);
      for (const user of this.users(name)) {
        this.#uncheck(user);
        affected.add(user.name);
      }
      const idle = (part: string) => this.#nodes.get(part)?.explicit === false && this.users(part).length === 0;
      if (dependents) queue.push(...node.parts.filter(idle));
    }
    for (const name of removed) affected.delete(name);
    this.#connect(affected);
    return { removed, affected: new Set([...affected, ...removed]) };
  }

  /** Takes over what became of these in a copy. */
  writeBack(copy: DependencyGraph, names: Iterable<string>): void {
    for (const name of names) {
      const [node, { problem, checked, revision } = {}] = [this.#nodes.get(name), copy.get(name)];
      if (node !== undefined && checked !== undefined) Object.assign(node, { problem, checked, revision });
    }
  }

  #addParts(name: string, found: Set<string>): void {
    const node = this.#nodes.get(name);
    for (const part of node?.parts ?? []) {
      if (found.has(part)) continue;
      found.add(part);
      this.#addParts(part, found);
    }
  }

  #uncheck(node: GraphNode): void {
    if (!node.checked) return;
    node.checked = false;
    node.problem = undefined;
    for (const user of this.users(node.name)) this.#uncheck(user);
  }

  /** Says of ensembles what is wrong with which parts they have. */
  #connect(names: Iterable<string>): void {
    const sorted = [...names].sort().flatMap((name) => this.#nodes.get(name) ?? []);
    for (const node of sorted) {
      const missing = node.parts.filter((part) => !this.#nodes.has(part));
      if (missing.length === 0) continue;
      const text = `ensemble ${node.name} contains models that are not available or ambiguous: ${missing.join(', ')}`;
      node.problem ??= new LoadFailure(text);
    }
    for (const node of sorted) node.problem ??= this.#findRound(node, node, new Set());
  }

  /** Whether `node` needs `start`; that is then wrong with all between them, too. */
  #findRound(node: GraphNode, start: GraphNode, seen: Set<GraphNode>): LoadFailure | undefined {
    seen.add(node);
    for (const part of node.parts) {
      const found = this.#nodes.get(part);
      if (found === start) {
        const round = `${start.name} -> ... -> ${node.name} -> ${start.name}`;
        return new LoadFailure(`circular dependency between ensembles: ${round}`);
      }
      if (found === undefined || seen.has(found)) continue;
      const problem = this.#findRound(found, start, seen);
      if (problem === undefined) continue;
      node.problem = problem;
      return problem;
    }
    return undefined;
  }
}

/** The models that an ensemble is made of, each once; of another model none. */
export function partsOf(config: ModelConfig): string[] {
  return [...new Set(config.ensemble_scheduling?.step.map((step) => step.model_name))];
}
