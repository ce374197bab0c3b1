import { setTimeout as pause } from 'node:timers/promises';

/** Answers a request any number of times: `answers`, `ms`, `fail_at`, `own_final` as of the model in Python. */
export default {
  async *executeDecoupled({ inputs: { INPUT0 }, parameters }) {
    const values = INPUT0.data.slice();
    const answers = Number(parameters.answers ?? 1);
    const ownFinal = Boolean(parameters.own_final ?? false) && answers > 0;
    for (let k = 0; k < answers; k += 1) {
      await pause(Number(parameters.ms ?? 0));
      const final = ownFinal && k === answers - 1;
      if (k === Number(parameters.fail_at ?? -1)) yield { error: new Error('This answer fails') };
      else yield { outputs: { OUTPUT0: { shape: [values.length + 1], data: Int32Array.of(k, ...values) } }, final };
    }
  },
};
