import type { ClientCall, ClientRequest, TensorClient } from '@zerohop/shm-pool';

/** A client whose server answers at once and does nothing: what is left of a request's cost is the pool's. */
export function instantClient(inputShape: readonly number[], outputShape: readonly number[]): TensorClient {
  const tensor = (name: string, shape: readonly number[]) => ({ name, datatype: 'FP32', shape }) as const;
  const regions = new Map<string, { name: string; key: string; byteLength: number }>();
  const result = {
    ...{ model: 'instant', version: '1', id: '' },
    outputs: [{ ...tensor('OUTPUT0', outputShape), bytes: new Uint8Array(0) }],
  };
  const settled = Promise.resolve('answered' as const);
  const infer = (): ClientCall => Object.assign(Promise.resolve(result), { settled });
  const none = {
    register: () => Promise.reject(new Error('no device memory')),
    unregister: () => Promise.resolve(),
    status: () => Promise.resolve([]),
  };
  return {
    connectionEpoch: 1,
    serverMetadata: () => Promise.resolve({ name: 'instant', version: '2.51.0', extensions: [] }),
    systemSharedMemory: {
      register: (region) => {
        regions.set(region.name, region);
        return Promise.resolve();
      },
      unregister: (name) => {
        regions.delete(name);
        return Promise.resolve();
      },
      status: (name) => Promise.resolve([...regions.values()].filter((region) => region.name === name)),
    },
    cudaSharedMemory: none,
    modelMetadata: (name) =>
      Promise.resolve({
        name,
        inputs: [tensor('INPUT0', inputShape)],
        outputs: [tensor('OUTPUT0', outputShape)],
      }),
    modelConfig: () =>
      Promise.resolve({ backend: 'instant', maxBatchSize: 0, decoupled: false, instanceGroups: [], parameters: {} }),
    infer,
    prepare: (_model: string, _request: ClientRequest) => ({ infer }),
  };
}
