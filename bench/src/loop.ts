import { performance } from 'node:perf_hooks';
import type { Measurement } from './results.js';
import { percentile } from './statistics.js';

export interface LoopOptions {
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** Measured at least, per request in flight, however long they take. */
  readonly minRequests: number;
}

type Request = () => Promise<unknown>;

/**
 * Keeps `inFlight` requests going, each begun as soon as the one before it is done, and times every one.
 *
 * @param request - one for all, or one for each in flight
 */
export async function measureLoop(request: Request | readonly Request[], options: LoopOptions): Promise<Measurement> {
  await keepGoing(request, { ...options, durationMs: options.warmUpMs, minRequests: 1 }, []);
  const latencies: number[] = [];
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  await keepGoing(request, options, latencies);
  const elapsedMs = performance.now() - started;
  const cpu = process.cpuUsage(cpuBefore);
  const sorted = Float64Array.from(latencies).sort();
  return {
    requests: sorted.length,
    p50Us: percentile(sorted, 0.5) * 1000,
    p99Us: percentile(sorted, 0.99) * 1000,
    requestsPerSecond: (sorted.length / elapsedMs) * 1000,
    clientCpuUs: (cpu.user + cpu.system) / sorted.length,
  };
}

async function keepGoing(
  requests: Request | readonly Request[],
  options: LoopOptions,
  latencies: number[],
): Promise<void> {
  const end = performance.now() + options.durationMs;
  const worker = async (request: Request) => {
    let now = performance.now();
    for (let i = 0; i < options.minRequests || now < end; i++) {
      await request();
      const then = now;
      now = performance.now();
      latencies.push(now - then);
    }
  };
  const of = (i: number) => (typeof requests === 'function' ? requests : (requests[i] as Request));
  await Promise.all(Array.from({ length: options.inFlight }, (_, i) => worker(of(i))));
}
