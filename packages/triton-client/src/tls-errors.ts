/** What the words of Node's TLS say of the cause, and what to do. The first match decides. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /altname/i,
    'the certificate of the server is for another name: use a name that it is for, or give that as tls.serverName',
  ],
  [/expired|not yet valid/i, 'the certificate of the server is not valid now: renew it, or set the clock'],
  [
    /self[- ]signed|unable to (?:verify|get)|untrusted|issuer/i,
    'the certificate of the server is not trusted: give its authority as tls.ca',
  ],
  [
    /wrong version number|disconnected before secure TLS|EPROTO/i,
    'there is no TLS server, or it refused this client: without TLS the address begins with grpc:// or http://; a server that asks for client certificates needs tls.cert and tls.key',
  ],
  [/SSL routines|ERR_(?:SSL|TLS)/i, 'the server and this client agree on no TLS connection'],
  [
    // All that is left of a server that ends the connection when the handshake is over.
    /^Failed to connect/,
    'the server ended the connection after the handshake, as one does that asks for another client certificate: give tls.cert and tls.key of an authority that it trusts',
  ],
];

/** Why a TLS connection could not be made, with advice; undefined for a cause that is not TLS. */
export function tlsAdvice(reason: string): string | undefined {
  return CAUSES.find(([pattern]) => pattern.test(reason))?.[1];
}
