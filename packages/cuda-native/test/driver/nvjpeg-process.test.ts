import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { dist, run } from '../support/child.js';
import { SAMPLINGS, writeJpeg } from '../support/jpeg-writer.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
const ZEROHOP_LIBNVJPEG = buildFakeLibnvjpeg();
const env = { ZEROHOP_LIBCUDA, ZEROHOP_LIBNVJPEG };

const entry = JSON.stringify(dist.replace('index.js', 'nvjpeg.js'));
const jpeg = writeJpeg({ width: 640, height: 480, sampling: SAMPLINGS['4:2:0'] }).toString('base64');

const SETUP = `
  const { JpegDecoder, JpegEncoder, nvjpegAvailability } = await import(${entry});
  const device = await zerohop.Device.open(0);
  const jpeg = Buffer.from('${jpeg}', 'base64');
  const memory = await device.alloc(1 << 20);
`;

/** Decodes and an encode in flight, on the host and on the device, when the next line is reached. */
const BUSY = `
  ${SETUP}
  const stream = device.createStream();
  const decoder = await JpegDecoder.create(device);
  const other = await JpegDecoder.create(device);
  const encoder = await JpegEncoder.create(device);
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = '300000';
  process.env.ZEROHOP_FAKE_CALL_DELAY_US = '1000';
  const working = [
    decoder.decode(jpeg, memory),
    decoder.decode(jpeg, memory, { stream }),
    other.decode(jpeg, memory),
    other.info(jpeg),
    encoder.encode(memory, { width: 64, height: 64 }),
    JpegDecoder.create(device),
  ];
  for (const each of working) each.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 5));
`;

describeTier('driver', 'nvJPEG in a process', () => {
  it.each([
    ['no-library', { ZEROHOP_LIBNVJPEG: '/nowhere/libnvjpeg.so' }, ['/nowhere/libnvjpeg.so']],
    ['library-too-old', { ZEROHOP_LIBNVJPEG: ZEROHOP_LIBCUDA }, []],
  ])('that can not be had is a value, and an error of whoever wants it: %s', async (reason, library, tried) => {
    const ended = await run(
      `
        ${SETUP}
        const { NvjpegUnavailableError } = await import(${entry});
        const errors = await Promise.all([JpegDecoder, JpegEncoder].map((each) => each.create(device).catch((e) => e)));
        console.log(JSON.stringify({
          value: nvjpegAvailability(),
          codes: errors.map((error) => [error instanceof NvjpegUnavailableError, error.code, error.reason, error.message]),
        }));
      `,
      { ...env, ...library },
    );
    expect(ended.stderr).toBe('');
    const { value, codes } = JSON.parse(ended.stdout) as {
      value: { message: string; tried: string[] };
      codes: unknown[];
    };
    expect(value).toMatchObject({ available: false, code: 'ERR_NVJPEG_UNAVAILABLE', reason });
    expect(value.message).toContain('Install libnvjpeg of CUDA 11, 12 or 13');
    expect(value.tried.map((line) => line.split(':')[0])).toEqual(tried);
    expect(codes).toEqual([true, true].map((is) => [is, 'ERR_NVJPEG_UNAVAILABLE', reason, value.message]));
  });

  it('is not loaded by the import', async () => {
    const ended = await run(
      `
        await import(${entry});
        const { readFileSync } = await import('node:fs');
        console.log(/nvjpeg\\.so|libcuda|cuda-native[^\\n]*\\.node/.test(readFileSync('/proc/self/maps', 'utf8')));
      `,
      env,
    );
    expect(ended.stdout.trim()).toBe('false');
  });

  it.each([
    ['natural', '', 0],
    ['process.exit', 'process.exit(7);', 7],
    ['an uncaught exception', 'throw new Error("expected");', 1],
  ])('that ends in the middle of it neither crashes nor hangs: %s', async (_, ending, code) => {
    const ended = await run(`${BUSY} ${ending}`, env);
    expect(ended.signal).toBeNull();
    expect(ended.code).toBe(code);
  });

  it('outlives workers that are ended in the middle of it', async () => {
    const code = `(async () => {
      const zerohop = await import(${JSON.stringify(dist)});
      ${BUSY}
      (await import('node:worker_threads')).parentPort.postMessage('busy');
      setInterval(() => {}, 1000);
    })();`;
    const ended = await run(
      `
        import { Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        for (let round = 0; round < 5; round += 1) {
          const each = new Worker(${JSON.stringify(code)}, { eval: true });
          await once(each, 'message');
          await each.terminate();
        }
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
        process.env.ZEROHOP_FAKE_CALL_DELAY_US = '';
        ${SETUP}
        const decoder = await JpegDecoder.create(device);
        const { width } = await decoder.decode(jpeg, memory);
        await decoder.close();
        await memory.close();
        console.log(width);
      `,
      env,
    );
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim()).toBe('640');
    expect(ended.code).toBe(0);
  });

  it('gives back what was never closed, and warns once for each kind', async () => {
    const ended = await run(
      `
        ${SETUP}
        const { readFileSync, rmSync } = await import('node:fs');
        const { join } = await import('node:path');
        const log = join((await import('node:os')).tmpdir(), 'zerohop-nvjpeg-leaks-' + process.pid);
        process.env.ZEROHOP_FAKE_LOG = log;
        for (let i = 0; i < 10; i += 1) {
          await (await JpegDecoder.create(device)).decode(jpeg, memory);
          await (await JpegEncoder.create(device)).encode(memory, { width: 8, height: 8 });
        }
        const count = (name) => readFileSync(log, 'utf8').split('\\n').filter((call) => call.split(' ')[0] === name).length;
        for (let i = 0; i < 500 && count('nvjpegDestroy') < 20; i += 1) {
          gc();
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        const names = ['nvjpegDestroy', 'nvjpegJpegStateDestroy', 'nvjpegEncoderStateDestroy', 'nvjpegEncoderParamsDestroy'];
        console.log(names.map(count).join(' '));
        process.env.ZEROHOP_FAKE_LOG = '';
        rmSync(log);
        await memory.close();
      `,
      env,
      ['--expose-gc'],
    );
    const warned = Array.from(
      ended.stderr.matchAll(/\[ZEROHOP_LEAK\] ResourceWarning: (?:A|The) (\w+)/g),
      ([, kind]) => kind,
    );
    expect(warned.sort()).toEqual(['JpegDecoder', 'JpegEncoder']);
    expect(ended.stdout.trim()).toBe('20 10 10 10');
  });
});
