/** What is made and closed again, kind by kind. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Device, type IpcMemHandle, SharedMemory } from '@zerohop/cuda-native';
import { JpegDecoder, JpegEncoder, nvjpegAvailability } from '@zerohop/cuda-native/nvjpeg';

/** One cycle; `finish` gives back what all cycles shared. */
export interface Cycle {
  readonly run: () => Promise<void> | void;
  readonly finish?: () => Promise<void>;
}

export interface Kind {
  readonly says: string;
  /** Cycles on a real GPU, where some take milliseconds; on the fake driver each kind has 100,000. */
  readonly gpuCount: number;
  /** Why this machine can't run it, if so. */
  readonly missing?: () => string | undefined;
  readonly prepare: (device: Device, image: string) => Promise<Cycle> | Cycle;
}

const BYTES = 4096;
let keys = 0;

function missingNvjpeg(): string | undefined {
  const nvjpeg = nvjpegAvailability();
  return nvjpeg.available ? undefined : nvjpeg.message;
}

function nextKey(): string {
  keys += 1;
  return `/zerohop-cycles-${process.pid}-${keys}`;
}

async function closing(
  owned: Promise<{ close(): Promise<void> | void }> | { close(): Promise<void> | void },
): Promise<void> {
  await (await owned).close();
}

export const KINDS: Readonly<Record<string, Kind>> = {
  memory: {
    says: 'DeviceMemory',
    gpuCount: 10_000,
    prepare: (device) => ({ run: () => closing(device.alloc(BYTES)) }),
  },
  exportable: {
    says: 'exportable DeviceMemory, exported',
    gpuCount: 1_000,
    prepare: (device) => ({
      run: async () => {
        const memory = await device.alloc(BYTES, { exportable: true });
        memory.exportIpc();
        await memory.close();
      },
    }),
  },
  slice: {
    says: 'slice of DeviceMemory',
    gpuCount: 10_000,
    prepare: async (device) => {
      const memory = await device.alloc(BYTES);
      return { run: () => closing(memory.slice(1024, 1024)), finish: () => memory.close() };
    },
  },
  wrap: {
    says: 'wrapped DeviceMemory',
    gpuCount: 10_000,
    prepare: async (device) => {
      const memory = await device.alloc(BYTES);
      return {
        run: () => closing(device.wrap(memory.address, BYTES, { keepAlive: memory })),
        finish: () => memory.close(),
      };
    },
  },
  ipc: {
    says: "another process's DeviceMemory",
    gpuCount: 1_000,
    prepare: async (device) => {
      const { child, handle } = await startExporter();
      return {
        run: () => closing(device.openIpc(handle)),
        finish: async () => {
          const ended = once(child, 'exit');
          child.disconnect();
          await ended;
        },
      };
    },
  },
  pinned: {
    says: 'PinnedMemory',
    gpuCount: 1_000,
    prepare: (device) => ({ run: () => closing(device.allocPinned(BYTES)) }),
  },
  registered: {
    says: 'registered SharedMemory',
    gpuCount: 1_000,
    prepare: async (device) => {
      const shared = await SharedMemory.create(nextKey(), BYTES);
      return { run: () => closing(device.registerHost(shared)), finish: async () => shared.close() };
    },
  },
  shared: {
    says: 'SharedMemory',
    gpuCount: 1_000,
    prepare: () => ({ run: () => closing(SharedMemory.create(nextKey(), BYTES)) }),
  },
  stream: {
    says: 'Stream',
    gpuCount: 10_000,
    prepare: (device) => ({ run: () => closing(device.createStream()) }),
  },
  event: {
    says: 'Event',
    gpuCount: 10_000,
    prepare: (device) => ({ run: () => closing(device.createEvent()) }),
  },
  module: {
    says: 'Module',
    gpuCount: 200,
    prepare: (device, image) => {
      const bytes = readFileSync(image);
      return { run: () => closing(device.loadModule(bytes)) };
    },
  },
  kernel: {
    says: 'Kernel, which ends when it is collected',
    gpuCount: 1_000,
    prepare: async (device, image) => {
      const module = await device.loadModule(readFileSync(image));
      return {
        run: async () => {
          await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
        },
        finish: () => module.close(),
      };
    },
  },
  graph: {
    says: 'Graph, captured',
    gpuCount: 200,
    prepare: async (device) => {
      const memory = await device.alloc(BYTES);
      const stream = device.createStream();
      return {
        run: () => closing(stream.capture(() => stream.fill(memory, 1))),
        finish: async () => {
          await stream.close();
          await memory.close();
        },
      };
    },
  },
  decoder: {
    says: 'JpegDecoder',
    gpuCount: 200,
    missing: missingNvjpeg,
    prepare: (device) => ({ run: () => closing(JpegDecoder.create(device)) }),
  },
  encoder: {
    says: 'JpegEncoder',
    gpuCount: 200,
    missing: missingNvjpeg,
    prepare: (device) => ({ run: () => closing(JpegEncoder.create(device)) }),
  },
};

/** Starts a process that exports memory until it is disconnected. */
async function startExporter(): Promise<{ child: ChildProcess; handle: IpcMemHandle }> {
  const child = fork(process.argv[1] as string, ['--export'], { serialization: 'advanced' });
  const [handle] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('the exporting process ended');
    }),
  ])) as [IpcMemHandle];
  return { child, handle };
}

/** What that process does. */
export async function exportUntilDisconnected(device: Device): Promise<void> {
  const memory = await device.alloc(BYTES, { exportable: true });
  process.send?.(memory.exportIpc());
  await once(process, 'disconnect');
  await memory.close();
}
