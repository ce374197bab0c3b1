import { connect, createServer, type Socket } from 'node:net';

export interface CuttableProxy {
  /** Address for a client. */
  readonly url: string;
  /** How much later than sent the client's bytes arrive, in milliseconds. At first 0. */
  delayMs: number;
  /** Drops every connection at once, as a network would; new ones are taken again. */
  cut(): void;
  /** New connections go there from now on. */
  target(url: string): void;
  close(): Promise<void>;
}

/** A TCP relay in front of a server, whose connections can be cut, delayed and led elsewhere. */
export async function cuttableProxy(targetUrl: string): Promise<CuttableProxy> {
  let target = addressOf(targetUrl);
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    const outbound = connect(target.port, target.host);
    for (const [socket, other] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      socket.setNoDelay();
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    inbound.on(
      'data',
      inOrder(
        (bytes) => outbound.write(bytes),
        () => proxy.delayMs,
      ),
    );
    inbound.on('end', () => outbound.end());
    outbound.pipe(inbound);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const proxy: CuttableProxy = {
    url: `grpc://127.0.0.1:${port}`,
    delayMs: 0,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    target(url) {
      target = addressOf(url);
    },
    close() {
      proxy.cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

function addressOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url.replace('grpc:', 'http:'));
  return { host: hostname, port: Number(port) };
}

/** Passes bytes on after a delay that may change; nothing overtakes what came before. */
function inOrder(pass: (bytes: Buffer) => void, delayMs: () => number): (bytes: Buffer) => void {
  const waiting: Buffer[] = [];
  return (bytes) => {
    const ms = delayMs();
    if (ms === 0 && waiting.length === 0) {
      pass(bytes);
      return;
    }
    waiting.push(bytes);
    setTimeout(() => {
      const next = waiting.shift();
      if (next !== undefined) pass(next);
    }, ms);
  };
}
