import type { TritonVersion } from './installation.js';

export interface StartTritonOptions {
  /** One or several model repositories (folders of model folders). */
  modelRepository: string | readonly string[];
  /** Load only these, in explicit mode; others can be loaded later through the repository API. Default: all there are. */
  models?: readonly string[];
  /**
   * `explicit` lets clients load and unload models. Default: `explicit` when `models` is given, else `none`, where a
   * model that can't be loaded keeps the server from starting.
   */
  modelControl?: 'none' | 'explicit';
  /** Folders with native backends of ours: each `NAME/libtriton_NAME.so` in them becomes the backend NAME. */
  backendDirectories?: readonly string[];
  /** Ports on 127.0.0.1. Default: free ones. */
  ports?: { http?: number; grpc?: number; metrics?: number };
  /** Further arguments for `tritonserver`. */
  args?: readonly string[];
  /** Further variables for the server and its models. */
  env?: Readonly<Record<string, string>>;
  /** Which of the servers that set-up installs. Default: the newest, 2.51. The older one is there for tests. */
  version?: TritonVersion;
  /** Where the server is, see `findTriton`. */
  home?: string;
  /** Bytes of /dev/shm that must be free before the start. Default 32 MiB; add about 101 MiB per Python model at 4K. */
  shmByteLength?: number;
  /** Seconds the server gives running requests and open streams after SIGTERM; it takes no longer than it needs. Default 6. */
  exitTimeoutSeconds?: number;
  /** Milliseconds until the start counts as failed. Default 120,000. */
  timeoutMs?: number;
  /** Where the server's output goes; appended. Default: a temporary file, removed at the end. */
  logFile?: string;
  /** Ends the start; the promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Told what is being waited for, in words. */
  onProgress?: (message: string) => void;
}
