// The sections of nvJPEG. A picture that fails does not end them: the same decoder or encoder takes the next one.
import { comment, pattern } from '../support/fake-nvjpeg.mjs';
import { damaged, odd, SIDE, sound } from './grey-jpeg.mjs';

/** Pixels in RGB, as the fake makes them of a JPEG in grey. */
function decoded(jpeg) {
  const value = pattern(jpeg);
  return Uint8Array.from({ length: SIDE * SIDE * 3 }, (_, i) => {
    const pixel = Math.floor(i / 3);
    return value(0, pixel % SIDE, Math.floor(pixel / SIDE));
  });
}

/** @type {Record<string, (tour: import('./tour.mjs').Tour) => Promise<void>>} */
export const jpegSections = {
  async decoder(tour) {
    const { JpegDecoder } = tour.zerohop;
    const [device] = await tour.devices();
    const memory = await tour.make('alloc', () => device.alloc(SIDE * SIDE * 3));
    const stream = await tour.make('createStream', () => device.createStream());
    const decoders = [];
    for (let i = 0; i < 2; i += 1) {
      decoders.push(await tour.make('JpegDecoder.create', () => JpegDecoder.create(device)));
    }
    const bytes = new Uint8Array(memory.byteLength);
    const check = async (options) => {
      await stream.fill(memory, 0);
      await stream.done();
      await decoders[0].decode(sound, memory, options);
      await stream.copyToHost(bytes, memory);
      if (Buffer.compare(bytes, decoded(sound)) !== 0) throw new Error('other pixels than expected');
    };
    for (let i = 0; i < 2; i += 1) {
      await tour.attempt('decode', () => check());
      await tour.refuse('decode of a damaged JPEG', { call: 'nvjpegDecode', status: 3 }, () =>
        decoders[0].decode(damaged, memory),
      );
      await tour.attempt('decode on a stream', () => check({ stream }));
    }
    // What failed before is made up for.
    await tour.attempt('decode', () => check());
  },

  async engines(tour) {
    const { JpegDecoder } = tour.zerohop;
    const [device] = await tour.devices();
    const memory = await tour.make('alloc', () => device.alloc(SIDE * SIDE * 3));
    const stream = await tour.make('createStream', () => device.createStream());
    const bytes = new Uint8Array(memory.byteLength);
    process.env.ZEROHOP_FAKE_JPEG_ENGINES = '1';
    try {
      const decoder = await tour.make('JpegDecoder.create', () => JpegDecoder.create(device));
      for (const jpeg of [sound, sound, odd, sound]) {
        await tour.attempt('decode', async () => {
          await decoder.decode(jpeg, memory);
          await stream.copyToHost(bytes, memory);
          if (Buffer.compare(bytes, decoded(jpeg)) !== 0) throw new Error('other pixels than expected');
        });
      }
    } finally {
      process.env.ZEROHOP_FAKE_JPEG_ENGINES = '';
    }
  },

  async encoder(tour) {
    const { JpegEncoder } = tour.zerohop;
    const [device] = await tour.devices();
    const memory = await tour.make('alloc', () => device.alloc(SIDE * SIDE * 3));
    const stream = await tour.make('createStream', () => device.createStream());
    const encoders = [];
    for (let i = 0; i < 2; i += 1) {
      encoders.push(await tour.make('JpegEncoder.create', () => JpegEncoder.create(device)));
    }
    for (const quality of [60, 70, 80]) {
      await tour.attempt('encode', async () => {
        stream.fill(memory, quality);
        const file = await encoders[0].encode(memory, { width: SIDE, height: SIDE, quality, stream });
        const expected = comment(quality, new Uint8Array(memory.byteLength).fill(quality));
        if (!Buffer.from(file).includes(expected)) throw new Error('another file than expected');
      });
    }
  },

  async nvjpeg(tour) {
    const { nvjpegAvailability } = tour.zerohop;
    await tour.step('nvjpegAvailability()', () => {
      const found = nvjpegAvailability();
      // It never throws; what it says is judged as if it did.
      if (!found.available) throw Object.assign(new Error(found.message), found);
    });
  },
};
