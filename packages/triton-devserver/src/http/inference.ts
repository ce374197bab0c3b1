import type { Core } from '../core/core.js';
import type { InferenceResponse } from '../core/inference.js';
import type { IsForwarded } from '../forwarded-headers.js';
import { unsupported } from '../status.js';
import { decompressed, UnsupportedEncoding } from './compression.js';
import type { Exchange, HttpRequest } from './exchange.js';
import { readGenerate } from './generate-request.js';
import { generateAnswer, NOT_ONE_ANSWER } from './generate-response.js';
import { jsonLength, readInfer } from './infer-request.js';
import { encoded, inferReply } from './infer-response.js';
import type { ByteText } from './json-writer.js';
import { bytesOf, errorReply, errorText, JSON_TYPE, plainErrorReply, plainReply, type Reply } from './reply.js';

/** Which model is asked. */
export interface Asked {
  readonly model: string;
  readonly version: string;
}

/** An answer whose bytes are neither JSON nor anything else. */
const NO_ANSWER = Buffer.of(0xff, 0x00, 0x7b);
const EVENTS = 'text/event-stream; charset=utf-8';

function only(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Headers whose name matches are parameters for the model, in the client's spelling. */
function forwardedOf(rawHeaders: readonly string[], isForwarded: IsForwarded): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (isForwarded(name)) forwarded[name] = value;
  }
  return forwarded;
}

/** POST …/infer. Errors found before the JSON is read, and a model's own, do not say that they are JSON. */
export async function infer(
  { model, version }: Asked,
  request: HttpRequest,
  exchange: Exchange,
  core: Core,
  isForwarded: IsForwarded,
): Promise<void> {
  const { headers } = request;
  let body: Buffer;
  let json: number;
  try {
    if (core.isDecoupled(model, version)) {
      throw unsupported("HTTP end point doesn't support models with decoupled transaction policy");
    }
    body = await decompressed(request.body, headers['content-encoding']);
    json = jsonLength(only(headers['inference-header-content-length']), body.byteLength);
  } catch (error) {
    exchange.send(earlyReply(error));
    return;
  }
  try {
    // Nothing cancels it: a real server goes on when the connection ends (seen on 2.51 and 2.48).
    const { signal } = new AbortController();
    const forwarded = forwardedOf(request.rawHeaders, isForwarded);
    const read = readInfer(body, json, { model, version, regions: core.regions, forwarded, signal });
    core.infer(read.request, (response) => {
      void answer(response, read.isBinary, only(headers['accept-encoding']), exchange);
    });
  } catch (error) {
    exchange.send(errorReply(error));
  }
}

function earlyReply(error: unknown): Reply {
  const reply = plainErrorReply(error);
  return error instanceof UnsupportedEncoding ? { ...reply, headers: [['Accept-Encoding', 'gzip, deflate']] } : reply;
}

async function answer(
  response: InferenceResponse,
  isBinary: (output: string) => boolean,
  acceptEncoding: string | undefined,
  exchange: Exchange,
): Promise<void> {
  if (response.lost === true) return;
  try {
    if (response.error !== undefined) throw response.error;
    if (response.garbled === true) exchange.send({ status: 200, contentType: JSON_TYPE, body: [NO_ANSWER] });
    else exchange.send(await encoded(inferReply(response, isBinary), acceptEncoding));
  } catch (error) {
    exchange.fail(error, plainErrorReply);
  }
}

/** POST …/generate and …/generate_stream. */
export function generate(
  { model, version }: Asked,
  request: HttpRequest,
  exchange: Exchange,
  core: Core,
  streams: boolean,
): void {
  const encoding = request.headers['content-encoding'];
  try {
    // Whether there is such a model is told first.
    core.isDecoupled(model, version);
    if (encoding !== undefined && encoding !== 'identity') {
      exchange.send({
        ...plainReply(400, "Unsupported content-encoding, only 'identity' is supported."),
        contentType: JSON_TYPE,
      });
      return;
    }
    const generated = streams ? new EventStream(exchange) : new SingleAnswer(exchange);
    core.infer(readGenerate(request.body, model, version, core), (response) => generated.take(response));
  } catch (error) {
    exchange.fail(error);
  }
}

/** Waits for the last answer: there has to be exactly one. */
class SingleAnswer {
  readonly #exchange: Exchange;
  #answers = 0;
  #failed = false;
  #first: ByteText = '';

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  take(response: InferenceResponse): void {
    if (!response.empty && response.lost !== true) {
      if (this.#answers === 0) {
        const { text, failed } = generateAnswer(response);
        this.#first = response.garbled === true ? NO_ANSWER.toString('latin1') : text;
        this.#failed = failed;
      }
      this.#answers += 1;
    }
    if (!response.final) return;
    // The code of an error is lost, and the first answer alone decides (seen on 2.51).
    this.#exchange.begin(this.#failed ? 400 : 200, JSON_TYPE);
    this.#exchange.chunk(bytesOf(this.#answers === 1 ? this.#first : errorText(NOT_ONE_ANSWER)));
    if (response.saysFinal !== false) this.#exchange.end();
  }
}

/** Each answer is an event; the first one decides the status. */
class EventStream {
  readonly #exchange: Exchange;
  #begun = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  take(response: InferenceResponse): void {
    const { text, failed } = generateAnswer(response);
    if (!this.#begun && (response.final || response.lost !== true)) {
      this.#begun = true;
      this.#exchange.begin(failed ? 400 : 200, EVENTS);
    }
    if (!response.empty && response.lost !== true) {
      const event = response.garbled === true ? NO_ANSWER.toString('latin1') : text;
      this.#exchange.chunk(bytesOf(`data: ${event}\n\n`));
    }
    if (response.final && response.saysFinal !== false) this.#exchange.end();
  }
}
