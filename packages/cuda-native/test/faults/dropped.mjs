// The section of what is not closed: it goes with the garbage collector. Makers are functions of their own, so that nothing
// refers to what they made.
import { readFileSync } from 'node:fs';

const kernels = readFileSync(new URL('../fixtures/kernels.ptx', import.meta.url), 'utf8');

/** @param {import('./tour.mjs').Tour} tour */
export async function dropped(tour) {
  const { SharedMemory, JpegDecoder, JpegEncoder } = tour.zerohop;
  const [device] = await tour.devices();
  const stream = await tour.make('createStream', () => device.createStream());
  const before = tour.live();
  /** By what the fake counts them as. */
  const makers = [
    ['memory', async () => void (await device.alloc(4096))],
    ['pinned', async () => void (await device.allocPinned(4096))],
    ['stream', () => void device.createStream()],
    ['event', () => void device.createEvent()],
    ['module', async () => void (await device.loadModule(kernels))],
    [
      'registered',
      async () => {
        const shared = await SharedMemory.create(`/zerohop-tour-${process.pid}-dropped`, 4096);
        await device.registerHost(shared);
      },
    ],
    ['ipc', async () => void (await device.openIpc(tour.options.peer.handle))],
    ['exec', async () => void (await stream.capture(() => undefined))],
    ['jpeg', async () => void (await JpegDecoder.create(device))],
    ['jpeg', async () => void (await JpegEncoder.create(device))],
  ];
  for (const [kind, make] of makers) {
    await tour.step(`make ${kind}`, make);
    await tour.step(`drop ${kind}`, async () => {
      await tour.untilCollected(before, kind);
    });
  }
}
