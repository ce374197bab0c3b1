import type { RestrictedApis } from './api-groups.js';
import type { ForwardHeaders } from './forwarded-headers.js';
import type { GrpcTls } from './grpc/front-end.js';
import type { Version } from './personality.js';
import type { ModelDefinition } from './repository/code.js';

export interface DevServerOptions {
  /** Models given in code, by name. */
  readonly models?: Readonly<Record<string, ModelDefinition>>;
  /** Folders with a folder for each model, as of a real server. */
  readonly modelRepository?: string | readonly string[];
  /** The version of Triton that it behaves as. Default '2.51'. */
  readonly version?: Version;
  /**
   * `none` loads all models and refuses to load others; `explicit` loads those that `loadModels` names, and lets clients
   * load and unload. Default `none`.
   */
  readonly modelControl?: 'none' | 'explicit';
  /** With `explicit`: what is loaded at the start; `*` for all. */
  readonly loadModels?: readonly string[];
  /** Default `127.0.0.1`: it is no server for others. */
  readonly host?: string;
  /** 0, the default, takes a free port. */
  readonly grpcPort?: number;
  /** As `grpcPort`. */
  readonly httpPort?: number;
  /** As `grpcPort`. */
  readonly metricsPort?: number;
  /** Whether there are metrics at all. Default true. */
  readonly metrics?: boolean;
  /** gRPC on a unix socket at `PATH:PORT`, as the real server does it, in place of TCP. */
  readonly grpcSocket?: string;
  /** gRPC through TLS, as `--grpc-use-ssl`; a real server has none for HTTP. */
  readonly tls?: GrpcTls;
  /** Whether a model that can't be loaded at the start makes the start fail. Default true, as `--exit-on-error`. */
  readonly exitOnError?: boolean;
  /** Whether a model that could not be loaded makes the server not ready. Default true. */
  readonly strictReadiness?: boolean;
  /**
   * Headers whose name matches are handed to the models as parameters, as `--grpc-header-forward-pattern` and
   * `--http-header-forward-pattern`: anywhere in the name, whatever its capitals; `^` and `$` ask for the whole name.
   */
  readonly forwardHeaders?: ForwardHeaders;
  /** APIs that are only for those who send a header, as `--grpc-restricted-protocol` and `--http-restricted-api`. */
  readonly restricted?: readonly RestrictedApis[];
  /** Whether clients may register regions. Default: as the version does; only '2.68' does not. */
  readonly allowClientShm?: boolean;
  /** UUIDs of the GPUs that the metrics tell of; the regions are those of the CUDA driver here, if there is one. */
  readonly gpuUuids?: readonly string[];
  /** Whether tracing can be set at all. Default true; a real server without `--trace-config` refuses. */
  readonly tracing?: boolean;
  /** How long `stop` waits for requests and models, in milliseconds; may be Infinity. Default 30,000, as `--exit-timeout-secs`. */
  readonly exitTimeoutMs?: number;
  /** A port of 127.0.0.1 for faults by HTTP (0 takes a free one); absent: only by API. */
  readonly controlPort?: number;
}

/** What a server is replaced with: all but where it is. */
export type ReplacementOptions = Omit<DevServerOptions, PlaceOption>;

export type PlaceOption = 'host' | 'grpcPort' | 'httpPort' | 'metricsPort' | 'grpcSocket' | 'controlPort';
