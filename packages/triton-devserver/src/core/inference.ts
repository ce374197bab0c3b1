import type { Datatype } from '../datatype.js';
import type { ParameterValue } from '../model.js';
import type { ServerError } from '../status.js';
import type { RegionUse } from './regions.js';

/** Where a tensor's bytes are: in the message, or in a region of which the request holds a reference. */
export type TensorSource = { readonly bytes: Uint8Array } | { readonly region: RegionUse };

export interface RequestInput {
  readonly name: string;
  /** undefined: a name that the protocol does not know. */
  readonly datatype: Datatype | undefined;
  readonly shape: readonly number[];
  readonly source: TensorSource;
}

export interface RequestedOutput {
  readonly name: string;
  /** How many classes; undefined: the tensor itself. */
  readonly classification?: number | undefined;
  /** Where the tensor is to be written; undefined: into the message. Classes are in the message in any case. */
  readonly region?: RegionUse | undefined;
}

/** A request as a front end has read it; the core checks it against the model. */
export interface InferenceRequest {
  readonly id: string;
  readonly model: string;
  /** As asked for; '' lets the server choose. */
  readonly version: string;
  readonly inputs: readonly RequestInput[];
  /**
   * The one input of a request that is nothing but bytes (HTTP's raw binary request): name, datatype and shape come from
   * the model.
   */
  readonly rawInput?: Uint8Array | undefined;
  /** Empty asks for all. */
  readonly outputs: readonly RequestedOutput[];
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly sequence: { readonly id: bigint | string; readonly start: boolean; readonly end: boolean };
  readonly priority: bigint;
  readonly timeoutUs: bigint;
  readonly signal: AbortSignal;
}

export interface ResponseOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** undefined: it was written into the region that the request named. */
  readonly bytes: Uint8Array | undefined;
  /** It can't be given as it was asked for: thrown by the front end where it comes to it. */
  readonly failure?: ServerError;
}

/** One answer to a request. */
export interface InferenceResponse {
  readonly id: string;
  readonly model: string;
  /** The one that ran; in a model's error and in an empty answer the one asked for, '' as well. */
  readonly version: string;
  readonly outputs: readonly ResponseOutput[];
  /** What an ensemble adds; the same name may be there several times. */
  readonly parameters: readonly (readonly [name: string, value: ParameterValue])[];
  /** A model's error; errors found before it ran are thrown by `infer`. */
  readonly error?: ServerError | undefined;
  readonly final: boolean;
  /** Nothing but the end of a decoupled request: goes out only to those who asked for it. */
  readonly empty: boolean;
  /** A fault: the last answer does not say so. */
  readonly saysFinal?: false;
  /** A fault: it is not sent. */
  readonly lost?: true;
  /** A fault: what is sent in its place is no message. */
  readonly garbled?: true;
}

export type Responder = (response: InferenceResponse) => void;
