import { abortSignal, integer, milliseconds, typeError } from '../check.js';
import { TritonError } from '../errors.js';
import { checkHeaders } from '../headers.js';
import type {
  GenerateAnswer,
  GenerateBody,
  GenerateFailure,
  GenerateOptions,
  GenerateStreamOptions,
} from '../types/generate.js';
import { call } from './call.js';
import type { HttpConnection, OutgoingRequest } from './connection.js';
import { errorOfResponse, errorOfText, type HttpCallNames, httpError, isTritons } from './errors.js';
import { EventReader } from './events.js';
import type { Exchange } from './exchange.js';
import { JsonError, parseJson, writeJson } from './json.js';
import { modelPath, versionError } from './paths.js';
import type { HttpResponse } from './response.js';

/** Reading stops while so many answers wait for their reader. */
const MAX_WAITING = 64;

type Endpoint = 'generate' | 'generate_stream';

function requestOf(endpoint: Endpoint, model: string, body: GenerateBody, options: GenerateOptions): OutgoingRequest {
  const of = { model, version: options.version ?? '' };
  const error = versionError(of, endpoint);
  if (error !== undefined) throw error;
  return {
    method: 'POST',
    path: `${modelPath(of)}/${endpoint}`,
    headers: options.headers,
    ownHeaders: { 'content-type': 'application/json' },
    chunks: [Buffer.from(writeJson(body))],
  };
}

/** @throws TypeError or RangeError */
export function checkGenerateOptions(options: GenerateOptions): GenerateOptions {
  const { signal, timeoutMs, headers, version } = options;
  if (signal !== undefined) abortSignal(signal, 'signal');
  if (timeoutMs !== undefined) integer(milliseconds(timeoutMs, 'timeoutMs'), 'timeoutMs', 1);
  if (headers !== undefined) checkHeaders(headers, 'headers');
  if (version !== undefined && typeof version !== 'string') throw typeError('string', 'version', version);
  return options;
}

/** @throws TypeError or RangeError */
export function checkGenerateStreamOptions(options: GenerateStreamOptions): GenerateStreamOptions {
  const { onError } = options;
  if (onError !== undefined && onError !== 'throw' && onError !== 'yield') {
    throw typeError("'throw' or 'yield'", 'onError', onError);
  }
  checkGenerateOptions(options);
  return options;
}

/** Asks for the one answer of a request. Wrong arguments throw at once. */
export function generate(
  connection: HttpConnection,
  model: string,
  body: GenerateBody,
  options: GenerateOptions,
): Promise<GenerateAnswer> {
  const names = { method: 'generate', model } as const;
  const request = requestOf('generate', model, body, options);
  return call(connection, request, names, options).then((response) => {
    if (response.status !== 200) throw errorOfResponse(response, connection.address, names);
    const answer = answerOf(response.body.toString('utf8'), connection, names);
    if (answer instanceof TritonError) throw answer;
    return answer;
  });
}

/** Asks for any number of answers; sends the request when the first is asked for. Wrong arguments throw at once. */
export function generateStream(
  connection: HttpConnection,
  model: string,
  body: GenerateBody,
  options: GenerateStreamOptions,
): AsyncGenerator<GenerateAnswer | GenerateFailure, void, undefined> {
  const request = requestOf('generate_stream', model, body, options);
  return readStream(connection, request, { method: 'generate_stream', model }, options);
}

async function* readStream(
  connection: HttpConnection,
  request: OutgoingRequest,
  names: HttpCallNames,
  options: GenerateStreamOptions,
): AsyncGenerator<GenerateAnswer | GenerateFailure, void, undefined> {
  const reader = new EventReader();
  const waiting: string[] = [];
  let exchange: Exchange | undefined;
  let wake = () => {};
  const sink = (chunk: Buffer) => {
    waiting.push(...reader.read(chunk));
    if (waiting.length > MAX_WAITING) exchange?.pause();
    wake();
  };
  let end: { readonly response: HttpResponse } | { readonly error: unknown } | undefined;
  const failed = (error: TritonError): GenerateFailure => {
    if (options.onError !== 'yield') throw error;
    return { error };
  };
  const over = (outcome: typeof end) => {
    end = outcome;
    wake();
  };
  const started = (running: Exchange) => {
    exchange = running;
  };
  call(connection, { ...request, sink }, names, options, started).then(
    (response) => over({ response }),
    (error: unknown) => over({ error }),
  );
  try {
    for (;;) {
      const event = waiting.shift();
      if (event !== undefined) {
        const answer = answerOf(event, connection, names);
        yield answer instanceof TritonError ? failed(answer) : answer;
      } else if (end !== undefined) {
        break;
      } else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        // Hands over at once what has come meanwhile, which may be enough to pause again.
        exchange?.resume();
        await woken;
      }
    }
    if ('error' in end) throw end.error;
    if (end.response.status !== 200) {
      const error = errorOfResponse(end.response, connection.address, names);
      if (!isTritons(end.response)) throw error;
      yield failed(error);
    }
    if (reader.within) throw unreadable('the stream ends within an answer', connection, names);
  } finally {
    exchange?.abort(new Error('the reader stopped'));
  }
}

/** An error is one answer too, with status 200. @throws TritonError `TRITON_MALFORMED_RESPONSE` */
function answerOf(text: string, connection: HttpConnection, names: HttpCallNames): GenerateAnswer | TritonError {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw unreadable(`no JSON: ${error.message}`, connection, names, error);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unreadable('no JSON object', connection, names);
  }
  const answer = value as GenerateAnswer;
  // An output may have that name too, but then the model's name is beside it.
  if (typeof answer.error === 'string' && answer.model_name === undefined) {
    return errorOfText(answer.error, 200, names);
  }
  return answer;
}

function unreadable(what: string, { address }: HttpConnection, names: HttpCallNames, cause?: unknown): TritonError {
  return httpError('TRITON_MALFORMED_RESPONSE', `the answer cannot be read: ${what}`, names, { at: address, cause });
}
