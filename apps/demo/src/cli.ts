import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { TritonClient } from '@zerohop/triton-client';
import { type Transport, transports } from './transport.js';

/** The options of `zerohop detect`, checked. */
export interface DetectOptions {
  readonly url?: string;
  readonly metricsUrl?: string;
  readonly model: string;
  readonly labels?: string;
  readonly transport: Transport;
  /** Milliseconds that one request may take. */
  readonly timeout: number;
  /** 0 to 1. */
  readonly score: number;
  /** 0 to 1. */
  readonly iou: number;
  readonly out?: string;
  /** `-` for stdout, else a file. */
  readonly json?: string;
}

export interface Handlers {
  detect(images: string[], options: DetectOptions): Promise<void>;
}

/** Where the command line writes help and complaints. */
export interface Output {
  out(text: string): void;
  err(text: string): void;
}

/** The command line of `zerohop`. Never exits the process: a usage error is thrown as commander's `CommanderError`. */
export function createProgram(version: string, handlers: Handlers, output: Output): Command {
  const program = new Command('zerohop')
    .description('Sends 4K images through NVIDIA Triton by shared memory and shows what the model finds.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .showHelpAfterError('(run with --help for the options)')
    .addHelpText('after', '\nIn a clone, "npm run demo -- IMAGE" is short for "zerohop detect IMAGE --out out".');

  program
    .command('detect')
    .description('Find objects in images. Starts a local Triton server when no --url is given.')
    .argument('<image...>', 'JPEG, PNG, WebP or TIFF files', (path: string, before: string[] = []) => [
      ...before,
      named(path),
    ])
    .option('--url <url>', "the server's gRPC address, such as grpc://localhost:8001", grpcUrl)
    .option('--metrics-url <url>', "the server's metrics address, which tells its GPUs apart", httpUrl)
    .option('--model <name>', 'the model to ask', named, 'defects')
    .option('--labels <file>', "names of the model's classes, one a line", named)
    .addOption(
      new Option('--transport <kind>', 'how tensors travel; auto takes the first that works')
        .choices(transports)
        .default('auto' as const),
    )
    .option('--timeout <ms>', 'how long one request may take', positiveInteger, 60_000)
    .option('--score <n>', 'leave out objects below this score', fraction, 0.25)
    .option('--iou <n>', 'overlap above which the lower of two boxes of a class is dropped', fraction, 0.45)
    .option('--out <dir>', 'write an annotated picture of each image into this directory', named)
    .option('--json [file]', 'write the results as JSON: --json=FILE, or --json alone for stdout', named)
    .action(async (images, { json, ...options }) => {
      await handlers.detect(images, {
        ...options,
        ...(json === undefined ? {} : { json: json === true ? '-' : json }),
      });
    });
  return program;
}

/**
 * `--json` takes its file only as `--json=FILE`: written apart, the next word is an image. Commander would take the
 * word, so a bare `--json` is spelt out.
 */
export function spellOutJson(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  return words.map((word, i) => (word === '--json' && (end === -1 || i < end) ? '--json=-' : word));
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0 || value > 0x7fff_ffff) {
    throw new InvalidArgumentError('Expected a positive whole number of milliseconds.');
  }
  return value;
}

function fraction(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1))
    throw new InvalidArgumentError('Expected a number from 0 to 1.');
  return value;
}

function named(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected a name.');
  return text;
}

function grpcUrl(text: string): string {
  const url = text.includes('://') || text.startsWith('unix:') ? text : `grpc://${text}`;
  try {
    // It connects to nothing before it is asked something, and is the one to say which addresses there are.
    // What goes on in shared memory is proven on one gRPC connection.
    if (!/^(?:grpc|unix):/i.test(url)) throw new TypeError('another scheme');
    void new TritonClient(url).close();
  } catch {
    throw new InvalidArgumentError('Expected a gRPC address such as grpc://localhost:8001 or unix:/path.');
  }
  return url;
}

function httpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError('Expected an address such as http://localhost:8002/metrics.');
  }
  return text;
}
