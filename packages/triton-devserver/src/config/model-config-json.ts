import type { ModelConfig } from '../grpc/gen/types/model_config.js';

/**
 * A part of a message as JSON has it: 64-bit numbers may also be numbers or text, maps are objects, enums their names. What
 * is left out has its default.
 */
export type JsonOf<T> = T extends bigint
  ? bigint | number | string
  : T extends string
    ? Exclude<T, 'UNRECOGNIZED'>
    : T extends number | boolean | undefined
      ? T
      : T extends ReadonlyMap<bigint, infer V>
        ? { readonly [key: string]: JsonOf<V> }
        : T extends readonly (infer U)[]
          ? readonly JsonOf<U>[]
          : { readonly [K in keyof T]?: JsonOf<T[K]> };

/** A model's configuration as users write it in code: the JSON form of config.pbtxt. The server completes it. */
export type ModelConfigJson = JsonOf<ModelConfig>;
