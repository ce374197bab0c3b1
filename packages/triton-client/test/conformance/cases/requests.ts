import { type InferRequest, tensor } from '../../../src/index.js';

/** For `add_sub`: 0 to 15 in each row of the first input, 1 everywhere in the second. */
export function addSub(batch = 1): InferRequest {
  const first = Int32Array.from({ length: batch * 16 }, (_, index) => index % 16);
  return {
    inputs: {
      INPUT0: tensor('INT32', [batch, 16], first),
      INPUT1: tensor('INT32', [batch, 16], new Int32Array(batch * 16).fill(1)),
    },
  };
}

/** For `hold`. */
export function one(): InferRequest {
  return { inputs: { INPUT0: tensor('INT32', [1, 1], Int32Array.of(1)) } };
}

/** What the model `request_info` was told. */
export interface Told {
  readonly id: string;
  readonly sequence: number | string;
  readonly start: boolean;
  readonly end: boolean;
  readonly timeout: number;
  readonly parameters: Readonly<Record<string, unknown>>;
}
