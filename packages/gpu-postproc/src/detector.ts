import type { TensorBlock, TensorSpec } from '@zerohop/cuda-native/tensor';
import { checkBoolean, checkNumberIn, checkOneOf, checkPositiveInteger, outOfRange, wrongType } from './arguments.js';
import { type Box, Detections } from './detections.js';
import { PostprocError } from './errors.js';
import { greedyNms } from './reference/nms.js';
import { decodeYolov8 } from './reference/yolov8.js';
import { checkBlock, hostElements, readYolov8Source, type Yolov8Source } from './source.js';

/** What brings a box back from tensor pixels to the picture's: the geometry that a preprocessor returned. */
export interface BoxMapper {
  toImage(box: readonly [number, number, number, number]): readonly [number, number, number, number];
}

export interface DetectorOptions {
  /** The tensor to read: `[1, 4 + classes, anchors]`, FP32. A pool's `output(name)` is one. */
  readonly source: TensorSpec;
  /** `'yolov8'` is the anchor-free head of YOLOv8, 9, 11 and 12 as exported without NMS. */
  readonly head: 'yolov8';
  /** A name for each class, in the order of their ids. */
  readonly labels?: readonly string[];
  /** A score must be above this. From 0 to 1. @defaultValue 0.25 */
  readonly scoreThreshold?: number;
  /** Two boxes with a higher IoU are one object. From 0 to 1. @defaultValue 0.45 */
  readonly iouThreshold?: number;
  /** Most detections of one picture. @defaultValue 300 */
  readonly maxDetections?: number;
  /** Most boxes that NMS looks at, the best ones. @defaultValue 30000 */
  readonly maxCandidates?: number;
  /** Lets boxes of different classes suppress each other. @defaultValue false */
  readonly classAgnostic?: boolean;
  /** Only these class ids, filtered before any cap is applied. @defaultValue all */
  readonly classes?: readonly number[];
  /** Leaves out boxes with a NaN or infinite coordinate; else they are returned and counted. @defaultValue false */
  readonly dropNonFinite?: boolean;
}

interface Settings {
  readonly labels: readonly string[] | undefined;
  readonly scoreThreshold: number;
  readonly iouThreshold: number;
  readonly maxDetections: number;
  readonly maxCandidates: number;
  readonly classAgnostic: boolean;
  readonly classes: readonly number[] | undefined;
  readonly dropNonFinite: boolean;
}

export interface DetectOptions {
  /**
   * Gives boxes in pixels of the picture, clamped to it; those of which nothing lies in the picture are left out,
   * after NMS. Absent: in pixels of the model's input, not clamped.
   */
  readonly geometry?: BoxMapper;
}

/**
 * Turns the output tensor of a detection model into detections. Several `run` calls may be in flight at once.
 *
 * Today the arithmetic runs on the JS thread: some 2 ms for `[1, 8, 162000]` with a few hundred candidates. A host
 * block is read in place; a CUDA block is first copied into a reused host buffer by `block.read`.
 */
export class Detector {
  readonly #source: Yolov8Source;
  readonly #settings: Settings;
  readonly #inFlight = new Set<Promise<unknown>>();
  /** Host copies for CUDA blocks that no run is using. */
  readonly #idle: Float32Array[] = [];
  #closed = false;

  private constructor(source: Yolov8Source, settings: Settings) {
    this.#source = source;
    this.#settings = settings;
  }

  /**
   * @throws TypeError, RangeError for a wrong option
   * @throws PostprocError ERR_TENSOR_MISMATCH for a source that is no output of the head
   */
  static async create(options: DetectorOptions): Promise<Detector> {
    if (typeof options !== 'object' || options === null) throw wrongType('object', 'options', options);
    checkOneOf('head', options.head, ['yolov8']);
    const source = readYolov8Source(options.source);
    return new Detector(source, {
      labels: options.labels === undefined ? undefined : checkLabels(options.labels, source.classes),
      scoreThreshold: checkNumberIn('scoreThreshold', options.scoreThreshold ?? 0.25, 0, 1),
      iouThreshold: checkNumberIn('iouThreshold', options.iouThreshold ?? 0.45, 0, 1),
      maxDetections: checkPositiveInteger('maxDetections', options.maxDetections ?? 300),
      maxCandidates: checkPositiveInteger('maxCandidates', options.maxCandidates ?? 30_000),
      classAgnostic: checkBoolean('classAgnostic', options.classAgnostic ?? false),
      classes: options.classes === undefined ? undefined : checkClasses(options.classes, source.classes),
      dropNonFinite: checkBoolean('dropNonFinite', options.dropNonFinite ?? false),
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Reads a block and gives what it holds, best first; the result keeps no reference to the block. The block is held
   * (`block.hold`) until then. What another process left in it is not trusted: any bytes give some answer.
   * @throws TypeError for no block
   * @throws PostprocError ERR_TENSOR_MISMATCH, ERR_DISPOSED
   */
  async run(block: TensorBlock, options: DetectOptions = {}): Promise<Detections> {
    if (this.#closed) throw new PostprocError('ERR_DISPOSED', 'The detector is closed');
    checkBlock(block, this.#source);
    const { geometry } = options;
    if (geometry !== undefined && typeof geometry?.toImage !== 'function') {
      throw wrongType('object with toImage()', 'geometry', geometry);
    }
    // Throws when the block's lease is over, before any work is started.
    const { memory } = block;
    const work =
      memory instanceof Uint8Array ? this.#runHost(memory, block, geometry) : this.#runDevice(block, geometry);
    block.hold(work);
    this.#inFlight.add(work);
    try {
      return await work;
    } finally {
      this.#inFlight.delete(work);
    }
  }

  async #runHost(memory: Uint8Array, block: TensorBlock<'FP32'>, geometry: BoxMapper | undefined): Promise<Detections> {
    return this.#detect(hostElements(memory, block.byteLength), block.shape, geometry);
  }

  async #runDevice(block: TensorBlock<'FP32'>, geometry: BoxMapper | undefined): Promise<Detections> {
    const { shape, byteLength } = block;
    const whole = this.#idle.pop() ?? new Float32Array((4 + this.#source.classes) * this.#source.anchors);
    try {
      const elements = whole.subarray(0, byteLength / 4);
      await block.read(elements);
      return this.#detect(elements, shape, geometry);
    } finally {
      if (!this.#closed) this.#idle.push(whole);
    }
  }

  #detect(elements: Float32Array, shape: readonly number[], geometry: BoxMapper | undefined): Detections {
    const { labels, dropNonFinite, ...settings } = this.#settings;
    const candidates = decodeYolov8(elements, shape, settings);
    if (dropNonFinite) {
      // A NaN score takes a candidate out of the order; a box that is not finite suppresses nothing anyway.
      candidates.scores.forEach((_, k) => {
        if (!isFiniteBox(candidates.boxes, k)) candidates.scores[k] = NaN;
      });
    }
    const { indices, truncated } = greedyNms(candidates.boxes, candidates.scores, {
      ...settings,
      classIds: candidates.classIds,
    });
    const mapped = new Float32Array(4 * indices.length);
    let nonFinite = 0;
    const kept: number[] = [];
    indices.forEach((k) => {
      const finite = isFiniteBox(candidates.boxes, k);
      const [x1, y1, x2, y2] = candidates.boxes.subarray(4 * k, 4 * k + 4);
      const box = [x1, y1, x2, y2] as Box;
      const at = 4 * kept.length;
      mapped.set(geometry === undefined ? box : geometry.toImage(box), at);
      // The padding round a picture is no part of it.
      if (geometry !== undefined && finite && isEmpty(mapped, at)) return;
      if (!finite) nonFinite++;
      kept.push(k);
    });
    const boxes = mapped.slice(0, 4 * kept.length);
    const scores = Float32Array.from(kept, (k) => candidates.scores[k] as number);
    const classIds = Int32Array.from(kept, (k) => candidates.classIds[k] as number);
    return new Detections({ boxes, scores, classIds, truncated, nonFinite }, labels);
  }

  /** Refuses new work, waits for the runs in flight, then drops the buffers. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#inFlight);
    this.#idle.length = 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Without width or height. One whose corners have changed places is not: that fault of a model stays to be seen. */
function isEmpty(boxes: Float32Array, at: number): boolean {
  return boxes[at] === boxes[at + 2] || boxes[at + 1] === boxes[at + 3];
}

function isFiniteBox(boxes: Float32Array, index: number): boolean {
  return boxes.subarray(4 * index, 4 * index + 4).every(Number.isFinite);
}

function checkLabels(labels: unknown, classes: number): readonly string[] {
  if (!Array.isArray(labels) || !labels.every((label): label is string => typeof label === 'string')) {
    throw wrongType('array of strings', 'labels', labels);
  }
  if (labels.length !== classes) throw outOfRange(`${classes}, one for each class`, 'labels.length', labels.length);
  return [...labels];
}

function checkClasses(ids: unknown, classes: number): readonly number[] {
  if (!Array.isArray(ids)) throw wrongType('array of class ids', 'classes', ids);
  const known = (id: unknown): id is number => Number.isInteger(id) && Number(id) >= 0 && Number(id) < classes;
  if (!ids.every(known)) throw outOfRange(`class ids from 0 to ${classes - 1}`, 'classes', ids);
  return [...ids];
}
