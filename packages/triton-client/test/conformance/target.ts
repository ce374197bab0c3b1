import type { TlsOptions } from '../../src/index.js';

export type TransportName = 'grpc' | 'http';

/** The servers that are at hand as wheels. */
export type RealVersion = '2.51' | '2.48';

/** The servers that the suite knows differences of; a double says which of them it stands for. */
export type ServerVersion = RealVersion | '2.53' | '2.68';

export interface ServerUrls {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly metricsUrl: string;
}

/**
 * The servers of one target:
 *
 * - `main`: explicit model control, the models of `MODELS`, headers that begin with `x-forward-` go to the model
 * - `locked`: model control `none`, the models `identity` and `hold`, gRPC with mutual TLS, and all but health and inference
 *   restricted: over gRPC by the header `triton-grpc-protocol-admin-key`, over HTTP by `admin-key`, both `secret`
 * - `socket`: gRPC on a unix socket, the models `identity` and `hold`
 */
export type ServerKind = 'main' | 'locked' | 'socket';

/** A model's code: the path of its file within the model's folder, and what is in it. */
export interface CarriedCode {
  readonly path: string;
  /** INT32 [n] `INPUT0` in, twice its values as `OUTPUT0` out. */
  readonly doubling: string;
  /** Fails to start. */
  readonly broken: string;
}

/** What the suite runs against: real servers, or a double that claims to be one. */
export interface ConformanceTarget {
  /** Such as `Triton 2.51`. */
  readonly name: string;
  readonly version: ServerVersion;
  readonly transport: TransportName;
  /** Called when a case begins, since servers start after the cases are registered. */
  servers(kind: ServerKind): ServerUrls;
  /** What a client needs for `locked` over gRPC, and an HTTPS proxy in front of its HTTP port. */
  tls(): { readonly options: TlsOptions; readonly httpsUrl: string };
  /** The server that `leave` ends; no case that comes later uses it over this transport. */
  readonly leaving: ServerKind;
  /** The model that comes with a request to load it, in a language that the target runs. */
  readonly code: CarriedCode;
  /** Ends that server as its operator would (SIGTERM); resolves when it is gone. */
  leave(): Promise<void>;
}
