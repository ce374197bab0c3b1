import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeHttpRequest, encodeRawRequest } from '../../src/http/encode.js';
import { region, tensor } from '../../src/index.js';
import { checkRequest } from '../../src/request.js';
import type { InferRequest } from '../../src/types/request.js';

const encode = (request: InferRequest) => encodeHttpRequest(checkRequest('m', request));

/** The JSON as it is written, and the bytes after it. */
function parts(request: InferRequest): { json: string; tail: Buffer } {
  const { chunks, jsonByteLength, byteLength } = encode(request);
  const body = Buffer.concat(chunks);
  expect(body.byteLength).toBe(byteLength);
  return { json: body.toString('utf8', 0, jsonByteLength), tail: body.subarray(jsonByteLength) };
}

describe('encodeHttpRequest', () => {
  test('a small request, byte for byte', () => {
    const { json, tail } = parts({
      inputs: { X: tensor('FP32', [1, 2], Float32Array.of(1, 2)) },
      id: 'é',
      version: '3',
    });
    expect(json).toBe(
      '{"id":"é","parameters":{"binary_data_output":true},"inputs":[{"name":"X","datatype":"FP32","shape":[1,2],' +
        '"parameters":{"binary_data_size":8}}]}',
    );
    expect(tail.toString('hex')).toBe('0000803f00000040');
    expect(encode({ inputs: {}, version: '3' }).path).toBe('/v2/models/m/versions/3/infer');
  });

  test('regions, tensors, classification and parameters, in any order', () => {
    const { json, tail } = parts({
      inputs: {
        A: region('r', { datatype: 'INT8', shape: [4], byteOffset: 8 }),
        B: tensor('BYTES', [1], ['ab']),
        C: region('r', { datatype: 'INT8', shape: [4] }),
        D: tensor('UINT8', [0], new Uint8Array(0)),
        E: tensor('UINT8', [1], Uint8Array.of(7)),
      },
      outputs: { O: {}, P: { region: 'r', byteOffset: 0, byteLength: 9 }, Q: { classification: 3 } },
      sequence: { id: 2n ** 63n - 1n, start: true },
      priority: 1,
      queueTimeoutUs: 5,
      parameters: { p: 'x' },
    });
    expect(json).toBe(
      '{"parameters":{"p":"x","sequence_id":9223372036854775807,"sequence_start":true,"priority":1,"timeout":5},"inputs":[' +
        '{"name":"A","datatype":"INT8","shape":[4],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,' +
        '"shared_memory_offset":8}},' +
        '{"name":"B","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":6}},' +
        '{"name":"C","datatype":"INT8","shape":[4],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}},' +
        '{"name":"D","datatype":"UINT8","shape":[0],"parameters":{"binary_data_size":0}},' +
        '{"name":"E","datatype":"UINT8","shape":[1],"parameters":{"binary_data_size":1}}],' +
        '"outputs":[{"name":"O","parameters":{"binary_data":true}},' +
        '{"name":"P","parameters":{"shared_memory_region":"r","shared_memory_byte_size":9}},' +
        '{"name":"Q","parameters":{"binary_data":true,"classification":3}}]}',
    );
    expect(tail.toString('hex')).toBe('02000000616207');
  });

  test('the tensors follow in the order of their inputs, of the sizes that the JSON tells', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 5 }), (arrays) => {
        const inputs = Object.fromEntries(
          arrays.map((array, index) => [`I${index}`, tensor('UINT8', [array.length], array)]),
        );
        const { json, tail } = parts({ inputs });
        const sizes = (JSON.parse(json) as { inputs: { parameters: { binary_data_size: number } }[] }).inputs;
        expect(sizes.map(({ parameters }) => parameters.binary_data_size)).toEqual(arrays.map(({ length }) => length));
        expect(Buffer.compare(tail, Buffer.concat(arrays))).toBe(0);
      }),
    );
  });

  test('large tensors are not copied', () => {
    const data = new Uint8Array(100_000);
    const { chunks } = encode({ inputs: { X: tensor('UINT8', [100_000], data) } });
    expect(chunks).toHaveLength(2);
    expect(chunks[1]?.buffer).toBe(data.buffer);
  });

  test('a version that is no number is refused, unsent, with the code of gRPC', () => {
    for (const version of ['x', '-1', '1.0', '1/2']) {
      expect(encode({ inputs: {}, version }).refusal).toMatchObject({ code: 'TRITON_INVALID_ARGUMENT', model: 'm' });
    }
    expect(encode({ inputs: {}, version: '12' }).refusal).toBeUndefined();
  });

  test('a raw request has no JSON', () => {
    const bytes = Uint8Array.of(1, 2);
    const raw = encodeRawRequest('m', '', bytes);
    expect(raw).toMatchObject({ path: '/v2/models/m/infer', jsonByteLength: 0, byteLength: 2, namesRegion: false });
    expect(raw.chunks[0]).toBe(bytes);
  });
});
