import { setTimeout as pause } from 'node:timers/promises';

/** Answers a text `n` times; answer `fail_at` is an error; `ms` before each. */
export default {
  async *executeDecoupled({ inputs: { text_input: text }, parameters }) {
    for (let index = 0; index < Number(parameters.n ?? 1); index += 1) {
      await pause(Number(parameters.ms ?? 0));
      if (index === Number(parameters.fail_at ?? -1)) {
        yield { error: new Error('This text always fails') };
        continue;
      }
      yield {
        outputs: {
          text_output: text,
          number: { shape: [1], data: BigInt64Array.of(2n ** 62n + BigInt(index)) },
          score: { shape: [1], data: Float32Array.of(Number.NaN) },
        },
      };
    }
  },
};
