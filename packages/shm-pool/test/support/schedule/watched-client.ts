/** A client that tells the ledger of every call that a pool makes through it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientCall, ClientCallOptions, ClientRequest, RegionClient, TensorClient } from '../../../src/index.js';
import type { Ledger } from './ledger.js';
import type { CallerRequest } from './place.js';

/** The request of a caller that calls are made for. */
export const current = new AsyncLocalStorage<CallerRequest>();

export class WatchedClient implements TensorClient {
  readonly #inner: TensorClient;
  readonly #ledger: Ledger;
  readonly systemSharedMemory: RegionClient['systemSharedMemory'];
  readonly cudaSharedMemory: RegionClient['cudaSharedMemory'];

  constructor(inner: TensorClient, ledger: Ledger) {
    this.#inner = inner;
    this.#ledger = ledger;
    const { systemSharedMemory: system, cudaSharedMemory: cuda } = inner;
    this.systemSharedMemory = {
      register: (region) => {
        ledger.registering('system', region.name, region.key);
        return system.register(region);
      },
      unregister: (name) => this.#unregister(name, () => system.unregister(name)),
      status: (name) => this.#status(name, () => system.status(name)),
    };
    this.cudaSharedMemory = {
      register: (region) => {
        // Its allocation has no name of its own; the entry of the region's name is one for all its registrations.
        ledger.registering('cuda', region.name, region.name.replace(/\.\d+$/, ''));
        return cuda.register(region);
      },
      unregister: (name) => this.#unregister(name, () => cuda.unregister(name)),
      status: (name) => this.#status(name, () => cuda.status(name)),
    };
  }

  get connectionEpoch(): number {
    return this.#inner.connectionEpoch;
  }

  get isLocal(): boolean {
    return this.#inner.isLocal ?? false;
  }

  async #unregister(name: string, unregister: () => Promise<void>): Promise<void> {
    const epoch = this.connectionEpoch;
    this.#ledger.unregistering(name);
    await unregister();
    this.#ledger.unregistered(name, [epoch, this.connectionEpoch]);
  }

  async #status<R extends { readonly name: string }>(
    name: string | undefined,
    status: () => Promise<readonly R[]>,
  ): Promise<readonly R[]> {
    const epoch = this.connectionEpoch;
    const regions = await status();
    if (name !== undefined) {
      const isListed = regions.some((region) => region.name === name);
      this.#ledger.listed(name, isListed, [epoch, this.connectionEpoch]);
    }
    return regions;
  }

  serverMetadata(): ReturnType<TensorClient['serverMetadata']> {
    return this.#inner.serverMetadata();
  }

  modelMetadata(...args: Parameters<TensorClient['modelMetadata']>): ReturnType<TensorClient['modelMetadata']> {
    return this.#inner.modelMetadata(...args);
  }

  modelConfig(...args: Parameters<TensorClient['modelConfig']>): ReturnType<TensorClient['modelConfig']> {
    return this.#inner.modelConfig(...args);
  }

  gpuUuids(): Promise<readonly string[] | undefined> {
    return this.#inner.gpuUuids?.() ?? Promise.resolve(undefined);
  }

  infer(model: string, request: ClientRequest, options?: ClientCallOptions): ClientCall {
    return this.#watch(request, () => this.#inner.infer(model, request, options));
  }

  prepare(model: string, request: ClientRequest): { infer(options?: ClientCallOptions): ClientCall } {
    const prepared = this.#inner.prepare(model, request);
    return { infer: (options) => this.#watch(request, () => prepared.infer(options)) };
  }

  #watch(request: ClientRequest, send: () => ClientCall): ClientCall {
    const watched = this.#ledger.sending(request, current.getStore());
    const call = send();
    call.then(
      () => this.#ledger.settled(request, watched, 'answered'),
      (error: unknown) => {
        watched.error = error;
        setImmediate(() => {
          watched.told = true;
        });
      },
    );
    void call.settled.then((settlement) => this.#ledger.settled(request, watched, settlement));
    return call;
  }
}
