import { rangeError } from '../check.js';
import type { TritonError } from '../errors.js';
import { malformedAnswer } from '../lazy-result.js';
import type { CheckedOutput, CheckedRequest } from '../request.js';
import { requestError } from '../request-error.js';
import { StreamAnswerResult } from '../stream-result.js';
import type { InferResult, StreamResult } from '../types/result.js';
import { refusedUnrun, type StreamAnswer } from './decode.js';
import { type EncodedRequest, encodeRequest } from './encode.js';
import { errorOfLaneText } from './lane-errors.js';

interface Outstanding {
  readonly index: number;
  readonly encoded: EncodedRequest;
  readonly outputsInRegion: boolean;
  /** The first answer of a request whose outputs lie in regions: it counts when no other follows. */
  held: InferResult | undefined;
  /** The error is told; what still comes is not. */
  overwritten: boolean;
}

/** The requests of one stream that are not over yet, and what their answers mean. */
export class StreamRequests {
  readonly #model: string;
  readonly #outstanding = new Map<string, Outstanding>();
  #sent = 0;
  #namesRegion = false;

  constructor(model: string) {
    this.#model = model;
  }

  /** The outputs that the request with this id named. */
  readonly asked = (id: string): readonly CheckedOutput[] => this.#outstanding.get(id)?.encoded.outputs ?? [];

  get outstanding(): number {
    return this.#outstanding.size;
  }

  /** How many were added. */
  get sent(): number {
    return this.#sent;
  }

  /** True once a request names memory of ours. */
  get namesRegion(): boolean {
    return this.#namesRegion;
  }

  /**
   * The bytes of a request that is now outstanding. It asks a decoupled model's end to be told, and gets an id where
   * it has none: answers to several requests may come in any order.
   *
   * @throws RangeError for an id that an outstanding request has
   */
  add(request: CheckedRequest): Buffer {
    const index = this.#sent;
    const id = request.id === '' ? `zerohop-${index}` : request.id;
    if (this.#outstanding.has(id)) throw rangeError('an id that no outstanding request has', 'id', id);
    const parameters = [...request.parameters, ['triton_enable_empty_final_response', true] as const];
    const encoded = encodeRequest({ ...request, id, parameters });
    const outputsInRegion = request.outputs.some(({ region }) => region !== undefined);
    this.#outstanding.set(id, { index, encoded, outputsInRegion, held: undefined, overwritten: false });
    this.#sent += 1;
    this.#namesRegion ||= request.namesRegion;
    return encoded.bytes;
  }

  /**
   * The results that an answer makes: none, one or two.
   *
   * @throws TritonError `TRITON_MALFORMED_RESPONSE` for an answer to no outstanding request
   */
  accept(answer: StreamAnswer): StreamResult[] {
    const { id } = answer.result;
    const request = this.#outstanding.get(id);
    if (request === undefined) throw malformedAnswer(`it is for '${id}', which no request on the stream has`);
    // An error found before the model ran comes without the mark, and nothing follows it.
    if (answer.final) this.#outstanding.delete(id);
    return this.#results(request, answer);
  }

  #results(request: Outstanding, { error: text, final, result }: StreamAnswer): StreamResult[] {
    const { index, held } = request;
    if (request.overwritten) return final ? [new StreamAnswerResult(index, true, result)] : [];
    const results: StreamResult[] = [];
    if (text !== undefined) {
      const error = errorOfLaneText(text, request.encoded, refusedUnrun(result));
      // The block is still as the held answer left it: only another answer with data would write it again.
      if (held !== undefined && final) results.push(new StreamAnswerResult(index, false, held));
      results.push(new StreamAnswerResult(index, final, result, error));
    } else if (request.outputsInRegion && result.outputs.length > 0) {
      if (held !== undefined) {
        request.overwritten = true;
        results.push(new StreamAnswerResult(index, final, result, this.#overwritten(request)));
      } else if (final) results.push(new StreamAnswerResult(index, true, result));
      else request.held = result;
    } else if (held !== undefined) {
      results.push(new StreamAnswerResult(index, final, held));
      request.held = undefined;
    } else results.push(new StreamAnswerResult(index, final, result));
    return results;
  }

  #overwritten({ encoded }: Outstanding): TritonError {
    const text =
      'the model is decoupled and gave a second answer, which was written over the first one in its region: ' +
      'have the outputs in the message';
    return requestError({ model: this.#model, id: encoded.id }, 'TRITON_REGION_OVERWRITTEN', text);
  }
}
