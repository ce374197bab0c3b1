import { CommanderError } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { createProgram, type DetectOptions, spellOutJson } from '../../src/cli.js';

interface Parsed {
  images?: string[];
  options?: DetectOptions;
  error?: unknown;
  out: string;
  err: string;
}

async function parse(...words: string[]): Promise<Parsed> {
  const parsed: Parsed = { out: '', err: '' };
  const program = createProgram(
    '1.2.3',
    {
      detect: async (images, options) => {
        Object.assign(parsed, { images, options });
      },
    },
    {
      out: (text) => {
        parsed.out += text;
      },
      err: (text) => {
        parsed.err += text;
      },
    },
  );
  try {
    await program.parseAsync(spellOutJson(words), { from: 'user' });
  } catch (error) {
    parsed.error = error;
  }
  return parsed;
}

describe('zerohop detect', () => {
  it('has a default for everything but the images', async () => {
    const { images, options } = await parse('detect', 'a.jpg', 'b.png');
    expect(images).toEqual(['a.jpg', 'b.png']);
    expect(options).toEqual({ model: 'defects', transport: 'auto', timeout: 60_000, score: 0.25, iou: 0.45 });
  });

  it('takes every option', async () => {
    const { options } = await parse(
      ...['detect', 'a.jpg', '--url', 'grpc://h:1', '--metrics-url', 'http://h:2/metrics', '--model', 'm'],
      ...['--labels', 'l.txt', '--transport', 'bytes', '--timeout', '5', '--score', '0.5', '--iou', '1'],
      ...['--out', 'o', '--json=r.json'],
    );
    expect(options).toEqual({
      url: 'grpc://h:1',
      metricsUrl: 'http://h:2/metrics',
      model: 'm',
      labels: 'l.txt',
      transport: 'bytes',
      timeout: 5,
      score: 0.5,
      iou: 1,
      out: 'o',
      json: 'r.json',
    });
  });

  it('reads --json alone as stdout and does not take the image after it', async () => {
    expect(await parse('detect', '--json', 'a.jpg')).toMatchObject({ images: ['a.jpg'], options: { json: '-' } });
    expect(await parse('detect', 'a.jpg', '--json=-')).toMatchObject({ images: ['a.jpg'], options: { json: '-' } });
    expect(await parse('detect', '--', '--json')).toMatchObject({ images: ['--json'] });
  });

  it('completes an address without a scheme', async () => {
    expect((await parse('detect', 'a.jpg', '--url', 'localhost:8001')).options?.url).toBe('grpc://localhost:8001');
    expect((await parse('detect', 'a.jpg', '--url', 'unix:/run/t')).options?.url).toBe('unix:/run/t');
  });

  it.each([
    [['detect'], /missing required argument 'image'/],
    [['detect', 'a.jpg', '--transport', 'fast'], /Allowed choices are auto, cuda, system, bytes/],
    [['detect', 'a.jpg', '--timeout', '0'], /positive whole number of milliseconds/],
    [['detect', 'a.jpg', '--timeout', '1e99'], /positive whole number of milliseconds/],
    [['detect', 'a.jpg', '--score', '1.5'], /number from 0 to 1/],
    [['detect', 'a.jpg', '--score', ''], /number from 0 to 1/],
    [['detect', 'a.jpg', '--iou', 'high'], /number from 0 to 1/],
    [['detect', 'a.jpg', '--url', 'http://localhost:8000'], /gRPC address such as grpc:\/\/localhost:8001/],
    ...['localhost', 'localhost:0', 'localhost:70000', '', 'unix:', 'h:1/path?x', 'grpc://h', 'grpcs://h:1'].map(
      (url) => [['detect', 'a.jpg', '--url', url], /gRPC address such as grpc:\/\/localhost:8001/] as const,
    ),
    [['detect', 'a.jpg', '--metrics-url', 'localhost:8002'], /http:\/\/localhost:8002\/metrics/],
    [['detect', ''], /'' is invalid for argument 'image'\. Expected a name\./],
    [['detect', 'a.jpg', '--model='], /'' is invalid\. Expected a name\./],
    [['detect', 'a.jpg', '--labels='], /'' is invalid\. Expected a name\./],
    [['detect', 'a.jpg', '--out='], /'' is invalid\. Expected a name\./],
    [['detect', 'a.jpg', '--json='], /'' is invalid\. Expected a name\./],
    [['detect', 'a.jpg', '--transprot', 'cuda'], /unknown option '--transprot'\n\(Did you mean --transport\?\)/],
    [['detct', 'a.jpg'], /unknown command 'detct'\n\(Did you mean detect\?\)/],
    [[], /Usage: zerohop/],
  ] as const)('refuses %j', async (words, complaint) => {
    const { error, err, images } = await parse(...words);
    expect(error).toBeInstanceOf(CommanderError);
    expect((error as CommanderError).exitCode).not.toBe(0);
    expect(err).toMatch(complaint);
    expect(images).toBeUndefined();
  });

  it('answers --help and --version on stdout', async () => {
    const help = await parse('detect', '--help');
    expect(help.out).toMatch(/--transport <kind>/);
    expect(help.out).toMatch(/JPEG, PNG, WebP or TIFF/);
    expect((await parse('--help')).out).toMatch(/"npm run demo -- IMAGE" is short for "zerohop detect IMAGE/);
    expect(help.error).toMatchObject({ exitCode: 0 });
    const version = await parse('--version');
    expect(version.out).toBe('1.2.3\n');
    expect(version.error).toMatchObject({ exitCode: 0 });
  });
});
