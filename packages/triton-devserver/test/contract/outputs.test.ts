import { describe, expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import { ModelInferRequest, GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';
import type { ModelRequest } from '../../src/model.js';
import { Server } from '../support/differential/servers.js';
import { rawHttp } from '../support/raw-http.js';
import { ShmObject } from '../support/shm-object.js';

/** What the comparison with real servers found of outputs: of models, of ensembles, in regions and as classes. */

const tensor = (name: string, data_type = 'TYPE_FP32') => ({ name, data_type, dims: [-1n] });
const both = { input: [tensor('A'), tensor('B')], output: [tensor('X'), tensor('Y')] };
const step = (input: [string, string][], output: [string, string][]) => ({
  model_name: 'two',
  model_version: -1n,
  input_map: Object.fromEntries(input),
  output_map: Object.fromEntries(output),
});

async function start() {
  const server = await DevServer.start({
    models: {
      two: {
        config: both,
        labels: { X: ['zero', 'one'] },
        execute: ({ inputs, parameters }: ModelRequest) => {
          if (parameters.fail !== undefined) throw Object.assign(new Error('refused'), { code: 'ALREADY_EXISTS' });
          return { X: inputs.A as never, Y: inputs.B as never };
        },
      },
      halves: {
        config: {
          input: [tensor('A', 'TYPE_FP16')],
          output: [tensor('X', 'TYPE_FP16'), tensor('FLAG', 'TYPE_BOOL')],
        },
        execute: ({ inputs }: ModelRequest) => ({ X: inputs.A as never, FLAG: { shape: [1], data: Uint8Array.of(1) } }),
      },
      whole: {
        config: {
          platform: 'ensemble',
          ...both,
          ensemble_scheduling: {
            step: [
              step(
                [
                  ['A', 'A'],
                  ['B', 'B'],
                ],
                [
                  ['X', 'M'],
                  ['Y', 'N'],
                ],
              ),
              step(
                [
                  ['A', 'M'],
                  ['B', 'N'],
                ],
                [
                  ['X', 'X'],
                  ['Y', 'Y'],
                ],
              ),
            ],
          },
        },
      },
      texts: {
        config: { max_batch_size: 2, sequence_batching: {}, input: [tensor('A')], output: [tensor('X')] },
        execute: ({ inputs }: ModelRequest) => ({ X: inputs.A as never }),
      },
    } as never,
  });
  onTestFinished(() => server.stop());
  const grpc = new Server(server);
  onTestFinished(() => grpc.close());
  const post = async (model: string, request: object) => {
    const { status, body } = await rawHttp(server.httpUrl, {
      path: `/v2/models/${model}/infer`,
      body: JSON.stringify(request),
    });
    return `${status.split(' ')[1]} ${body.toString()}`;
  };
  return { server, grpc, post };
}

const floats = (name: string, ...data: number[]) => ({ name, datatype: 'FP32', shape: [data.length], data });
const inputs = [floats('A', 1, 2), floats('B', 3)];

describe('an ensemble', () => {
  test('says a sequence id of more than 63 bits as the signed number that parameters have', async () => {
    const { grpc } = await start();
    const request = ModelInferRequest.fromPartial({
      model_name: 'whole',
      parameters: { sequence_id: { int64_param: -1n } },
      inputs: ['A', 'B'].map((name) => ({ name, datatype: 'FP32', shape: [1n] })),
      raw_input_contents: [new Uint8Array(4), new Uint8Array(4)],
    });
    const answer = await grpc.infer(request);
    expect(answer).toMatchObject({ code: 0, data: { parameters: { sequence_id: { int64_param: -1n } } } });
  });

  test('answers in the order of a hash map, and says the sequence once for each output that has bytes', async () => {
    const { post } = await start();
    const parameters = '"sequence_id":7,"sequence_start":true,"sequence_end":false';
    expect(await post('whole', { inputs, parameters: { sequence_id: 7, sequence_start: true } })).toBe(
      `200 {"model_name":"whole","model_version":"1","parameters":{${parameters},${parameters}},"outputs":[` +
        '{"name":"Y","datatype":"FP32","shape":[1],"data":[3.0]},{"name":"X","datatype":"FP32","shape":[2],"data":[1.0,2.0]}]}',
    );
    const empty = { inputs: [floats('A'), floats('B', 3)], outputs: [{ name: 'X' }] };
    expect(await post('whole', empty)).toBe(
      '200 {"model_name":"whole","model_version":"1","outputs":[{"name":"X","datatype":"FP32","shape":[0],"data":[]}]}',
    );
  });

  test('classifies with the labels of the model that an output comes from', async () => {
    const { post } = await start();
    const outputs = [{ name: 'X', parameters: { classification: 2 } }];
    expect(await post('whole', { inputs, outputs })).toContain('"data":["2.000000:1:one","1.000000:0:zero"]');
  });

  test('names itself in the errors of its steps and of its regions', async () => {
    const { grpc, post } = await start();
    expect(await post('whole', { inputs, parameters: { fail: 'yes' } })).toBe(
      `400 {"error":"in ensemble 'whole', refused"}`,
    );
    const object = new ShmObject(4096);
    await grpc.call(Service.systemSharedMemoryRegister, { name: 'r', key: object.key, offset: 0n, byte_size: 4096n });
    const region = { shared_memory_region: 'r', shared_memory_byte_size: 2 };
    expect(await post('whole', { inputs, outputs: [{ name: 'X', parameters: region }] })).toContain(
      "in ensemble 'whole', shared memory size specified with the request for output 'X' (2 bytes)",
    );
  });
});

test('outputs before one whose region is too small are written, those after it not', async () => {
  const { grpc } = await start();
  const object = new ShmObject(4096);
  await grpc.call(Service.systemSharedMemoryRegister, { name: 'r', key: object.key, offset: 0n, byte_size: 4096n });
  const region = (offset: bigint, size: bigint) => ({
    shared_memory_region: { string_param: 'r' },
    shared_memory_offset: { int64_param: offset },
    shared_memory_byte_size: { int64_param: size },
  });
  const ask = (sizes: readonly [bigint, bigint]) =>
    grpc.infer(
      ModelInferRequest.fromPartial({
        model_name: 'two',
        inputs: ['A', 'B'].map((name) => ({ name, datatype: 'FP32', shape: [1n] })),
        outputs: [
          { name: 'X', parameters: region(0n, sizes[0]) },
          { name: 'Y', parameters: region(64n, sizes[1]) },
        ],
        raw_input_contents: [new Uint8Array(Float32Array.of(1).buffer), new Uint8Array(Float32Array.of(2).buffer)],
      }),
    );
  const at = (offset: number) => Buffer.from(object.bytes()).readFloatLE(offset);
  expect((await ask([2n, 4n])).text).toContain("output 'X' (2 bytes)");
  expect([at(0), at(64)]).toEqual([0, 0]);
  expect((await ask([4n, 2n])).text).toContain("output 'Y' (2 bytes)");
  expect([at(0), at(64)]).toEqual([1, 0]);
});

test('HTTP tells of what is wrong with the first output that can not be given', async () => {
  const { post, server } = await start();
  const json = JSON.stringify({
    inputs: [{ name: 'A', datatype: 'FP16', shape: [1], parameters: { binary_data_size: 2 } }],
    outputs: [{ name: 'X' }, { name: 'FLAG', parameters: { classification: 1 } }],
  });
  const { body } = await rawHttp(server.httpUrl, {
    path: '/v2/models/halves/infer',
    headers: { 'Inference-Header-Content-Length': String(json.length) },
    body: Buffer.concat([Buffer.from(json), Buffer.alloc(2)]),
  });
  expect(body.toString()).toContain('sending FP16 data via JSON is not supported');
  // A datatype that is not known is found when elements of it are read, and by the core where there are none to read.
  const wrong = (data: unknown, shape: number[]) =>
    post('two', { inputs: [{ name: 'A', datatype: 'FP', shape, data }, floats('B', 1)] });
  expect(await wrong([1], [1])).toContain('invalid datatype for input A');
  expect(await wrong(1, [1])).toContain("Unable to parse 'data': attempt to access JSON non-array as array");
  expect(await wrong([], [0])).toContain("inference input 'A' data-type is '<invalid>'");
  expect(await post('two', { inputs: [{ ...floats('A', 1), shape: [2, 2 ** 62] }, floats('B', 1)] })).toContain(
    'Shape does not match true shape',
  );
});

test('the size and the offset of a region are read where there is no region, too', async () => {
  const { post } = await start();
  const parameters = { shared_memory_byte_size: [] };
  const said =
    "Unable to parse 'shared_memory_byte_size': attempt to access JSON non-unsigned-integer as unsigned-integer";
  expect(await post('two', { inputs, outputs: [{ name: 'X', parameters }] })).toContain(said);
  expect(await post('two', { inputs: [{ ...floats('A', 1), parameters }, floats('B', 1)] })).toContain(said);
  const binary = { ...floats('A', 1), data: undefined, parameters: { ...parameters, binary_data_size: 4 } };
  expect(await post('two', { inputs: [binary, floats('B', 1)] })).toContain('expecting 4 additional bytes');
});

test('on a stream an output without classes makes the answer an error, with the version that was asked for', async () => {
  const { grpc } = await start();
  const ask = async (model_version: string) => {
    const request = ModelInferRequest.fromPartial({
      model_name: 'halves',
      model_version,
      inputs: [{ name: 'A', datatype: 'FP16', shape: [1n] }],
      outputs: [{ name: 'FLAG', parameters: { classification: { int64_param: 1n } } }],
      raw_input_contents: [new Uint8Array(2)],
    });
    const [answer] = await grpc.stream([request], false);
    return [answer?.text, (answer?.data as { model_version: string } | undefined)?.model_version];
  };
  const text = "class result not available for output due to unsupported type 'BOOL'";
  expect(await ask('')).toEqual([text, '']);
  expect(await ask('1')).toEqual([text, '1']);
});

test('an output that is named again may not name a region that is not there', async () => {
  const { grpc } = await start();
  const region = { shared_memory_region: { string_param: 'none' }, shared_memory_byte_size: { int64_param: 4n } };
  const request = ModelInferRequest.fromPartial({
    model_name: 'halves',
    inputs: [{ name: 'A', datatype: 'FP16', shape: [1n] }],
    outputs: [{ name: 'X' }, { name: 'X', parameters: region }],
    raw_input_contents: [new Uint8Array(2)],
  });
  expect(await grpc.infer(request)).toMatchObject({ code: 5, text: "Unable to find shared memory region: 'none'" });
});

test('a sequence takes batches of 1', async () => {
  const { post } = await start();
  const asked = (items: number) => ({
    inputs: [{ name: 'A', datatype: 'FP32', shape: [items, 1], data: Array(items).fill(1) }],
    parameters: { sequence_id: 1, sequence_start: true },
  });
  expect(await post('texts', asked(2))).toBe(
    `400 {"error":"inference request to model 'texts' must specify batch-size 1 due to requirements of sequence batcher"}`,
  );
  expect(await post('texts', asked(1))).toContain('200');
});
