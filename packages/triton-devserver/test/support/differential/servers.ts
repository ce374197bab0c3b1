import { gunzipSync, inflateSync } from 'node:zlib';
import { Client, compressionAlgorithms, credentials, type ServiceError } from '@grpc/grpc-js';
import {
  type ModelInferRequest,
  type ModelInferResponse,
  ModelStreamInferResponse,
  GRPCInferenceServiceService as Service,
} from '../../../src/grpc/gen/grpc_service.js';
import { type RawAnswer, type RawRequest, rawHttp } from '../raw-http.js';

/** What came of a call, as far as a client sees it. */
export interface Outcome {
  /** gRPC's number, or HTTP's status with its reason. */
  readonly code: number | string;
  /** The text of an error; '' when it went well. */
  readonly text: string;
  /** All else, as something to compare. */
  readonly data: unknown;
}

type Unary = {
  readonly path: string;
  readonly requestSerialize: (request: never) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
};

/** A server, real or not, as the two of them are asked. */
export class Server {
  readonly #client: Client;
  readonly #compressing: Client;
  readonly #httpUrl: string;

  constructor({ grpcUrl, httpUrl }: { readonly grpcUrl: string; readonly httpUrl: string }) {
    const address = grpcUrl.replace('grpc://', 'dns:');
    this.#client = new Client(address, credentials.createInsecure());
    this.#compressing = new Client(address, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    this.#httpUrl = httpUrl;
  }

  call({ path, requestSerialize, responseDeserialize }: Unary, request: object, compressed = false): Promise<Outcome> {
    return new Promise((resolve) => {
      (compressed ? this.#compressing : this.#client).makeUnaryRequest(
        path,
        requestSerialize as (value: object) => Buffer,
        responseDeserialize,
        request,
        (error, answer) => {
          resolve(error === null ? { code: 0, text: '', data: answer } : failure(error));
        },
      );
    });
  }

  async infer(request: ModelInferRequest, compressed = false): Promise<Outcome> {
    const outcome = await this.call(Service.modelInfer, request, compressed);
    return outcome.code === 0 ? { ...outcome, data: shown(outcome.data as ModelInferResponse) } : outcome;
  }

  /** All answers of a stream of requests, and how it ended. Answers of decoupled models are put in order by their ids. */
  stream(requests: readonly ModelInferRequest[], byId: boolean, compressed = false): Promise<Outcome[]> {
    const { path, requestSerialize } = Service.modelStreamInfer;
    const decode = (bytes: Buffer) => ModelStreamInferResponse.decode(bytes);
    const stream = (compressed ? this.#compressing : this.#client).makeBidiStreamRequest(
      path,
      requestSerialize,
      decode,
    );
    const answers: { id: string; outcome: Outcome }[] = [];
    stream.on('data', ({ error_message: text, infer_response: response }: ModelStreamInferResponse) => {
      const outcome = { code: 'answer', text: plain(text), data: response === undefined ? undefined : shown(response) };
      answers.push({ id: response?.id ?? '', outcome });
    });
    for (const request of requests) stream.write(request);
    stream.end();
    return new Promise((resolve) => {
      stream.on('error', () => undefined);
      stream.on('status', ({ code, details }) => {
        if (byId) answers.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
        resolve([...answers.map(({ outcome }) => outcome), { code, text: plain(details), data: undefined }]);
      });
    });
  }

  async http(request: RawRequest): Promise<Outcome> {
    const { status, headers, body } = await rawHttp(this.#httpUrl, request);
    const text = errorIn({ status, headers, body });
    if (text !== undefined)
      return { code: status, text: plain(text), data: headers.filter((line) => !line.startsWith('Content-Length')) };
    return { code: status, text: '', data: plainBody(headers, body) };
  }

  close(): void {
    this.#client.close();
    this.#compressing.close();
  }
}

/** A text that ends in a blank is lost on its way through Node, wherever it came from. */
const failure = ({ code, details }: ServiceError): Outcome => ({
  code,
  text: plain(details.endsWith(' ') ? '' : details),
  data: undefined,
});

/** Where in a file of Python an exception was thrown is not compared. */
const plain = (text: string) => text.replace(/\n\nAt:\n.*$/s, '');

function errorIn({ status, body }: RawAnswer): string | undefined {
  if (status.includes(' 200 ')) return undefined;
  try {
    const { error } = JSON.parse(body.toString()) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** What was compressed as it was before, for two libraries may find it in different bytes. */
function plainBody(headers: readonly string[], body: Buffer) {
  const encoding = headers.find((line) => line.startsWith('Content-Encoding: '))?.slice('Content-Encoding: '.length);
  if (encoding === undefined) return { headers, body: body.toString('latin1') };
  const plain = encoding === 'gzip' ? gunzipSync(body) : inflateSync(body);
  return { headers: headers.filter((line) => !line.startsWith('Content-Length')), body: plain.toString('latin1') };
}

/** A map of protobuf has no order. */
const shown = ({ raw_output_contents: raw, outputs, parameters, ...rest }: ModelInferResponse) => ({
  ...rest,
  parameters: Object.fromEntries(Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))),
  outputs,
  raw: raw.map((bytes) => Buffer.from(bytes).toString('latin1')),
});
