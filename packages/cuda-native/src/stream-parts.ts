import { partsOf } from './abi.js';
import type { Device } from './device.js';
import type { StreamHandle } from './native/handles.js';
import type { WorkQueue } from './work-queue.js';

/** A Stream as other parts of this package need it. */
export interface StreamParts {
  readonly handle: StreamHandle;
  readonly device: Device;
  readonly work: WorkQueue;
}

/**
 * What is inside a Stream.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError
 * @throws BusyError during a capture.
 */
export function streamParts(name: string, stream: unknown): StreamParts {
  return partsOf(name, 'Stream', stream);
}
