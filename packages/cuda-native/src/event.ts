import { identify, partsOf } from './abi.js';
import type { Device } from './device.js';
import { DisposedError } from './errors.js';
import type { EventHandle } from './native/handles.js';
import { binding } from './native/load.js';
import { closeInBackground, Resource } from './resource.js';
import { untilAborted } from './until-aborted.js';
import { checkNoCapture } from './work-queue.js';

/** How to make an event. */
export interface EventOptions {
  /**
   * Whether `elapsedMs` can be asked. Recording it then costs the device a little more.
   *
   * @defaultValue `false`
   */
  readonly timing?: boolean;
}

/** An Event as the streams need it. */
export interface EventParts {
  readonly handle: EventHandle;
  readonly device: Device;
  readonly resource: Resource;
}

let construct: (device: Device, handle: EventHandle, timing: boolean) => Event;

export function openEvent(device: Device, handle: EventHandle, timing: boolean): Event {
  return construct(device, handle, timing);
}

/**
 * What is inside an Event.
 *
 * @throws TypeError when it is something else.
 * @throws DisposedError
 */
export function eventParts(name: string, event: unknown): EventParts {
  return partsOf(name, 'Event', event);
}

/**
 * A mark in a stream's work. `stream.record(event)` puts it behind everything enqueued so far; other streams, of other
 * devices too, wait for it with `stream.wait(event)`. Recording it again moves it. An event never recorded counts as
 * reached.
 */
export class Event {
  readonly device: Device;
  readonly timing: boolean;
  readonly #parts: EventParts;

  static {
    construct = (device, handle, timing) => new Event(device, handle, timing);
    identify(Event, 'Event', (event: Event) => {
      event.#checkOpen();
      return event.#parts;
    });
  }

  private constructor(device: Device, handle: EventHandle, timing: boolean) {
    this.device = device;
    this.timing = timing;
    const what = `An Event on device ${device.ordinal}`;
    this.#parts = { handle, device, resource: new Resource('Event', what, () => binding().eventDestroy(handle)) };
  }

  get closed(): boolean {
    return this.#parts.resource.closed;
  }

  /**
   * Whether everything before the last record is over. Does not block.
   *
   * @throws DisposedError
   * @throws BusyError during a capture.
   * @throws CudaError when work on the device failed.
   */
  query(): boolean {
    this.#checkOpen();
    checkNoCapture();
    return binding().eventQuery(this.#parts.handle);
  }

  /**
   * Resolves when everything before the last record is over; recorded again meanwhile, it waits for that, too. A thread of this package's own waits, not libuv's.
   *
   * @param options.signal gives up waiting, not the work: the promise rejects with `signal.reason`.
   * @throws TypeError for wrong arguments.
   * @throws DisposedError
   * @throws BusyError during a capture.
   * @throws CudaError when work on the device failed.
   */
  async done(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    this.#checkOpen();
    checkNoCapture();
    const { handle, resource } = this.#parts;
    // The waiter asks the driver for the event: it must not be given back meanwhile.
    await untilAborted(options, () => resource.during(binding().eventWait(handle)));
  }

  /**
   * Milliseconds from `start` to this event, with a resolution of about half a microsecond. Both must have been made
   * with `timing`, recorded on streams of one device, and reached. Does not block.
   *
   * @throws TypeError for wrong arguments, also for events without timing.
   * @throws DisposedError
   * @throws CudaError `CUDA_ERROR_NOT_READY` when one of them is not reached yet, `CUDA_ERROR_INVALID_HANDLE` when one was
   * never recorded, or they are of two devices.
   */
  elapsedMs(start: Event): number {
    this.#checkOpen();
    const { handle } = eventParts('start', start);
    if (!this.timing || !start.timing) {
      throw new TypeError('Expected events made with { timing: true } for elapsedMs but received one without');
    }
    return binding().eventElapsed(handle, this.#parts.handle);
  }

  /**
   * Gives the event back, once the work that was enqueued with it, and waits for it, are over. Closing twice is fine.
   *
   * @throws CudaError when the driver refuses.
   */
  close(): Promise<void> {
    return this.#parts.resource.close();
  }

  /** Marks the event closed and gives it back; a failure becomes a process warning. */
  [Symbol.dispose](): void {
    closeInBackground(this.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw new DisposedError('Event');
  }
}
