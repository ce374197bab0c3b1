import type { MakeRunner, Runner } from '../../src/core/runner.js';
import { StatisticsRecorder } from '../../src/core/statistics.js';
import type { ModelInstance } from '../../src/model.js';

export interface DirectRunner extends Runner {
  readonly instance: ModelInstance;
  /** Begins a request that ends when the function it gives is called. */
  begin(): () => void;
}

/** A runner for tests of the repository: it has an instance and counts requests, and answers none. */
export const makeDirectRunner: MakeRunner = (opened, version, instance): DirectRunner => {
  const running = new Set<Promise<void>>();
  const recorder = new StatisticsRecorder();
  return {
    config: opened.config,
    version,
    labelsOf: (output) => opened.labels.get(output) ?? [],
    instance,
    pending: 0,
    warmUp: () => Promise.resolve(),
    infer: () => {
      throw new Error('A direct runner answers no requests');
    },
    recorder,
    statistics: () => recorder.snapshot(opened.config.name, String(version)),
    drained: () => Promise.all(running).then(() => undefined),
    begin: () => {
      let finish = () => {};
      running.add(new Promise((resolve) => (finish = resolve)));
      return finish;
    },
  };
};
