import type { DependencyGraph, GraphNode } from './dependency-graph.js';
import { joinParts, type Results, type Running } from './ensemble-parts.js';
import { LoadFailure } from './load-failure.js';
import type { RepositoryModel } from './repository.js';

/** What is done to the models that a load or an unload is about, directly or by their parts. */
export interface Lifecycle extends Running {
  /** Starts it in the place of what runs. @throws LoadFailure, and leaves what runs */
  start(name: string, model: RepositoryModel): Promise<void>;
  takeDown(name: string): Promise<void>;
}

/**
 * Starts each model of a graph that is not checked, after its parts, and takes those down that can't be started. Those that
 * depend on no other one are started at once.
 *
 * @param others - models that another load or unload is about: they are left alone
 * @returns how each of them ended
 */
export async function startInOrder(
  graph: DependencyGraph,
  others: ReadonlySet<string>,
  lifecycle: Lifecycle,
): Promise<Results> {
  const results = new Map<string, LoadFailure | undefined>();
  const isReady = (node: GraphNode) =>
    !node.checked &&
    !others.has(node.name) &&
    (node.problem !== undefined || node.parts.every((part) => graph.get(part)?.checked !== false));
  const turn = async (node: GraphNode) => {
    const result = await startOne(node, graph, results, lifecycle);
    return [node.name, result] as const;
  };
  for (let ready = graph.nodes().filter(isReady); ready.length > 0; ready = graph.nodes().filter(isReady)) {
    const ended = ready.map(turn);
    for (const node of ready) node.checked = true;
    for (const [name, result] of await Promise.all(ended)) results.set(name, result);
  }
  return results;
}

async function startOne(
  node: GraphNode,
  graph: DependencyGraph,
  results: Results,
  lifecycle: Lifecycle,
): Promise<LoadFailure | undefined> {
  try {
    if (node.problem !== undefined) throw node.problem;
    const model = { ...node.model, config: joinParts(node, graph, lifecycle, results) };
    try {
      await lifecycle.start(node.name, model);
      return undefined;
    } catch (error) {
      // So that the next load tries it again.
      node.revision = node.previous;
      return asFailure(error);
    }
  } catch (error) {
    node.problem = asFailure(error);
    await node.model.dispose?.();
    await lifecycle.takeDown(node.name);
    return node.problem;
  }
}

function asFailure(error: unknown): LoadFailure {
  if (error instanceof LoadFailure) return error;
  throw error;
}
