import { status as Grpc, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Core } from '../core/core.js';
import type { InferenceResponse } from '../core/inference.js';
import { type ServerError, textOf } from '../status.js';
import { ModelInferRequest, ModelStreamInferResponse } from './gen/grpc_service.js';
import { readInfer, wantsEmptyFinal } from './infer-request.js';
import { inferMessage, NO_MESSAGE, withFailure } from './infer-response.js';
import { statusOf } from './status-of.js';

export interface StreamOptions {
  readonly core: Core;
  readonly forwarded: Readonly<Record<string, string>>;
  /** `triton_grpc_error: true` came with the call, and this version knows it. */
  readonly errorsEnd: boolean;
  /** What the real server dies of. */
  readonly crash: (reason: string) => void;
}

/** A place in the order of answers: a request that is not decoupled answers when all before it have. */
interface Place {
  readonly messages: Buffer[];
  done: boolean;
}

/** One ModelStreamInfer call. */
export class InferStream {
  readonly #call: ServerDuplexStream<Buffer, Buffer>;
  readonly #options: StreamOptions;
  readonly #places: Place[] = [];
  readonly #abort = new AbortController();
  #inFlight = 0;
  #halfClosed = false;
  #over = false;

  constructor(call: ServerDuplexStream<Buffer, Buffer>, options: StreamOptions) {
    this.#call = call;
    this.#options = options;
    call.on('data', (bytes: Buffer) => this.#take(bytes));
    call.on('end', () => {
      this.#halfClosed = true;
      this.#endWhenDone();
    });
    call.on('cancelled', () => {
      this.#over = true;
      this.#abort.abort();
    });
    call.on('error', () => {
      this.#over = true;
    });
  }

  #take(bytes: Buffer): void {
    if (this.#over) return;
    let message: ModelInferRequest;
    try {
      message = ModelInferRequest.decode(bytes);
    } catch {
      // The real server ends the stream with OK, and says nothing (seen on 2.51).
      this.#halfClosed = true;
      this.#endWhenDone();
      return;
    }
    const place: Place = { messages: [], done: false };
    const { core, forwarded } = this.#options;
    this.#inFlight += 1;
    try {
      const decoupled = core.isDecoupled(message.model_name, message.model_version);
      const request = readInfer(message, { regions: core.regions, forwarded, signal: this.#abort.signal });
      const wantsEmpty = wantsEmptyFinal(message);
      if (!decoupled) this.#places.push(place);
      core.infer(request, (response) => {
        this.#answer(withFailure(response, request.version), decoupled ? undefined : place, wantsEmpty);
      });
    } catch (error) {
      // Found before the model ran: the answer has the id alone, and no flag.
      if (!this.#places.includes(place)) this.#places.push(place);
      place.messages.push(
        messageBytes(
          ModelStreamInferResponse.fromPartial({ error_message: textOf(error), infer_response: { id: message.id } }),
        ),
      );
      this.#finish(place);
    }
  }

  #answer(response: InferenceResponse, place: Place | undefined, wantsEmpty: boolean): void {
    const { error, final, empty } = response;
    if (error !== undefined && this.#options.errorsEnd) {
      if (this.#inFlight > 1)
        this.#options.crash('an error on a stream with triton_grpc_error and other requests in flight');
      else this.#fail(error);
      return;
    }
    if ((!empty || wantsEmpty) && response.lost !== true) {
      const bytes = response.garbled === true ? NO_MESSAGE : encode(response);
      if (place === undefined) this.#write(bytes);
      else place.messages.push(bytes);
    }
    if (!final) return;
    if (place === undefined) this.#ended();
    else this.#finish(place);
  }

  #finish(place: Place): void {
    place.done = true;
    while (this.#places[0]?.done === true) {
      for (const message of this.#places.shift()?.messages ?? []) this.#write(message);
    }
    this.#ended();
  }

  #ended(): void {
    this.#inFlight -= 1;
    this.#endWhenDone();
  }

  #write(bytes: Buffer): void {
    if (!this.#over) this.#call.write(bytes);
  }

  #fail(error: ServerError): void {
    if (this.#over) return;
    this.#over = true;
    this.#call.emit('error', statusOf(error));
  }

  #endWhenDone(): void {
    if (!this.#halfClosed || this.#inFlight > 0 || this.#over) return;
    this.#over = true;
    // grpc-js's own end says "OK" where the real server says nothing.
    this.#call.emit('error', { code: Grpc.OK, details: '' });
  }
}

const messageBytes = (message: ModelStreamInferResponse) =>
  Buffer.from(ModelStreamInferResponse.encode(message).finish());

function encode(response: InferenceResponse): Buffer {
  const { error, final, saysFinal = final } = response;
  return messageBytes({
    error_message: error?.message ?? '',
    infer_response: inferMessage(response, { triton_final_response: saysFinal }),
  });
}
