/** x1, y1, x2, y2: two corners in pixels. */
export type Box = [x1: number, y1: number, x2: number, y2: number];

export interface Detection {
  readonly box: Box;
  /** As the model gave it, fp32. */
  readonly score: number;
  readonly classId: number;
  /** The class's name; its id in digits when the detector was given no labels. */
  readonly label: string;
}

/** What one picture held, best first. Owns its arrays; objects are made only while iterating. */
export class Detections implements Iterable<Detection> {
  /** x1, y1, x2, y2 of each detection, flat: in pixels of the picture when a geometry was given, else of the tensor. */
  readonly boxes: Float32Array;
  readonly scores: Float32Array;
  readonly classIds: Int32Array;
  /** A cap (`maxCandidates` or `maxDetections`) was met, so that further objects may have been left out. */
  readonly truncated: boolean;
  /** How many boxes have a NaN or infinite coordinate as the model gave them; 0 from a healthy model. */
  readonly nonFinite: number;
  readonly #labels: readonly string[] | undefined;

  /** @internal Arrays of matching lengths only. */
  constructor(
    arrays: Pick<Detections, 'boxes' | 'scores' | 'classIds' | 'truncated' | 'nonFinite'>,
    labels: readonly string[] | undefined,
  ) {
    this.boxes = arrays.boxes;
    this.scores = arrays.scores;
    this.classIds = arrays.classIds;
    this.truncated = arrays.truncated;
    this.nonFinite = arrays.nonFinite;
    this.#labels = labels;
  }

  get length(): number {
    return this.scores.length;
  }

  /** The detection at `index`, 0 being the best; a negative index counts from the end. Undefined outside. */
  at(index: number): Detection | undefined {
    const i = index < 0 ? this.length + index : index;
    const score = this.scores[i];
    const classId = this.classIds[i];
    if (score === undefined || classId === undefined) return undefined;
    const [x1, y1, x2, y2] = this.boxes.subarray(4 * i, 4 * i + 4);
    const box = [x1, y1, x2, y2] as Box;
    return { box, score, classId, label: this.#labels?.[classId] ?? String(classId) };
  }

  *[Symbol.iterator](): IterableIterator<Detection> {
    for (let i = 0; i < this.length; i++) yield this.at(i) as Detection;
  }
}
