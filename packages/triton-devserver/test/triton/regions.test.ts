import { randomInt } from 'node:crypto';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { RawTriton } from '../../../triton-client/test/support/raw-triton.js';
import { requestIdPrefix } from '../../src/core/checks.js';
import {
  type InferParameter,
  ModelInferRequest,
  GRPCInferenceServiceService as Service,
} from '../../src/grpc/gen/grpc_service.js';
import { PERSONALITIES } from '../../src/personality.js';
import { RegionTable } from '../../src/regions/region-table.js';
import { invalid } from '../../src/status.js';
import { type Outcome, outcomeOf } from '../support/outcome.js';
import { type Pick, picking } from '../support/pick.js';
import { ShmObject } from '../support/shm-object.js';

const OBJECT = 65536n;
/** FP32 [64, 64]. */
const TENSOR = 16384n;
const MAX = 2n ** 64n - 1n;

const NAMES = ['a', 'b', 'é', ''];
const PAGE = 4096n;
/** Offset and size; with these, no use that is accepted leaves the mapping, which could kill the real server. */
const EXTENTS: readonly (readonly [bigint, bigint])[] = [
  ...Array.from({ length: 8 }, () => [0n, OBJECT] as const),
  ...[TENSOR, 8192n, 1n, 0n, OBJECT + 1n, MAX, MAX - PAGE + 1n].map((size) => [0n, size] as const),
  ...[40960n, 40960n, 8192n, 1n, 0n, OBJECT, MAX, MAX - PAGE + 1n].map((size) => [PAGE, size] as const),
  ...[1n, OBJECT, -PAGE, -1n, 2n ** 62n].flatMap((offset) =>
    [OBJECT, TENSOR, 1n, 0n, MAX, 2n * PAGE, 2n ** 63n + 2n ** 62n].map((size) => [offset, size] as const),
  ),
];
const USES: readonly (readonly [bigint, bigint])[] = [
  ...[0n, 1n, 2n, 5n, 49152n, 49153n, 65535n, 65536n, -1n].map((offset) => [offset, TENSOR] as const),
  ...[0n, 1n, 2n, 8191n, 65535n].flatMap((offset) => [0n, 1n, -1n, -3n].map((size) => [offset, size] as const)),
];

describeTier(
  'triton',
  'regions are those of real servers',
  () => {
    test.each(['2.51', '2.48'] as const)(
      '%s: registering, status, unregistering and use',
      async (version) => {
        const seed = randomInt(2 ** 31);
        const triton = await privateTriton({ models: ['identity_64'], version });
        onTestFinished(() => triton.stop());
        const raw = new RawTriton(triton.grpcUrl, triton.httpUrl);
        onTestFinished(() => raw.close());
        const ours = new RegionTable(PERSONALITIES[version], { onCrash: (reason) => expect.fail(reason) });
        onTestFinished(() => ours.clear());
        const keys = [0, 50, 100].map((first) => new ShmObject(numberedPages(first)).key);
        const pick = picking(seed);

        for (let step = 0; step < 500; step += 1) {
          const [what, real, got] = await pick(OPERATIONS)({ raw, ours, pick, keys });
          expect(got, `seed ${seed}, step ${step}: ${what}`).toEqual(real);
        }
      },
      180_000,
    );
  },
  { needs: ['addon'] },
);

/** Every byte is the number of its page, counted from `first`. */
function numberedPages(first: number): Uint8Array {
  return Uint8Array.from({ length: Number(OBJECT) }, (_, at) => first + Math.floor(at / Number(PAGE)));
}

interface Both {
  readonly raw: RawTriton;
  readonly ours: RegionTable;
  readonly pick: Pick;
  readonly keys: readonly string[];
}

type Operation = (both: Both) => Promise<readonly [what: string, real: Outcome, ours: Outcome]>;

async function real<Answer>(
  call: Promise<{ code: 0; answer: Answer } | { code: number; details: string }>,
  valueIn: (answer: Answer) => unknown,
): Promise<Outcome> {
  const got = await call;
  return 'answer' in got ? { code: 0, value: valueIn(got.answer) } : { code: got.code, text: got.details };
}

const register: Operation = async ({ raw, ours, pick, keys }) => {
  const name = pick(NAMES);
  const listed = ours.systemStatus('');
  // A second name for a key: what a real server then finds depends on its connections.
  const free = [...keys, '/zerohop-no-such-key', '', '/x/y'].filter((key) =>
    listed.every((region) => region.key !== key),
  );
  const key = pick(free);
  const [from, byteSize] = pick(EXTENTS);
  const offset = BigInt.asUintN(64, from);
  const region = { name, key, offset, byteSize };
  return [
    `register '${name}' ${key} ${offset} ${byteSize}`,
    await real(
      raw.call(Service.systemSharedMemoryRegister, { name, key, offset, byte_size: byteSize }),
      () => undefined,
    ),
    await outcomeOf('grpc', () => ours.registerSystem(region)),
  ];
};

const registerCuda: Operation = async ({ raw, ours, pick }) => {
  const name = pick(NAMES);
  const [rawHandle, deviceId, byteSize] = [Buffer.alloc(pick([64, 64, 10])), pick([0n, -1n, 7n]), pick([0n, 8n])];
  const request = { name, raw_handle: rawHandle, device_id: deviceId, byte_size: byteSize };
  return [
    `register '${name}' of a GPU`,
    await real(raw.call(Service.cudaSharedMemoryRegister, request), () => undefined),
    await outcomeOf('grpc', () => ours.registerCuda({ name, rawHandle, deviceId, byteSize })),
  ];
};

const unregister: Operation = async ({ raw, ours, pick }) => {
  const [name, system] = [pick([...NAMES, 'x']), pick([true, true, false])];
  return [
    `unregister '${name}', ${system ? 'system' : 'cuda'}`,
    await real(
      system
        ? raw.call(Service.systemSharedMemoryUnregister, { name })
        : raw.call(Service.cudaSharedMemoryUnregister, { name }),
      () => undefined,
    ),
    await outcomeOf('grpc', () => (system ? ours.unregisterSystem(name) : ours.unregisterCuda(name))),
  ];
};

const status: Operation = async ({ raw, ours, pick }) => {
  const name = pick([...NAMES, '', 'x']);
  return [
    `status '${name}'`,
    await real(raw.call(Service.systemSharedMemoryStatus, { name }), ({ regions }) => regions),
    await outcomeOf('grpc', () =>
      Object.fromEntries(
        ours
          .systemStatus(name)
          .map((region) => [
            region.name,
            { name: region.name, key: region.key, offset: region.offset, byte_size: region.byteSize },
          ]),
      ),
    ),
  ];
};

const cudaStatus: Operation = async ({ raw, ours, pick }) => {
  const name = pick(NAMES);
  return [
    `status '${name}' of a GPU`,
    await real(raw.call(Service.cudaSharedMemoryStatus, { name }), ({ regions }) => regions),
    await outcomeOf('grpc', () => Object.fromEntries(ours.cudaStatus(name).map((region) => [region.name, region]))),
  ];
};

const use: Operation = async ({ raw, ours, pick }) => {
  const [name, [offset, size]] = [pick([...NAMES, 'x']), pick(USES)];
  const parameters: Record<string, InferParameter> = {
    shared_memory_region: { string_param: name },
    shared_memory_offset: { int64_param: offset },
    shared_memory_byte_size: { int64_param: size },
  };
  const input = { name: 'INPUT0', datatype: 'FP32', shape: [64n, 64n], parameters };
  const request = { ...ModelInferRequest.decode(new Uint8Array()), model_name: 'identity_64', inputs: [input] };
  const first = (bytes: Uint8Array | undefined) => [bytes?.byteLength, bytes?.[0], bytes?.at(-1)];
  return [
    `use '${name}' ${offset} ${size}`,
    await real(raw.call(Service.modelInfer, request), ({ raw_output_contents: [bytes] }) => first(bytes)),
    await outcomeOf('grpc', async () => {
      const region = ours.use(name, offset, size);
      try {
        if (region.byteSize !== TENSOR) {
          throw invalid(
            `${requestIdPrefix('')}input byte size mismatch for input 'INPUT0' for model 'identity_64'. Expected ${TENSOR}, got ${region.byteSize}`,
          );
        }
        return first(await region.read());
      } finally {
        region.release();
      }
    }),
  ];
};

const OPERATIONS: readonly Operation[] = [
  register,
  register,
  unregister,
  status,
  registerCuda,
  cudaStatus,
  use,
  use,
  use,
];
