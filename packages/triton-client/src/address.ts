import { typeError } from './check.js';

type Scheme = 'grpc' | 'grpcs' | 'unix' | 'http' | 'https';

/** Where a server is. */
export interface Address {
  /** As the user gave it. */
  readonly url: string;
  readonly scheme: Scheme;
  /** A name, an IPv4 address, or an IPv6 address without brackets; of a unix socket, its path. */
  readonly host: string;
  /** 0 for a unix socket. */
  readonly port: number;
  /** The path before `/v2`, where a proxy puts the server under one; without a slash at its end. */
  readonly basePath: string;
  /** This host's: loopback or a unix socket. Only then can memory be shared. */
  readonly isLocal: boolean;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;
const GRPC = "'grpc://host:port', 'grpcs://host:port', 'unix:/path'";
const HTTP = "'http://host:port', 'https://host:port'";
const HOST_AND_PORT = /^(grpcs?|https?):\/\/(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+):(\d{1,5})((?:\/[^\s?#]*)?)$/i;

/**
 * @throws TypeError for anything but `grpc://host:port`, `grpcs://host:port`, `unix:/path` (for a server started with
 *   `--grpc-address unix:/path --grpc-port N` the path is `/path:N`), `http://host:port` and `https://host:port`, these
 *   two also with a path
 */
export function parseAddress(url: string): Address {
  const expected = `${GRPC}, ${HTTP}`;
  if (typeof url !== 'string') throw typeError(expected, 'url', url);
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(url)?.[1];
  if (path !== undefined) return { url, scheme: 'unix', host: path, port: 0, basePath: '', isLocal: true };
  const [, scheme, host, port, rest] = HOST_AND_PORT.exec(url) ?? [];
  if (scheme === undefined || host === undefined || Number(port) < 1 || Number(port) > 65535) {
    throw typeError(expected, 'url', url);
  }
  const basePath = (rest ?? '').replace(/\/+$/, '');
  const bare = host.replace(/^\[|\]$/g, '');
  const address: Address = {
    url,
    scheme: scheme.toLowerCase() as Scheme,
    host: bare,
    port: Number(port),
    basePath,
    isLocal: LOOPBACK.test(bare),
  };
  if (!isHttp(address) && basePath !== '') throw typeError(expected, 'url', url);
  return address;
}

/** As `parseAddress`, of HTTP alone. */
export function parseHttpAddress(url: string, name: string): Address {
  const address = typeof url === 'string' && /^https?:/i.test(url) ? parseAddress(url) : undefined;
  if (address === undefined) throw typeError(HTTP, name, url);
  return address;
}

export function isHttp(address: Address): boolean {
  return address.scheme === 'http' || address.scheme === 'https';
}

/** `host:port` as it is written in URLs and in TLS. */
export function authorityOf({ host, port }: Pick<Address, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
