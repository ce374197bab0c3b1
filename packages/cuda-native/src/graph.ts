import { identify, partsOf } from './abi.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import type { GraphHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground, Resource } from './resource.js';

/** A Graph as a launch needs it. */
export interface GraphParts {
  readonly device: Device;
  readonly handle: GraphHandle;
  /** The graph's own, and those of everything that its work uses. */
  readonly resources: readonly Resource[];
}

let construct: (device: Device, handle: GraphHandle, uses: Iterable<Resource>) => Graph;

export function openGraph(device: Device, handle: GraphHandle, uses: Iterable<Resource>): Graph {
  return construct(device, handle, uses);
}

/**
 * What is inside a Graph.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError when it, or something that its work uses, is closed.
 */
export function graphParts(name: string, graph: unknown): GraphParts {
  return partsOf(name, 'Graph', graph);
}

/**
 * Work that was captured from a stream once (`stream.capture`) and is enqueued as a whole (`stream.launchGraph`): one
 * call instead of one for each piece. It refers to the memory, modules and events that it was captured with, keeps them
 * from being collected, and can't be launched once one of them is closed.
 */
export class Graph {
  readonly device: Device;
  readonly #handle: GraphHandle;
  readonly #resource: Resource;
  readonly #resources: readonly Resource[];

  static {
    construct = (device, handle, uses) => new Graph(device, handle, uses);
    identify(Graph, 'Graph', (graph: Graph): GraphParts => {
      if (graph.closed) throw new DisposedError('Graph');
      const closed = graph.#resources.find((resource) => resource.closed);
      if (closed !== undefined) throw new DisposedError(`${closed.kind}, which the Graph uses,`);
      return { device: graph.device, handle: graph.#handle, resources: graph.#resources };
    });
  }

  private constructor(device: Device, handle: GraphHandle, uses: Iterable<Resource>) {
    this.device = device;
    this.#handle = handle;
    this.#resource = new Resource('Graph', `A Graph on device ${device.ordinal}`, () => binding().graphDestroy(handle));
    this.#resources = [this.#resource, ...uses];
  }

  get closed(): boolean {
    return this.#resource.closed;
  }

  /**
   * Waits for its launches, then gives the graph back. Closing twice is fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    return this.#resource.close();
  }

  /** Marks the graph closed and gives it back once its launches are over; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
