import { Client, credentials } from '@grpc/grpc-js';
import { ModelInferRequest, ModelInferResponse } from '../../src/grpc/gen/grpc_service.js';

/** A model that answers with what it is told of the request, as JSON. */
export const TELLING_MODEL = 'request_info';

/** Timeouts of requests in microseconds, and what the model of a server is told of each, or the error. */
export async function toldTimeouts({ grpcUrl, httpUrl }: { readonly grpcUrl: string; readonly httpUrl: string }) {
  const told: Record<string, string> = {};
  for (const value of [0n, 1n, 2n ** 31n, 2n ** 63n - 1n, -1n, -5n, -(2n ** 63n)]) {
    told[`gRPC ${value}`] = await overGrpc(grpcUrl, value);
  }
  for (const text of [
    '0',
    '5',
    '2147483648',
    '9223372036854775807',
    '18446744073709551615',
    '-1',
    '1.5',
    '"5"',
    '1e3',
  ]) {
    told[`HTTP ${text}`] = await overHttp(httpUrl, text);
  }
  return told;
}

async function overGrpc(url: string, timeout: bigint): Promise<string> {
  const input = { name: 'INPUT0', datatype: 'INT32', shape: [1n], contents: { int_contents: [1] } };
  const parameters = { timeout: { int64_param: timeout } };
  const request = ModelInferRequest.fromPartial({ model_name: TELLING_MODEL, inputs: [input], parameters } as never);
  const client = new Client(url.replace('grpc://', ''), credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const bytes = Buffer.from(ModelInferRequest.encode(request).finish());
  const outcome = await new Promise<string>((resolve) => {
    client.makeUnaryRequest('/inference.GRPCInferenceService/ModelInfer', same, same, bytes, (error, answer) => {
      if (error !== null) resolve(`${error.code} ${error.details}`);
      else resolve(Buffer.concat(ModelInferResponse.decode(answer as Buffer).raw_output_contents).toString());
    });
  });
  client.close();
  return timeoutIn(outcome);
}

async function overHttp(url: string, timeout: string): Promise<string> {
  const inputs = '[{"name":"INPUT0","datatype":"INT32","shape":[1],"data":[1]}]';
  const body = `{"parameters":{"timeout":${timeout}},"inputs":${inputs}}`;
  const answer = await fetch(`${url}/v2/models/${TELLING_MODEL}/infer`, { method: 'POST', body });
  return timeoutIn(`${answer.status} ${await answer.text()}`);
}

/** Of an answer the timeout alone; an error as it is. */
const timeoutIn = (text: string) => /timeout\\*": (\d+)/.exec(text)?.[1] ?? text;
