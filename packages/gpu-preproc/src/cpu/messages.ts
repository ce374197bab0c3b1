import type { Pixels } from '../reference/pixels.js';
import type { TensorRecipe } from '../reference/tensor.js';
import type { Bands } from './bands.js';

/** Where a thread finds the tensor: shared memory of this process, or a region of POSIX shared memory. */
export type Destination =
  | { readonly buffer: SharedArrayBuffer; readonly byteOffset: number }
  | {
      readonly key: string;
      /** The part of the region that is mapped. */
      readonly byteOffset: number;
      readonly byteLength: number;
      /** Where in it the tensor begins. */
      readonly start: number;
      /** The bytes that the tensor begins with now: another region of the same name, or a mapping of an earlier one, has others. */
      readonly token: Uint8Array;
    };

/** Bands of a tensor that a thread is asked to write. Nothing in it is copied but small objects. */
export interface Job {
  readonly id: number;
  /** `data` lies in a SharedArrayBuffer. */
  readonly image: Pixels;
  readonly recipe: TensorRecipe;
  /** The same for the same recipe, of which the thread then has the tables already. */
  readonly recipeId: number;
  readonly destination: Destination;
  /** Elements of the tensor. */
  readonly count: number;
  readonly bands: Bands;
}

/** A thread finds no free band any more; with `failure`, because it could not work on. */
export interface Answer {
  readonly id: number;
  readonly failure?: string;
}

/** What a thread says first: its program runs. */
export const READY = 'ready';
