import { typeError } from './check.js';

/** Where a server is, as the user gave it and as grpc-js wants it. */
export interface Address {
  readonly url: string;
  readonly target: string;
  /** This host's: loopback or a unix socket. Only then can memory be shared. */
  readonly isLocal: boolean;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;
const EXPECTED = "'grpc://host:port' or 'unix:/path'";

/**
 * @throws TypeError for anything but `grpc://host:port` and `unix:/path` (for a server started with
 *   `--grpc-address unix:/path --grpc-port N` the path is `/path:N`)
 */
export function parseAddress(url: string): Address {
  if (typeof url !== 'string') throw typeError(EXPECTED, 'url', url);
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(url)?.[1];
  if (path !== undefined) return { url, target: `unix:${path}`, isLocal: true };
  const [, host, port] = /^grpc:\/\/(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})\/?$/i.exec(url) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65535) throw typeError(EXPECTED, 'url', url);
  return { url, target: `dns:${host}:${port}`, isLocal: LOOPBACK.test(host) };
}
