import { connect } from 'node:http2';
import { Channel, credentials, Metadata, status } from '@grpc/grpc-js';
import { TritonClient } from '@zerohop/triton-client';
import { connect as connectStub, regionRequest } from '../clients/unary.js';
import { openRegion } from '../region.js';
import { byteLength } from './cases.js';
import { ones, type Requester } from './ours.js';
import type { ClientSpec } from './spec.js';

const PATH = '/inference.GRPCInferenceService/ModelStreamInfer';
/** Of a gRPC message in HTTP/2: one byte that says whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * The least that one stream costs: a request's bytes, encoded once, sent again and again; the next message is its answer,
 * which nobody decodes. No errors, no time limits, no second request.
 *
 * @param open - opens the stream; gives what sends one request and calls `onAnswer` with its answer
 */
async function makeBare(
  spec: ClientSpec,
  open: (bytes: Buffer, onAnswer: (answer: Buffer) => void) => { send(): void; close(): void },
): Promise<Requester> {
  if (spec.inFlight !== 1 || spec.transport === 'message') throw new Error('one request in flight, through a region');
  const { work } = spec;
  const client = new TritonClient(spec.grpcUrl);
  const outputByteLength = byteLength(work.outputShape);
  const input = ones(work.inputShape);
  const plan = { purpose: 'bare', transport: spec.transport, input, outputByteLength };
  const slot = await openRegion(client, plan);
  let answered: (answer: Buffer) => void = () => {};
  const stream = open(encode(spec, slot.name), (answer) => answered(answer));
  const once = async () => {
    const answer = await new Promise<Buffer>((resolve) => {
      answered = resolve;
      stream.send();
    });
    if (!answer.includes(work.model)) throw new Error('the answer is not of this model');
  };
  return {
    requests: [once],
    async close() {
      stream.close();
      await slot.close();
      await client.close();
    },
  };
}

/** As proto-loader's stub writes it. */
function encode({ grpcUrl, work }: ClientSpec, region: string): Buffer {
  const stub = connectStub(grpcUrl);
  const sizes = { inputByteLength: byteLength(work.inputShape), outputByteLength: byteLength(work.outputShape) };
  const build = regionRequest({ ...work, ...sizes }, region);
  const bytes = stub.ModelInfer.requestSerialize(build());
  stub.close();
  return bytes;
}

/** grpc-js without its client: one call on a channel. */
export function makeBareStream(spec: ClientSpec): Promise<Requester> {
  return makeBare(spec, (bytes, onAnswer) => {
    const channel = new Channel(new URL(spec.grpcUrl).host, credentials.createInsecure(), { 'grpc.enable_retries': 0 });
    const call = channel.createCall(PATH, Number.POSITIVE_INFINITY, null, null, undefined);
    call.start(new Metadata(), {
      onReceiveMetadata: () => {},
      onReceiveMessage: (answer: Buffer) => {
        onAnswer(answer);
        call.startRead();
      },
      onReceiveStatus: () => {},
    });
    call.startRead();
    return {
      send: () => call.sendMessageWithContext({}, bytes),
      close() {
        // A channel waits for its calls.
        call.cancelWithStatus(status.CANCELLED, 'done');
        channel.close();
      },
    };
  });
}

/** Without grpc-js: one stream of node:http2, whose every read is taken for one whole answer. */
export function makeNodeHttp2(spec: ClientSpec): Promise<Requester> {
  return makeBare(spec, (bytes, onAnswer) => {
    const framed = Buffer.alloc(PREFIX_BYTES + bytes.byteLength);
    framed.writeUInt32BE(bytes.byteLength, 1);
    framed.set(bytes, PREFIX_BYTES);
    const session = connect(`http://${new URL(spec.grpcUrl).host}`);
    const stream = session.request({
      ...{ ':method': 'POST', ':path': PATH },
      ...{ 'content-type': 'application/grpc', te: 'trailers' },
    });
    stream.on('data', onAnswer);
    return { send: () => stream.write(framed), close: () => session.destroy() };
  });
}
