import { Client, credentials, type StatusObject } from '@grpc/grpc-js';
import {
  ModelInferRequest,
  type ModelInferResponse,
  ModelStreamInferResponse,
  GRPCInferenceServiceService as Service,
} from '../../src/grpc/gen/grpc_service.js';

interface Method<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

type Outcome<Response> =
  | { readonly code: 0; readonly answer: Response }
  | { readonly code: number; readonly details: string };

/** Calls below the client, for what it never sends: to see what the server says of it. */
export class RawTriton {
  readonly #client: Client;
  readonly #httpUrl: string;

  /** @param grpcUrl - `grpc://host:port` */
  constructor(grpcUrl: string, httpUrl: string) {
    this.#client = new Client(grpcUrl.replace('grpc://', 'dns:'), credentials.createInsecure());
    this.#httpUrl = httpUrl;
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Outcome<Response>> {
    const { path, requestSerialize, responseDeserialize } = method;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) => {
        if (error === null) resolve({ code: 0, answer: answer as Response });
        else resolve({ code: error.code, details: error.details });
      });
    });
  }

  infer(request: Partial<ModelInferRequest>): Promise<Outcome<ModelInferResponse>> {
    return this.call(Service.modelInfer, { ...ModelInferRequest.decode(new Uint8Array()), ...request });
  }

  /** The text of the answer to a request on a stream of its own; empty when it was accepted. */
  streamText(request: Partial<ModelInferRequest>): Promise<string> {
    const { path, requestSerialize } = Service.modelStreamInfer;
    const decode = (bytes: Buffer) => ModelStreamInferResponse.decode(bytes);
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, decode);
    return new Promise((resolve, reject) => {
      stream.on('data', (answer: ModelStreamInferResponse) => resolve(answer.errorMessage));
      stream.on('error', reject);
      stream.on('status', (status: StatusObject) => reject(new Error(`The stream ended: ${status.details}`)));
      stream.write({ ...ModelInferRequest.decode(new Uint8Array()), ...request });
      stream.end();
    });
  }

  /** One HTTP request with a JSON body; the answer's `error`, empty when there is none. */
  async http(method: string, path: string, body?: unknown): Promise<{ status: number; error: string }> {
    const response = await fetch(`${this.#httpUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return { status: response.status, error: '' };
    return { status: response.status, error: (JSON.parse(text) as { error: string }).error };
  }

  close(): void {
    this.#client.close();
  }
}
