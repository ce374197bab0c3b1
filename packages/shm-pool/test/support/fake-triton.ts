/**
 * A Triton in this process, as the pool's own view of a client: real shared-memory objects behind the registrations,
 * an identity model, and the faults that a real server shows only now and then.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Datatype } from '@zerohop/cuda-native/tensor';
import type {
  ClientCall,
  ClientCallOptions,
  ClientModelConfig,
  ClientRegionRef,
  ClientRequest,
  ClientResult,
  ClientTensorMetadata,
  Settlement,
  TensorClient,
} from '../../src/index.js';

export class FakeError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Bytes behind a region, as the server reaches them. */
export interface RegionBytes {
  read(byteOffset: number, byteLength: number): Promise<Uint8Array>;
  write(byteOffset: number, bytes: Uint8Array): Promise<void>;
  close(): void;
}

interface Region {
  readonly kind: 'system' | 'cuda';
  readonly name: string;
  readonly key: string;
  readonly deviceId: number;
  readonly byteLength: number;
  readonly bytes: RegionBytes;
  users: number;
  unregistered: boolean;
}

/** Opens device memory from its IPC handle, somewhere else than in this process. */
export type OpenHandle = (rawHandle: Uint8Array, byteLength: number, deviceId: number) => Promise<RegionBytes>;

export interface FakeModel {
  readonly inputs: readonly ClientTensorMetadata[];
  readonly outputs: readonly ClientTensorMetadata[];
  readonly maxBatchSize?: number;
  readonly decoupled?: boolean;
  readonly instanceKind?: string;
  readonly config?: Partial<ClientModelConfig>;
  /** The rest of the configuration, as Triton spells it. */
  readonly raw?: Readonly<Record<string, unknown>>;
  /** What it answers with; by default the input. */
  readonly answer?: (input: Tensor, parameters: NonNullable<ClientRequest['parameters']>) => Tensor;
}

export interface Tensor {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

const tensorOf = (name: string, datatype: Datatype, ...shape: number[]): ClientTensorMetadata => ({
  name,
  datatype,
  shape,
});

export const identity: FakeModel = {
  inputs: [tensorOf('IN', 'FP32', 4, 64)],
  outputs: [tensorOf('OUT', 'FP32', 4, 64)],
};

export class FakeTriton implements TensorClient {
  connectionEpoch = 1;
  version = '2.51.0';
  isLocal = true;
  /** What the probe says. */
  state: 'enabled' | 'disabled' | 'restricted' = 'enabled';
  uuids: readonly string[] | undefined;
  /** The answer waits for this. */
  gate: Promise<unknown> = Promise.resolve();
  /** Refuses every registration with this. */
  refuseRegister: Error | undefined;
  /** What becomes of the next registers, whose answers do not come in time. */
  readonly lateRegisters: ('carried-out' | 'carried-out-later' | 'dropped')[] = [];
  /** Refuses every unregister with this. */
  refuseUnregister: Error | undefined;
  /** Every control call fails with this. */
  down: Error | undefined;
  /** The next request is answered with this error. */
  nextAnswer: Error | undefined;
  /** Shape that the output is answered with instead of its own. */
  answerShape: readonly number[] | undefined;
  readonly calls = { register: 0, unregister: 0, infer: 0, prepare: 0 };
  readonly names: string[] = [];
  readonly #regions = new Map<string, Region>();
  readonly #models: Readonly<Record<string, FakeModel>>;
  readonly #openHandle: OpenHandle | undefined;
  readonly #lose = new Set<(error: Error) => void>();

  constructor(models: Readonly<Record<string, FakeModel>> = { identity }, openHandle?: OpenHandle) {
    this.#models = models;
    this.#openHandle = openHandle;
  }

  get regionNames(): string[] {
    return [...this.#regions.keys()];
  }

  readonly systemSharedMemory = {
    register: ({ name, key, byteLength }: { name: string; key: string; byteLength: number }) =>
      this.#register({ kind: 'system', name, key, deviceId: 0, byteLength }, () => openObject(key)),
    unregister: (name: string) => this.#unregister('system', name),
    status: (name?: string) => this.#status('system', name),
  };

  readonly cudaSharedMemory = {
    register: (region: { name: string; rawHandle: Uint8Array; deviceId: number; byteLength: number }) => {
      const { name, deviceId, byteLength, rawHandle } = region;
      return this.#register({ kind: 'cuda', name, key: name, deviceId, byteLength }, () => {
        if (this.#openHandle === undefined) throw new FakeError('TRITON_INVALID_ARGUMENT', 'GPUs not supported');
        return this.#openHandle(rawHandle, byteLength, deviceId);
      });
    },
    unregister: (name: string) => this.#unregister('cuda', name),
    status: (name?: string) => this.#status('cuda', name),
  };

  async #register(
    region: Omit<Region, 'bytes' | 'users' | 'unregistered'>,
    open: () => RegionBytes | Promise<RegionBytes>,
  ): Promise<void> {
    await this.#control();
    this.calls.register += 1;
    if (this.refuseRegister !== undefined) throw this.refuseRegister;
    const late = this.lateRegisters.shift();
    if (late === 'carried-out') await this.#add(region, open);
    if (late === 'carried-out-later') setTimeout(() => void this.#add(region, open).catch(() => undefined), 30);
    if (late !== undefined) throw new FakeError('TRITON_TIMEOUT', 'no answer in time');
    await this.#add(region, open);
  }

  async #add(
    region: Omit<Region, 'bytes' | 'users' | 'unregistered'>,
    open: () => RegionBytes | Promise<RegionBytes>,
  ): Promise<void> {
    const { name, key, kind } = region;
    if (this.#regions.has(name)) {
      throw new FakeError('TRITON_ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
    }
    if (name === '' || this.names.includes(name)) throw new Error(`Region name '${name}' is used a second time`);
    const sameKey = [...this.#regions.values()].some((other) => other.kind === kind && other.key === key);
    if (sameKey) throw new FakeError('TRITON_INTERNAL', `Invalid shared memory region: '${key}'`);
    this.names.push(name);
    this.#regions.set(name, { ...region, bytes: await open(), users: 0, unregistered: false });
  }

  async #unregister(kind: 'system' | 'cuda', name: string): Promise<void> {
    await this.#control();
    this.calls.unregister += 1;
    if (this.refuseUnregister !== undefined) throw this.refuseUnregister;
    const region = this.#regions.get(name);
    if (region === undefined || region.kind !== kind) return;
    if (region.users > 0 && !this.#defersUnregister()) {
      throw new FakeError(
        'TRITON_INTERNAL',
        `Cannot unregister shared memory region '${name}', it is currently in use.`,
      );
    }
    region.unregistered = true;
    this.#dropUnused(region);
  }

  #defersUnregister(): boolean {
    return Number(this.version.split('.')[1]) >= 53;
  }

  #dropUnused(region: Region): void {
    if (region.users > 0 || !region.unregistered) return;
    this.#regions.delete(region.name);
    region.bytes.close();
  }

  async #status(kind: 'system' | 'cuda', name?: string): Promise<Region[]> {
    await this.#control();
    return [...this.#regions.values()].filter(
      (region) => region.kind === kind && (name === undefined || region.name === name),
    );
  }

  async #control(): Promise<void> {
    await sleep(0);
    if (this.down !== undefined) throw this.down;
  }

  async serverMetadata(): Promise<{ name: string; version: string; extensions: string[] }> {
    await this.#control();
    return { name: 'triton', version: this.version, extensions: [] };
  }

  async sharedMemoryState(): Promise<'enabled' | 'disabled' | 'restricted'> {
    await this.#control();
    return this.state;
  }

  async gpuUuids(): Promise<readonly string[] | undefined> {
    await this.#control();
    return this.uuids;
  }

  async modelMetadata(model: string): Promise<{ name: string } & Pick<FakeModel, 'inputs' | 'outputs'>> {
    const { inputs, outputs } = this.#model(model);
    await this.#control();
    return { name: model, inputs, outputs };
  }

  async modelConfig(model: string): ReturnType<TensorClient['modelConfig']> {
    const { maxBatchSize = 0, decoupled = false, instanceKind = 'KIND_GPU' } = this.#model(model);
    await this.#control();
    const instanceGroups = [{ kind: instanceKind, gpus: [] }];
    return {
      backend: 'fake',
      maxBatchSize,
      decoupled,
      instanceGroups,
      parameters: {},
      ...this.#model(model).config,
      raw: this.#model(model).raw ?? {},
    };
  }

  #model(model: string): FakeModel {
    const found = this.#models[model];
    if (found === undefined)
      throw new FakeError('TRITON_NOT_FOUND', `Request for unknown model: '${model}' is not found`);
    return found;
  }

  /** Forgets every region, as a restart or someone's unregister-all does. */
  forgetRegions(): void {
    for (const region of this.#regions.values()) {
      region.unregistered = true;
      this.#dropUnused(region);
    }
    for (const name of this.regionNames) this.#regions.delete(name);
  }

  /** Cuts the connection: requests in flight are lost, the server goes on with them. */
  loseConnection(): void {
    this.connectionEpoch += 1;
    for (const lose of this.#lose) lose(new FakeError('TRITON_CONNECTION_LOST', 'Connection dropped'));
  }

  prepare(model: string, request: ClientRequest): { infer(options?: ClientCallOptions): ClientCall } {
    this.calls.prepare += 1;
    return { infer: (options) => this.infer(model, request, options) };
  }

  infer(model: string, request: ClientRequest, options: ClientCallOptions = {}): ClientCall {
    this.calls.infer += 1;
    let settle: (settlement: Settlement) => void = () => undefined;
    const settled = new Promise<Settlement>((resolve) => {
      settle = resolve;
    });
    const answer = new Promise<ClientResult>((resolve, reject) => {
      const stop = (error: Error) => reject(error);
      const lose = (error: Error) => {
        settle('lost');
        reject(error);
      };
      const { signal, timeoutMs } = options;
      signal?.addEventListener('abort', () => stop(signal.reason as Error), { once: true });
      if (timeoutMs !== undefined)
        setTimeout(() => stop(new FakeError('TRITON_TIMEOUT', 'no answer in time')), timeoutMs);
      this.#lose.add(lose);
      this.#run(model, request)
        .then(resolve, reject)
        .finally(() => {
          this.#lose.delete(lose);
          settle('answered');
        });
    });
    return Object.assign(answer, { settled });
  }

  async #run(model: string, request: ClientRequest): Promise<ClientResult> {
    const [input] = Object.values(request.inputs);
    const [[outputName, output] = ['', {}]] = Object.entries(request.outputs ?? {});
    if (input === undefined) throw new Error('No input');
    const source = 'region' in input ? this.#use(input) : undefined;
    const target = 'region' in output ? this.#use(output as ClientRegionRef) : undefined;
    try {
      const refusal = this.nextAnswer;
      this.nextAnswer = undefined;
      await this.gate;
      if (refusal !== undefined) throw refusal;
      const sent =
        'data' in input ? input.data.slice() : await (source as Region).bytes.read(input.byteOffset, input.byteLength);
      const { datatype } = input;
      const whole = { shape: input.shape, bytes: sent };
      const { bytes, ...answer } = this.#model(model).answer?.(whole, request.parameters ?? {}) ?? whole;
      if (target !== undefined) await writeOutput(target, outputName, output as ClientRegionRef, bytes);
      const shape = this.answerShape ?? answer.shape;
      const answered = { name: outputName, datatype, shape, bytes: target === undefined ? bytes : new Uint8Array(0) };
      return { model, version: '1', id: request.id ?? '', outputs: [answered] };
    } finally {
      for (const region of new Set([source, target])) {
        if (region === undefined) continue;
        region.users -= region === source && region === target ? 2 : 1;
        this.#dropUnused(region);
      }
    }
  }

  #use(ref: ClientRegionRef): Region {
    const region = this.#regions.get(ref.region);
    if (region === undefined) {
      throw new FakeError('TRITON_NOT_FOUND', `Unable to find shared memory region: '${ref.region}'`);
    }
    if (ref.byteOffset + ref.byteLength > region.byteLength) {
      throw new FakeError(
        'TRITON_INVALID_ARGUMENT',
        `Invalid offset + byte size for shared memory region: '${ref.region}'`,
      );
    }
    region.users += 1;
    return region;
  }
}

/** Nothing is written when it does not fit. */
async function writeOutput(region: Region, name: string, ref: ClientRegionRef, bytes: Uint8Array): Promise<void> {
  if (bytes.byteLength > ref.byteLength) {
    throw new FakeError(
      'TRITON_INTERNAL',
      `shared memory size specified with the request for output '${name}' (${ref.byteLength} bytes) should be at least ${bytes.byteLength} bytes to hold the results`,
    );
  }
  await region.bytes.write(ref.byteOffset, bytes);
}

/** The object's bytes through its file, so that nothing depends on the pool's own mapping. */
function openObject(key: string): RegionBytes {
  let fd: number;
  try {
    fd = openSync(`/dev/shm${key}`, 'r+');
  } catch {
    throw new FakeError('TRITON_INTERNAL', `Unable to open shared memory region: '${key}'`);
  }
  return {
    read: (byteOffset, byteLength) => {
      const bytes = new Uint8Array(byteLength);
      readSync(fd, bytes, 0, byteLength, byteOffset);
      return Promise.resolve(bytes);
    },
    write: (byteOffset, bytes) => {
      writeSync(fd, bytes, 0, bytes.byteLength, byteOffset);
      return Promise.resolve();
    },
    close: () => closeSync(fd),
  };
}
