import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, compressionAlgorithms, credentials } from '@grpc/grpc-js';
import type { Address } from '../address.js';
import { typeError } from '../check.js';
import type { KeepaliveOptions, TlsOptions } from '../options.js';

/** How a message is compressed before it is sent. */
export type Compression = 'gzip' | 'deflate';

export interface ChannelSettings {
  readonly tls: TlsOptions;
  readonly keepalive: Required<KeepaliveOptions> | undefined;
  /** Of every message sent; grpc-js has no choice of it for a single call. */
  readonly compression?: Compression;
}

const COMMON = {
  // grpc-js stops reading at 4 MiB otherwise; Triton's own limit is 2 GiB.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // With the defaults a client finds a restarted server up to 20 s late.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A repeated inference is the caller's decision, and each of these costs time on every call.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  // Without a service config the addresses of a name are tried in their order, and the one that answers is kept.
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  // A connection of its own: its epoch then tells what happened to this client's calls.
  'grpc.use_local_subchannel_pool': 1,
} as const;

/** An address has no place where TLS names the server asked for, and Node warns of one; this name is nobody's. */
const NO_NAME = 'address.invalid';

export function channelOptions({ host }: Address, settings: ChannelSettings): ChannelOptions {
  const { keepalive, compression } = settings;
  const { serverName } = settings.tls;
  const options: ChannelOptions = { ...COMMON };
  if (serverName !== undefined) {
    // Both: the name that the certificate is checked for, and the one that the server is asked for.
    options['grpc.ssl_target_name_override'] = serverName;
    options['grpc.default_authority'] = serverName;
  } else if (isIP(host) !== 0) {
    options['grpc.ssl_target_name_override'] = NO_NAME;
  }
  if (keepalive !== undefined) {
    options['grpc.keepalive_time_ms'] = keepalive.timeMs;
    options['grpc.keepalive_timeout_ms'] = keepalive.timeoutMs;
  }
  if (compression !== undefined) {
    options['grpc.default_compression_algorithm'] = compressionAlgorithms[compression];
  }
  return options;
}

/** @throws TypeError for certificates or a key that cannot be read */
export function channelCredentials({ scheme, host }: Address, tls: TlsOptions): ChannelCredentials {
  if (scheme !== 'grpcs') return credentials.createInsecure();
  const name = tls.serverName ?? host;
  try {
    return credentials.createSsl(toBuffer(tls.ca), toBuffer(tls.key), toBuffer(tls.cert), {
      checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
    });
  } catch (error) {
    const wrong = typeError('certificates and a key in PEM', 'tls', (error as Error).message);
    wrong.cause = error;
    throw wrong;
  }
}

const toBuffer = (value: string | Uint8Array | undefined): Buffer | null =>
  value === undefined ? null : typeof value === 'string' ? Buffer.from(value) : Buffer.from(value);
