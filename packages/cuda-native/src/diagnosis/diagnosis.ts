/** Why CUDA can't be used here. docs/errors.md says what each means; the message says what to do. */
export type CudaUnavailableReason =
  | 'no-prebuild'
  | 'musl'
  | 'addon-failed'
  | 'no-driver'
  | 'stub-driver'
  | 'driver-too-old'
  | 'driver-mismatch'
  | 'compat-unsupported'
  | 'no-kernel-module'
  | 'no-device-files'
  | 'no-permission'
  | 'no-device'
  | 'devices-hidden'
  | 'wsl2'
  | 'mig'
  | 'jetson'
  | 'not-ready'
  | 'mps'
  | 'init-failed';

/** What failed on the way to CUDA. */
export type Failure =
  /** The addon did not load; `text` is the loader's error, `installed` whether there is a binary for it to load. */
  | { readonly kind: 'addon'; readonly text: string; readonly installed: boolean }
  /** No library was found; one line for each that was tried. */
  | { readonly kind: 'not-loaded'; readonly tried: readonly string[] }
  /** The library lacks this function. */
  | { readonly kind: 'missing-symbol'; readonly symbol: string }
  /** cuInit failed with this CUresult. */
  | { readonly kind: 'init'; readonly status: number; readonly text: string }
  /** The driver works, and lists no device. */
  | { readonly kind: 'none-listed' }
  /** The device that was asked for is not among those that there are. */
  | { readonly kind: 'no-such-device'; readonly text: string }
  /** Another call failed. */
  | { readonly kind: 'query'; readonly text: string };

export interface Diagnosis {
  readonly reason: CudaUnavailableReason;
  /** What is the matter: a clause. */
  readonly what: string;
  /** What to do about it: a sentence without its full stop. */
  readonly advice: string;
}

export const IN_CONTAINER =
  'Start the container with --gpus all (Kubernetes: request nvidia.com/gpu) and NVIDIA_DRIVER_CAPABILITIES=compute,utility';

export const WINDOWS_DRIVER =
  "Install NVIDIA's driver on Windows and none inside WSL, see that /usr/lib/wsl/lib/libcuda.so.1 is there, and run " +
  'wsl --shutdown; in a container add --gpus all';

/** Text from outside, fit for one line of a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
