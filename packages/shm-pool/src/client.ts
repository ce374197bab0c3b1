/** The client that a pool needs, declared here so that the pool depends on no client package. TritonClient fits. */
import type { Datatype } from '@zerohop/cuda-native/tensor';

/** `'answered'`: the server is done with the memory. `'not-sent'`: it never saw the request. `'lost'`: nothing is known. */
export type Settlement = 'answered' | 'not-sent' | 'lost';

export interface RegionClient {
  /** Rises whenever the connection to the server is lost or made anew: two reads that agree bracket one connection. */
  readonly connectionEpoch: number;
  /** The GPUs that the server's metrics list, by UUID (`GPU-…`), or undefined when no metrics address is known. */
  gpuUuids?(): Promise<readonly string[] | undefined>;
  /** True when the address given is this host's (loopback or a unix socket). */
  readonly isLocal?: boolean;
  serverMetadata(): Promise<{
    readonly name: string;
    readonly version: string;
    readonly extensions: readonly string[];
  }>;
  readonly systemSharedMemory: {
    register(region: { name: string; key: string; byteLength: number }): Promise<void>;
    unregister(name: string): Promise<void>;
    status(
      name?: string,
    ): Promise<readonly { readonly name: string; readonly key: string; readonly byteLength: number }[]>;
  };
  readonly cudaSharedMemory: {
    register(region: { name: string; rawHandle: Uint8Array; deviceId: number; byteLength: number }): Promise<void>;
    unregister(name: string): Promise<void>;
    status(
      name?: string,
    ): Promise<readonly { readonly name: string; readonly deviceId: number; readonly byteLength: number }[]>;
  };
}

export interface ClientRegionRef {
  readonly region: string;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** Which sequence a request belongs to, and whether it begins or ends it. */
export interface ClientSequence {
  readonly id: number | bigint | string;
  readonly start?: boolean;
  readonly end?: boolean;
}

export interface ClientRequest {
  readonly inputs: Readonly<
    Record<
      string,
      | { readonly datatype: Datatype; readonly shape: readonly number[]; readonly data: Uint8Array }
      | ({ readonly datatype: Datatype; readonly shape: readonly number[] } & ClientRegionRef)
    >
  >;
  readonly outputs?: Readonly<Record<string, Readonly<Record<string, never>> | ClientRegionRef>>;
  readonly id?: string;
  readonly version?: string;
  readonly priority?: number;
  readonly sequence?: ClientSequence;
  readonly parameters?: Readonly<Record<string, boolean | number | bigint | string>>;
}

export interface ClientCallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly onAbort?: 'detach' | 'cancel';
  readonly detachLimitMs?: number;
}

export interface ClientOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

export interface ClientResult {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly ClientOutput[];
}

export interface ClientCall extends Promise<ClientResult> {
  /**
   * How the call ended for the memory that it names: no earlier than the server is done with it, but for `'lost'`. A call
   * that fails without it, as behind an async function that wraps the client, is taken for lost.
   */
  readonly settled: Promise<Settlement>;
}

export interface ClientTensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export interface ClientModelConfig {
  readonly backend: string;
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
  readonly instanceGroups: readonly { readonly kind: string; readonly gpus: readonly number[] }[];
  readonly parameters: Readonly<Record<string, string>>;
  /** Inputs that a request may leave out. */
  readonly optionalInputs?: readonly string[];
  /** The whole configuration in the spelling of Triton's JSON. Without it no answer is verified, and `explain()` says less. */
  readonly raw?: Readonly<Record<string, unknown>>;
}

export interface TensorClient extends RegionClient {
  modelMetadata(
    model: string,
    version?: string,
  ): Promise<{
    readonly name: string;
    readonly inputs: readonly ClientTensorMetadata[];
    readonly outputs: readonly ClientTensorMetadata[];
  }>;
  modelConfig(model: string, version?: string): Promise<ClientModelConfig>;
  /**
   * Whether the server takes regions of clients at all, found out without an effect. Without it a refused registration
   * tells.
   */
  sharedMemoryState?(): Promise<'enabled' | 'disabled' | 'restricted'>;
  infer(model: string, request: ClientRequest, options?: ClientCallOptions): ClientCall;
  prepare(model: string, request: ClientRequest): { infer(options?: ClientCallOptions): ClientCall };
}
