import { decodeImage, type Image } from '@zerohop/gpu-preproc';
import pc from 'picocolors';
import { annotate, encodeJpeg } from './annotate/annotate.js';
import { loadGlyphs } from './annotate/glyphs.js';
import { LabelTiles } from './annotate/label-tiles.js';
import type { DetectOptions } from './cli.js';
import { CliError, codeOf, describeError } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { checkOutputFile, checkOutputFolder, makeOutputFolder, OutputNames, readInput, writeWhole } from './files.js';
import { requireTransport } from './pipeline.js';
import { type DetectFailure, type DetectReport, type DetectResult, rounded } from './report.js';
import { openSession, type Session } from './session.js';
import { describeResult, describeServer } from './summary.js';
import type { Terminal } from './terminal.js';

/**
 * `zerohop detect`: every image through the pipeline, one after the other. An image that can't be read is reported and
 * the rest goes on; any other failure ends the run, and what was found until then is still written.
 * @throws the signal's reason when it is aborted, after everything is closed; CliError for what is wrong from the start
 */
export async function detect(
  images: readonly string[],
  options: DetectOptions,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<ExitCode> {
  const toStdout = options.json === '-';
  if (options.json !== undefined && !toStdout) await checkOutputFile(options.json);
  if (options.labels !== undefined) await readInput(options.labels);
  requireTransport(options.transport);
  const pictures = options.out === undefined ? undefined : await PictureWriter.create(options.out, images);

  const results: DetectResult[] = [];
  const failures: DetectFailure[] = [];
  let exitCode: ExitCode = ExitCode.ok;
  let cutShort = false;
  let session: Session | undefined;
  try {
    for (const path of images) {
      signal.throwIfAborted();
      try {
        const decoded = await decode(path);
        // Only now: a mistyped file name should not cost the start of a server.
        if (session === undefined) {
          session = await openSession(options, signal, (line) => terminal.progress(line));
          if (!toStdout) terminal.print(describeServer(session.pipeline.origin, pc));
        }
        const result = await detectOne(path, decoded, session, pictures);
        results.push(result);
        if (!toStdout) terminal.print(describeResult(result, pc));
      } catch (error) {
        if (!(error instanceof ImageError)) throw error;
        const { code, sentence } = describeError(error);
        failures.push({ path, code, message: sentence });
        exitCode = terminal.fail(error);
      }
    }
  } catch (error) {
    cutShort = true;
    if (!signal.aborted) exitCode = terminal.fail(error);
  }
  const leftOver = (await session?.close()) ?? [];
  // After a failure that is most likely its consequence, and one sentence says enough.
  if (!cutShort) for (const error of leftOver) terminal.warn(error);
  signal.throwIfAborted();
  if (options.json !== undefined && results.length > 0) {
    const report: DetectReport = failures.length === 0 ? { results } : { results, failures };
    const text = `${JSON.stringify(report, null, 2)}\n`;
    if (toStdout) terminal.print(text);
    else await writeWhole(options.json, text);
  }
  return exitCode;
}

interface Decoded {
  readonly image: Image;
  readonly decodeMs: number;
}

/** @throws ImageError */
async function decode(path: string): Promise<Decoded> {
  const bytes = await readInput(path).catch((error: unknown) => {
    throw error instanceof CliError ? new ImageError(error.code, error.message, { cause: error }) : error;
  });
  const start = performance.now();
  try {
    const image = await decodeImage(bytes);
    return { image, decodeMs: performance.now() - start };
  } catch (cause) {
    switch (codeOf(cause) ?? '') {
      case 'ERR_IMAGE_UNSUPPORTED':
        throw new ImageError(
          'ERR_IMAGE_UNSUPPORTED',
          `${path} is no JPEG, PNG, WebP or TIFF image; convert it first.`,
          {
            cause,
          },
        );
      case 'ERR_IMAGE_CORRUPT':
        throw new ImageError('ERR_IMAGE_CORRUPT', `${path} is truncated or damaged; copy or export it again.`, {
          cause,
        });
      case 'ERR_IMAGE_TOO_LARGE':
        throw new ImageError('ERR_IMAGE_TOO_LARGE', `${path} has too many pixels; cut it into parts first.`, { cause });
      default:
        throw cause;
    }
  }
}

/** A failure of one image that says nothing about the next. */
class ImageError extends CliError {}

async function detectOne(
  path: string,
  { image, decodeMs }: Decoded,
  { pipeline }: Session,
  pictures: PictureWriter | undefined,
): Promise<DetectResult> {
  const { width, height } = image;
  const { detections, truncated, timings } = await pipeline.detect(image);
  const { preprocess, infer, postprocess } = timings;
  return {
    ...pipeline.origin,
    image: { path, width, height },
    detections,
    ...(truncated ? { truncated } : {}),
    timings: {
      decode: rounded(decodeMs, 2),
      preprocess: rounded(preprocess, 2),
      infer: rounded(infer, 2),
      postprocess: rounded(postprocess, 2),
      total: rounded(decodeMs + preprocess + infer + postprocess, 2),
    },
    ...(pictures === undefined ? {} : { annotated: await pictures.write(path, image, detections) }),
  };
}

/** Puts annotated pictures into a directory, which it makes when the first one is there. */
class PictureWriter {
  readonly #folder: string;
  readonly #names: OutputNames;
  #tiles: LabelTiles | undefined;

  private constructor(folder: string, names: OutputNames) {
    this.#folder = folder;
    this.#names = names;
  }

  static async create(folder: string, inputs: readonly string[]): Promise<PictureWriter> {
    await checkOutputFolder(folder);
    return new PictureWriter(folder, await OutputNames.create(folder, inputs));
  }

  /** Draws into the image's own pixels. @returns the path written */
  async write(input: string, image: Image, detections: DetectResult['detections']): Promise<string> {
    this.#tiles ??= new LabelTiles(await loadGlyphs());
    await annotate(image, detections, this.#tiles);
    const jpeg = await encodeJpeg(image);
    const path = this.#names.next(input);
    await makeOutputFolder(this.#folder);
    await writeWhole(path, jpeg);
    return path;
  }
}
