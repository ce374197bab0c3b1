import { TritonError } from './errors.js';

const GPU_LINE = /^nv_gpu_\w+\{[^}]*gpu_uuid="([^"]+)"/gm;

/**
 * The UUIDs of the GPUs that the server's metrics name: the GPUs it sees, in no order that means anything. Empty when
 * it has none, or does not measure them.
 *
 * @throws TritonError `TRITON_UNAVAILABLE` when the metrics cannot be read
 */
export async function readGpuUuids(metricsUrl: string, timeoutMs: number): Promise<string[]> {
  let text: string;
  try {
    // A redirect would lead to an address that nobody gave.
    const response = await fetch(metricsUrl, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    text = await response.text();
  } catch (cause) {
    const reason = cause instanceof Error ? String(cause.cause ?? cause.message) : String(cause);
    const details = `The metrics at ${metricsUrl} cannot be read: ${reason}`;
    throw new TritonError(details, { code: 'TRITON_UNAVAILABLE', method: 'metrics', details, cause });
  }
  return [...new Set(Array.from(text.matchAll(GPU_LINE), (match) => match[1] as string))].sort();
}
