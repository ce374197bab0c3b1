/** A tensor on its way to the thread or back: its bytes in a buffer of its own, or texts. */
export interface Sent {
  readonly name: string;
  /** ONNX Runtime's. */
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: ArrayBuffer | readonly string[];
}

/** What ONNX Runtime says of a tensor of the file. */
export interface DescribedTensor {
  readonly name: string;
  /** False for sequences and maps. */
  readonly isTensor: boolean;
  readonly type: string;
  /** A name where a dimension is not fixed. */
  readonly shape: readonly (number | string)[];
}

/** The inputs and outputs of a file, in its order. */
export interface Described {
  readonly inputs: readonly DescribedTensor[];
  readonly outputs: readonly DescribedTensor[];
}

/** What the thread is told: executions, each with its number, or that it is over. */
export type Message =
  | { readonly id: number; readonly inputs: readonly Sent[]; readonly outputs: readonly string[] }
  | 'close';

/** What it says: first that it has read the model, or why not. */
export type Answer =
  | { readonly described: Described }
  | { readonly failed: string }
  /** `spare`: the buffers of the inputs, for later ones. */
  | { readonly id: number; readonly outputs: readonly Sent[]; readonly spare: readonly ArrayBuffer[] }
  | { readonly id: number; readonly error: string };
