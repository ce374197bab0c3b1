import type { TensorBlock } from '@zerohop/cuda-native/tensor';
import { Detector } from '@zerohop/gpu-postproc';
import { imageFrom, type Preprocessor } from '@zerohop/gpu-preproc';
import type { TensorPool } from '@zerohop/shm-pool';
import { findFault } from './answer.js';
import { CliError } from './errors.js';
import type { DetectorModel } from './model.js';
import { testPicture } from './test-picture.js';

/** One object that the model must find in the test picture. The box is in pixels of the model's input. */
export interface KnownObject {
  readonly classId: number;
  readonly score: number;
  readonly box: readonly [number, number, number, number];
}

/** How far an answer may be from the known one. GPU and CPU differ by far less. */
const scoreTolerance = 0.02;
const smallestIou = 0.9;

/** How many of the best objects are worth writing down. */
const knownObjectCount = 5;

/** Reads a model configuration's `self_check`: `classId score x1 y1 x2 y2`, objects separated by semicolons. */
export function parseKnownObjects(text: string): KnownObject[] {
  return text.split(';').map((part) => {
    const [classId, score, ...box] = part.trim().split(/\s+/).map(Number);
    if (
      classId === undefined ||
      score === undefined ||
      box.length !== 4 ||
      ![classId, score, ...box].every(Number.isFinite)
    ) {
      throw new CliError(
        'ERR_SELF_CHECK',
        `The model's parameter self_check can't be read at "${part.trim()}"; expected "classId score x1 y1 x2 y2".`,
      );
    }
    return { classId, score, box: box as unknown as KnownObject['box'] };
  });
}

/** The other way round: what to write into the configuration. */
export function formatKnownObjects(objects: readonly KnownObject[]): string {
  return objects
    .map(({ classId, score, box }) => [classId, score.toFixed(3), ...box.map((v) => v.toFixed(1))].join(' '))
    .join('; ');
}

/** How a set of found objects differs from the known one: a clause for an error message, or undefined when it does not. */
export function findDifference(known: readonly KnownObject[], found: readonly KnownObject[]): string | undefined {
  for (const object of known) {
    const match = found.find(
      ({ classId, score, box }) =>
        classId === object.classId &&
        Math.abs(score - object.score) <= scoreTolerance &&
        iou(box, object.box) >= smallestIou,
    );
    if (match === undefined) {
      return `class ${object.classId} with score ${object.score} at [${object.box.join(', ')}] is missing`;
    }
  }
  return undefined;
}

/**
 * Sends the test picture through the slot that the real ones will use, and compares. It notices a backend that
 * answers without writing its output (numpy 2 under Triton's Python backend does), or that computes something else.
 * Doubles as the warm-up.
 * @throws CliError ERR_SELF_CHECK
 */
export async function selfCheck(
  model: DetectorModel,
  pool: TensorPool,
  preprocessor: Preprocessor,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly serverLog: () => string },
): Promise<void> {
  const { input, output } = model;
  const { signal, timeoutMs, serverLog } = options;
  const known = model.parameters.self_check;
  const picture = imageFrom(testPicture(input.width, input.height), {
    width: input.width,
    height: input.height,
    format: 'RGB8',
  });
  const lease = await pool.acquire({ signal });
  try {
    if (pool.transport !== 'bytes') await poison(lease.output<'FP32'>(output.name));
    await preprocessor.run(picture, lease.input(input.name));
    const reply = await lease.infer({ signal, timeoutMs });
    const block = reply.output<'FP32'>(output.name);
    const fault = findFault(model, block.shape, await block.read());
    if (fault !== undefined) throw broken(model, fault, serverLog());
    if (known === undefined) return;
    const detector = await Detector.create({ source: pool.output(output.name), head: 'yolov8' });
    try {
      const found = [...(await detector.run(block))];
      const difference = findDifference(parseKnownObjects(known), found);
      if (difference !== undefined) {
        const answer = new Error(`The answer was "${formatKnownObjects(found.slice(0, knownObjectCount))}"`);
        throw broken(model, difference, serverLog(), { cause: answer });
      }
    } finally {
      await detector.close();
    }
  } finally {
    lease[Symbol.dispose]();
  }
}

/** An answer that never comes would otherwise look like the one before it. */
async function poison(block: TensorBlock<'FP32'>): Promise<void> {
  await block.write(new Float32Array(block.byteLength / Float32Array.BYTES_PER_ELEMENT).fill(Number.NaN));
}

function broken(model: DetectorModel, what: string, log: string, options?: ErrorOptions): CliError {
  return new CliError(
    'ERR_SELF_CHECK',
    `Model "${model.name}" gave a wrong answer to the start-up self-check (${what}), so its results can't be trusted; look at ${log} and at the versions of its backend.`,
    options,
  );
}

function iou(a: KnownObject['box'], b: KnownObject['box']): number {
  const width = Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]));
  const height = Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const shared = width * height;
  const area = (box: KnownObject['box']) => (box[2] - box[0]) * (box[3] - box[1]);
  return shared / (area(a) + area(b) - shared);
}
