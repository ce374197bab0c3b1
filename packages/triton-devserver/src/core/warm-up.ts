import { invalid } from '../status.js';
import type { Job, RunBatch } from './job.js';
import type { WarmUpRequest, WarmUpSample } from './warm-up-samples.js';

/**
 * Runs each sample on one instance, past the queue; the executions count as any other does (seen on 2.51).
 *
 * @throws ServerError with the errors of the first sample that fails
 */
export async function warmInstance(samples: readonly WarmUpSample[], run: RunBatch): Promise<void> {
  for (const { name, count, requests } of samples) {
    for (let time = 0; time < count; time += 1) {
      const errors = await errorsOf(requests, run);
      if (errors.length === 0) continue;
      throw invalid(`failed to run warmup sample '${name}': ${errors.map((text) => `${text}; `).join('')}`);
    }
  }
}

/** Runs requests together until each has its last answer. */
async function errorsOf(requests: readonly WarmUpRequest[], run: RunBatch): Promise<string[]> {
  const errors: string[] = [];
  const ended: Promise<void>[] = [];
  const jobs = requests.map((request): Job => {
    let end = () => {};
    ended.push(
      new Promise((resolve) => {
        end = resolve;
      }),
    );
    return {
      ...request,
      queuedAt: process.hrtime.bigint(),
      respond: ({ error, final }) => {
        if (error !== undefined) errors.push(error.message);
        if (final) end();
      },
      // Only a queue refuses.
      refuse: end,
    };
  });
  await run(jobs);
  await Promise.all(ended);
  return errors;
}
