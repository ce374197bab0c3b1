import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Certificates } from './certificates.js';

/** Ends TLS in front of a port of 127.0.0.1, and asks clients for a certificate: Triton's HTTP has none itself. */
export class TlsProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(certificates: Certificates, port: number): Promise<TlsProxy> {
    const proxy = new TlsProxy(certificates, port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor({ authority, server }: Certificates, port: number) {
    const options = { ca: authority.cert, cert: server.cert, key: server.key, requestCert: true };
    this.#server = createServer(options, (outside) => {
      const inside = connect(port, '127.0.0.1');
      for (const [from, to] of [
        [outside, inside],
        [inside, outside],
      ] as const) {
        this.#sockets.add(from);
        from.once('close', () => this.#sockets.delete(from));
        from.on('error', () => to.destroy());
        from.pipe(to);
      }
    });
    // A client that is refused.
    this.#server.on('tlsClientError', () => undefined);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
