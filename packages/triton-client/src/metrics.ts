import { TritonError } from './errors.js';
import { parseMetrics } from './prometheus.js';
import { withTimeLimit } from './time-limit.js';
import type { Metrics } from './types/generate.js';

const GPU_LINE = /^nv_gpu_\w+\{[^}]*gpu_uuid="([^"]+)"/gm;

/**
 * The UUIDs of the GPUs that the server's metrics name: the GPUs it sees, in no order that means anything. Empty when
 * it has none, or does not measure them.
 *
 * @throws TritonError `TRITON_UNAVAILABLE` when the metrics cannot be read
 */
export async function readGpuUuids(metricsUrl: string, timeoutMs: number): Promise<string[]> {
  const text = await readText(metricsUrl, timeoutMs, undefined);
  return [...new Set(Array.from(text.matchAll(GPU_LINE), (match) => match[1] as string))].sort();
}

/**
 * @throws TritonError `TRITON_UNAVAILABLE` when the metrics cannot be read, `TRITON_MALFORMED_RESPONSE` when they are none
 */
export async function readMetrics(
  metricsUrl: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Metrics> {
  const text = await readText(metricsUrl, timeoutMs, signal);
  const samples = parseMetrics(text);
  // The server answers any other path with an empty 200.
  if (samples !== undefined && samples.length > 0) return { samples, text };
  const details = `What ${metricsUrl} answers are no metrics; Triton's are at http://host:8002/metrics`;
  throw new TritonError(details, { code: 'TRITON_MALFORMED_RESPONSE', method: 'metrics', details });
}

async function readText(metricsUrl: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<string> {
  const tooLate = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  try {
    return await withTimeLimit({ timeoutMs, signal, tooLate }, async (either) => {
      // A redirect would lead to an address that nobody gave.
      const response = await fetch(metricsUrl, { redirect: 'error', signal: either });
      if (!response.ok) throw new Error(`HTTP status ${response.status}`);
      return response.text();
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const reason = cause instanceof Error ? String(cause.cause ?? cause.message) : String(cause);
    const details = `The metrics at ${metricsUrl} cannot be read: ${reason}`;
    throw new TritonError(details, { code: 'TRITON_UNAVAILABLE', method: 'metrics', details, cause });
  }
}
