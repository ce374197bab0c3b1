import { warnOfCleanup } from './cleanup-warning.js';
import { CudaError, DisposedError, losesContext } from './errors.js';
import { type Graph, openGraph } from './graph.js';
import type { GraphHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground } from './resource.js';
import type { StreamParts } from './stream-parts.js';
import { collectUses } from './work-queue.js';

/**
 * Captures what `work` enqueues, on a stream without copies on their way through the staging buffers.
 *
 * @throws what `work` throws, TypeError when it gives a promise, CudaError when the capture failed.
 */
export async function captureGraph(stream: StreamParts, work: () => void): Promise<Graph> {
  const handle = binding().captureBegin(stream.handle);
  let uses: ReturnType<typeof collectUses>;
  try {
    uses = collectUses(() => refusePromise(work()));
  } catch (error) {
    abandon(stream, handle);
    throw error;
  }
  end(stream, handle);
  const closed = Array.from(uses).find((resource) => resource.closed);
  if (closed !== undefined) {
    closeInBackground(binding().graphDestroy(handle));
    throw new DisposedError(`${closed.kind}, which the captured work uses,`);
  }
  const ready = binding().graphInstantiate(handle);
  try {
    // The driver reads modules and memory for it: they must not go meanwhile.
    await Promise.all([ready, ...Array.from(uses, (resource) => resource.during(ready))]);
  } catch (error) {
    discard(handle, error);
    throw error;
  }
  return openGraph(stream.device, handle, uses);
}

function refusePromise(result: unknown): void {
  if (typeof result !== 'object' || result === null || !('then' in result)) return;
  // What becomes of it is nobody's business any more: without this a failure would end the process.
  Promise.resolve(result).catch(() => {});
  throw new TypeError('Expected a function that enqueues synchronously for work but received one that is async');
}

/** Gives back a graph that an error made useless. */
function discard(graph: GraphHandle, error: unknown): void {
  if (!losesContext(error)) closeInBackground(binding().graphDestroy(graph));
}

/** Ends a capture; when that fails, nothing of it stays. */
function end({ handle: stream }: StreamParts, graph: GraphHandle): void {
  try {
    binding().captureEnd(stream, graph);
  } catch (error) {
    try {
      // Some errors leave the stream capturing, which would make it useless.
      binding().captureEnd(stream, graph);
    } catch {
      // The first error has ended the capture.
    }
    discard(graph, error);
    throw error;
  }
}

/** Ends a capture whose work threw: that is the error to tell. */
function abandon(stream: StreamParts, graph: GraphHandle): void {
  try {
    end(stream, graph);
    closeInBackground(binding().graphDestroy(graph));
  } catch (error) {
    // What the work did wrong may have ended the capture.
    const consequence = error instanceof CudaError && error.code === 'CUDA_ERROR_STREAM_CAPTURE_INVALIDATED';
    if (!consequence) warnOfCleanup(error);
  }
}
