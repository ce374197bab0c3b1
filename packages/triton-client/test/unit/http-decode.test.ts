import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHttpAnswer } from '../../src/http/decode.js';
import { EventReader } from '../../src/http/events.js';
import { ResponseBody } from '../../src/http/response.js';
import { TritonError } from '../../src/index.js';

const answer = (json: unknown, ...tail: Uint8Array[]) => {
  const head = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  return { head, result: () => decodeHttpAnswer(Buffer.concat([head, ...tail]), head.byteLength) };
};
const HEAD = { model_name: 'm', model_version: '1' };
const output = (fields: object) => ({ name: 'O', datatype: 'INT16', shape: [2], ...fields });
const MALFORMED = { code: 'TRITON_MALFORMED_RESPONSE' };

describe('decodeHttpAnswer', () => {
  test('outputs are views of the body', () => {
    const outputs = [
      output({ parameters: { binary_data_size: 4 } }),
      output({ name: 'P', parameters: undefined }),
      { name: 'Q', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: 5 } },
    ];
    const tail = [Uint8Array.of(1, 0, 2, 0), Uint8Array.of(1, 0, 0, 0, 65)];
    const result = answer({ ...HEAD, id: 'i', parameters: { a: 1, b: true, c: 'x' }, outputs }, ...tail).result();
    expect([result.model, result.version, result.id]).toEqual(['m', '1', 'i']);
    expect(result.parameters).toEqual({ a: 1, b: true, c: 'x' });
    expect(result.output('O').data).toEqual(Int16Array.of(1, 2));
    expect(result.output('P').bytes).toEqual(new Uint8Array(0));
    expect(result.output('Q').strings()).toEqual(['A']);
  });

  test('an answer without tensors is JSON alone', () => {
    const text = JSON.stringify({ ...HEAD, outputs: [output({ shape: [0], parameters: { binary_data_size: 0 } })] });
    const result = decodeHttpAnswer(Buffer.from(text), undefined);
    expect(result.output('O').data).toEqual(new Int16Array(0));
  });

  test.each<[string, unknown, Uint8Array?]>([
    ['no JSON', '{"a":'],
    ['no outputs', HEAD],
    ['outputs that are no list', { ...HEAD, outputs: {} }],
    ['an output that is none', { ...HEAD, outputs: [null] }],
    ['no model', { outputs: [] }],
    ['a parameter that is none', { ...HEAD, outputs: [], parameters: { p: [] } }],
    ['a datatype that is none', { ...HEAD, outputs: [output({ datatype: 'STRING' })] }],
    ['a dimension that is none', { ...HEAD, outputs: [output({ shape: [-1] })] }],
    ['values in JSON', { ...HEAD, outputs: [output({ data: [1, 2] })] }],
    ['a size that is none', { ...HEAD, outputs: [output({ parameters: { binary_data_size: -4 } })] }],
    ['a size past the end', { ...HEAD, outputs: [output({ parameters: { binary_data_size: 5 } })] }, new Uint8Array(4)],
    ['bytes left over', { ...HEAD, outputs: [output({ parameters: { binary_data_size: 4 } })] }, new Uint8Array(5)],
  ])('refuses %s', (_, json, tail = new Uint8Array(0)) => {
    const result = answer(json, tail).result();
    expect(() => result.outputs).toThrow(expect.objectContaining(MALFORMED));
  });

  test('refuses at once what cannot be an answer', () => {
    for (const body of ['', '<html>', '[]']) {
      expect(() => decodeHttpAnswer(Buffer.from(body), undefined)).toThrow(expect.objectContaining(MALFORMED));
    }
    expect(() => decodeHttpAnswer(Buffer.from('{}'), 3)).toThrow(expect.objectContaining(MALFORMED));
  });

  test('any bytes give an answer or a TritonError', () => {
    const whole = answer({ ...HEAD, outputs: [output({ parameters: { binary_data_size: 4 } })] }, new Uint8Array(4));
    const body = Buffer.concat([whole.head, new Uint8Array(4)]);
    const change = fc.record({
      at: fc.nat(body.length - 1),
      to: fc.nat(255),
      cut: fc.nat(body.length),
      json: fc.nat(200),
    });
    fc.assert(
      fc.property(change, ({ at, to, cut, json }) => {
        const hostile = Buffer.from(body);
        hostile[at] = to;
        try {
          const result = decodeHttpAnswer(hostile.subarray(0, cut), json === 0 ? undefined : json);
          for (const each of result.outputs) if (each.datatype !== 'BYTES') expect(each.data).toBeDefined();
        } catch (error) {
          expect(error).toBeInstanceOf(TritonError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('ResponseBody', () => {
  test('the tensors begin where a typed array may', () => {
    for (const json of [0, 1, 7, 8, 100]) {
      const body = new ResponseBody({ 'content-length': '200', 'inference-header-content-length': String(json) });
      body.write(Buffer.alloc(150, 1));
      body.write(Buffer.alloc(50, 2));
      const bytes = body.finish();
      expect([bytes.byteLength, (bytes.byteOffset + json) % 8, bytes[149], bytes[150]]).toEqual([200, 0, 1, 2]);
    }
  });

  test.each([
    { 'content-length': 'x' },
    { 'content-length': '-1' },
    { 'content-length': ['1', '1'] },
    { 'content-length': '999999999999999' },
    { 'content-length': '9'.repeat(20) },
    { 'content-length': '4', 'inference-header-content-length': '1e3' },
  ])('refuses %j', (headers) => {
    expect(() => new ResponseBody(headers)).toThrow(expect.objectContaining(MALFORMED));
  });

  test('a body that is too short is refused', () => {
    const body = new ResponseBody({ 'content-length': '4' });
    body.write(Buffer.alloc(3));
    expect(() => body.finish()).toThrow('3 bytes came of 4');
  });
});

describe('EventReader', () => {
  const TEXT =
    ': hello\r\n\r\ndata: {"a":1}\r\n\r\nevent: x\ndata:é\ndata: second\nid: 4\n\n\ndata: \n\ndata: unfinished';
  const EVENTS = ['{"a":1}', 'é\nsecond', ''];

  test('events come whole, however their bytes are cut', () => {
    const bytes = Buffer.from(TEXT);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const reader = new EventReader();
        const events = places.slice(1).flatMap((end, index) => [...reader.read(bytes.subarray(places[index], end))]);
        expect(events).toEqual(EVENTS);
        expect(reader.within).toBe(true);
      }),
    );
  });

  test('the end of an event is told', () => {
    const reader = new EventReader();
    expect([...reader.read(Buffer.from('data: x\n'))]).toEqual([]);
    expect(reader.within).toBe(true);
    expect([...reader.read(Buffer.from('\n'))]).toEqual(['x']);
    expect(reader.within).toBe(false);
  });
});
