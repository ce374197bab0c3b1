/** The public types of model handles. */

import type { CallOptions, Datatype, InferRequest, OutputRequest, RegionTensor, Tensor } from './request.js';
import type { InferOutput, InferResult, InferStream, Settlement, StreamResult } from './result.js';

/**
 * A model's tensors and their datatypes, for the compiler: `{ inputs: { IMAGE: 'FP32'; MASK?: 'BOOL' }; outputs: { … } }`.
 * An input with `?` may be left out. The command `types` writes it. The compiler takes your word for it; that a request
 * is the model's is checked when it is made.
 */
export interface ModelTypes {
  readonly inputs: object;
  readonly outputs: object;
}

/** Any names, any datatypes. */
export interface AnyModel {
  readonly inputs: Readonly<Record<string, Datatype>>;
  readonly outputs: Readonly<Record<string, Datatype>>;
}

/** `unknown` stands for every datatype; what is none fits no tensor. */
export type DatatypeOf<T> = unknown extends T ? Datatype : Extract<T, Datatype>;

/** A request to a model whose tensors are known; its version is the handle's. */
export interface ModelRequest<M extends ModelTypes = AnyModel>
  extends Omit<InferRequest, 'inputs' | 'outputs' | 'version'> {
  readonly inputs: {
    readonly [Name in keyof M['inputs']]:
      | Tensor<DatatypeOf<M['inputs'][Name]>>
      | RegionTensor<DatatypeOf<M['inputs'][Name]>>;
  };
  readonly outputs?: { readonly [Name in keyof M['outputs']]?: OutputRequest };
}

/** An output that was asked for by its classes is BYTES, whatever the model's is: read `strings()`. */
interface TypedOutputs<M extends ModelTypes> {
  output<Name extends keyof M['outputs'] & string>(name: Name): InferOutput<DatatypeOf<M['outputs'][Name]>>;
}

export interface ModelResult<M extends ModelTypes = AnyModel> extends Omit<InferResult, 'output'>, TypedOutputs<M> {}

export interface ModelCall<M extends ModelTypes = AnyModel> extends Promise<ModelResult<M>> {
  readonly settled: Promise<Settlement>;
}

export interface ModelStreamResult<M extends ModelTypes = AnyModel>
  extends Omit<StreamResult, 'output'>,
    TypedOutputs<M> {}

export interface ModelStream<M extends ModelTypes = AnyModel> extends InferStream<ModelStreamResult<M>> {}

export interface PreparedModelRequest<M extends ModelTypes = AnyModel> {
  readonly byteLength: number;
  infer(options?: CallOptions): ModelCall<M>;
}
