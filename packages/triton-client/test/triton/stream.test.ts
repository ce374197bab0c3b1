import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type InferRequest,
  type InferStream,
  type SequenceControl,
  type StreamResult,
  TritonClient,
  tensor,
} from '../../src/index.js';

const repeat = (value: number, parameters: InferRequest['parameters'] = {}): InferRequest => ({
  inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(value)) },
  parameters,
});

const step = (value: number, sequence: SequenceControl): InferRequest => ({
  inputs: { INPUT0: tensor('INT32', [1], Int32Array.of(value)) },
  sequence,
});

const slow = (ms: number): InferRequest => ({
  inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) },
  parameters: { ms },
});

/** The elements of an answer; undefined for one without outputs. */
function values(result: StreamResult): number[] | undefined {
  if (result.outputs.length === 0) return undefined;
  return [...(result.output('OUTPUT0').data as Int32Array)];
}

/** What a stream says: the request, the elements or the error, and whether it was the last of the request. */
async function all(stream: InferStream): Promise<[number, number[] | string | undefined, boolean][]> {
  const seen: [number, number[] | string | undefined, boolean][] = [];
  for await (const result of stream)
    seen.push([result.requestIndex, result.error?.code ?? values(result), result.final]);
  return seen;
}

describeTier('triton', 'streams on a real server', () => {
  let client: TritonClient;

  beforeAll(() => {
    client = new TritonClient(sharedTriton().grpcUrl);
  });

  afterAll(() => client.close());

  test('a decoupled model: each answer, and an end that the server tells by itself', async () => {
    const stream = client.stream('repeat', [repeat(7, { answers: 3 })]);
    expect(await all(stream)).toEqual([
      [0, [0, 7], false],
      [0, [1, 7], false],
      [0, [2, 7], false],
      [0, undefined, true],
    ]);
    expect(await stream.settled).toBe('answered');
  });

  test('a decoupled model: an end that comes with the last answer', async () => {
    expect(await all(client.stream('repeat', [repeat(7, { answers: 2, own_final: true })]))).toEqual([
      [0, [0, 7], false],
      [0, [1, 7], true],
    ]);
  });

  test('a request without any answer', async () => {
    expect(await all(client.stream('repeat', [repeat(7, { answers: 0 }), repeat(8)], { maxOutstanding: 1 }))).toEqual([
      [0, undefined, true],
      [1, [0, 8], false],
      [1, undefined, true],
    ]);
  });

  test('several requests at once: each answer says which it is for', async () => {
    const requests = [3, 2, 1, 0].map((answers, index) => repeat(10 * index, { answers, ms: 20 }));
    const seen = await all(client.stream('repeat', requests));
    for (const [index, answers] of [3, 2, 1, 0].entries()) {
      const own = seen.filter(([requestIndex]) => requestIndex === index);
      expect(own).toEqual([
        ...Array.from({ length: answers }, (_, k) => [index, [k, 10 * index], false]),
        [index, undefined, true],
      ]);
    }
    // The shortest is over first: decoupled answers overtake.
    expect(seen.filter(([, , final]) => final).map(([index]) => index)).toEqual([3, 2, 1, 0]);
  });

  test('ids of the user are kept, ours tell the others apart', async () => {
    const ids: string[] = [];
    for await (const { id, final } of client.stream('repeat', [{ ...repeat(1), id: 'mine' }, repeat(2)])) {
      if (final) ids.push(id);
    }
    expect(ids.sort()).toEqual(['mine', 'zerohop-1']);
  });

  test("an error in the middle does not end a request; with 'yield' the rest is told", async () => {
    const stream = client.stream('repeat', [repeat(5, { answers: 3, fail_at: 1 })], { onError: 'yield' });
    expect(await all(stream)).toEqual([
      [0, [0, 5], false],
      [0, 'TRITON_UNKNOWN', false],
      [0, [2, 5], false],
      [0, undefined, true],
    ]);
    expect(await stream.settled).toBe('answered');
  });

  test("an error is thrown after what came before it; the stream's end is typed", async () => {
    const stream = client.stream('repeat', [repeat(5, { answers: 3, fail_at: 1 })]);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const result of stream) seen.push(values(result));
    })();
    await expect(reading).rejects.toMatchObject({ code: 'TRITON_UNKNOWN', details: 'This answer fails' });
    expect(seen).toEqual([[0, 5]]);
    expect(await stream.settled).toBe('lost');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test('an error found before the model runs comes without the mark, and ends its request alone', async () => {
    const wrong: InferRequest = { inputs: { WRONG: tensor('INT32', [1], Int32Array.of(1)) } };
    const results: StreamResult[] = [];
    for await (const result of client.stream('repeat', [wrong, repeat(1)], { onError: 'yield' })) results.push(result);
    const [first, ...rest] = results;
    expect(first).toMatchObject({ requestIndex: 0, final: true });
    expect(first?.error).toMatchObject({ code: 'TRITON_INVALID_ARGUMENT', didNotRun: true });
    expect(() => first?.output('OUTPUT0')).toThrow(first?.error);
    expect(rest.map((result) => [result.requestIndex, values(result), result.final])).toEqual([
      [1, [0, 1], false],
      [1, undefined, true],
    ]);
  });

  test('an error of a model that ran is not said to have not run', async () => {
    const failing = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1)) } };
    for (const call of [client.infer('fail', failing), client.stream('fail', [failing]).next()]) {
      const error: unknown = await call.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ details: 'This model always fails' });
      expect(error).not.toHaveProperty('didNotRun');
    }
    await expect(client.infer('no-such-model', failing)).rejects.toMatchObject({ didNotRun: true });
  });

  test('models that are not decoupled answer in order', async () => {
    const seen: number[] = [];
    for await (const { requestIndex, final, outputs } of client.stream('slow', [slow(300), slow(0), slow(100)])) {
      seen.push(requestIndex);
      expect([final, outputs.length]).toEqual([true, 1]);
    }
    expect(seen).toEqual([0, 1, 2]);
  });

  test('at most maxOutstanding requests are under way, and more are asked for one by one', async () => {
    let asked = 0;
    let over = 0;
    function* requests(): Generator<InferRequest> {
      for (; asked < 12; asked += 1) {
        expect(asked - over).toBeLessThan(3);
        yield repeat(asked, { answers: 2 });
      }
    }
    for await (const { final } of client.stream('repeat', requests(), { maxOutstanding: 3 })) if (final) over += 1;
    expect([asked, over]).toEqual([12, 12]);
  });

  test('a slow reader makes the server wait, and loses nothing', async () => {
    const large: InferRequest = {
      inputs: { INPUT0: tensor('INT32', [250_000], new Int32Array(250_000)) },
      parameters: { answers: 60 },
    };
    const stream = client.stream('repeat', [large]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    // 60 MB were sent at once; what is here is what may be unread.
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(45_000_000);
    let count = 0;
    for await (const result of stream) {
      if (result.final) continue;
      expect(result.output('OUTPUT0').data[0]).toBe(count);
      count += 1;
    }
    expect(count).toBe(60);
  });

  test('a sequence: on lanes, in unary calls and on a stream', async () => {
    const sequence = async (
      infer: (request: InferRequest) => Promise<{ output(name: string): { data: unknown } }>,
      id: number | string,
    ) => {
      const sums: number[][] = [];
      for (const [index, value] of [5, 6, 7].entries()) {
        const result = await infer(step(value, { id, start: index === 0, end: index === 2 }));
        sums.push([...(result.output('OUTPUT0').data as Int32Array)]);
      }
      return sums;
    };
    const sums = [
      [1, 5],
      [2, 11],
      [3, 18],
    ];
    const [lanes, unary] = await Promise.all([
      sequence((request) => client.infer('sequence', request), 4001),
      sequence((request) => client.infer('sequence', request, { headers: { 'x-unary': '1' } }), 'text id'),
    ]);
    expect([lanes, unary]).toEqual([sums, sums]);
    const id = 2n ** 62n;
    const requests = [5, 6, 7].map((value, index) => step(value, { id, start: index === 0, end: index === 2 }));
    expect(await all(client.stream('sequence', requests))).toEqual(sums.map((sum, index) => [index, sum, true]));
  });

  test('many sequences on one stream', async () => {
    const requests: InferRequest[] = [];
    for (let round = 0; round < 10; round += 1) {
      for (let id = 1; id <= 4; id += 1)
        requests.push(step(id, { id: 5000 + id, start: round === 0, end: round === 9 }));
    }
    const seen = await all(client.stream('sequence', requests));
    expect(seen.map(([, sum]) => sum)).toEqual(
      requests.map((_, index) => {
        const round = Math.floor(index / 4) + 1;
        return [round, round * ((index % 4) + 1)];
      }),
    );
  });

  test('a sequence without its start is refused', async () => {
    await expect(client.infer('sequence', step(1, { id: 6001 }))).rejects.toMatchObject({
      code: 'TRITON_INVALID_ARGUMENT',
      message: expect.stringContaining('must specify the START flag'),
    });
  });

  test('leaving the loop ends the stream', async () => {
    const stream = client.stream('repeat', [repeat(1, { answers: 1000, ms: 5 })]);
    for await (const result of stream) {
      expect(values(result)).toEqual([0, 1]);
      break;
    }
    expect(await stream.settled).toBe('lost');
    expect(client.stats.streams.open).toBe(0);
  });

  test("'detach' waits for the server's last answer", async () => {
    const stream = client.stream('repeat', [repeat(1, { answers: 5, ms: 50 })], { onAbort: 'detach' });
    for await (const result of stream) {
      expect(values(result)).toEqual([0, 1]);
      break;
    }
    expect(client.stats.streams.open).toBe(1);
    expect(await stream.settled).toBe('answered');
  });

  test('a time limit holds for the whole stream', async () => {
    const stream = client.stream('repeat', [repeat(1, { answers: 1000, ms: 20 })], { timeoutMs: 300 });
    await expect(all(stream)).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await stream.settled).toBe('lost');
  });

  test('infer() of a decoupled model: an error on lanes and in unary calls', async () => {
    await expect(client.infer('repeat', repeat(1))).rejects.toMatchObject({ code: 'TRITON_UNIMPLEMENTED' });
    await expect(client.infer('repeat', repeat(1), { headers: { 'x-unary': '1' } })).rejects.toMatchObject({
      code: 'TRITON_UNIMPLEMENTED',
    });
  });

  test('close lets what is under way be answered, and sends nothing more', async () => {
    const own = new TritonClient(sharedTriton().grpcUrl);
    let asked = 0;
    async function* requests(): AsyncGenerator<InferRequest> {
      for (;;) {
        asked += 1;
        yield repeat(asked, { answers: 2, ms: 100 });
      }
    }
    const stream = own.stream('repeat', requests(), { maxOutstanding: 1 });
    expect(values((await stream.next()).value as StreamResult)).toEqual([0, 1]);
    const closing = own.close();
    expect(values((await stream.next()).value as StreamResult)).toEqual([1, 1]);
    expect((await stream.next()).value).toMatchObject({ final: true });
    await expect(stream.next()).rejects.toMatchObject({ code: 'ERR_DISPOSED' });
    await closing;
    expect([asked, await stream.settled]).toEqual([1, 'answered']);
    expect(() => own.stream('repeat', [])).toThrow('The TritonClient is closed');
  });
});
