import { createServer, type Server } from 'node:net';

/** The first of these ports of 127.0.0.1 that something listens on, or that may not be bound. */
export async function takenPort(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) {
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (!free) return port;
  }
  return undefined;
}

/**
 * Ports of 127.0.0.1 that were free a moment ago, all different. Someone else may take one before the server does: the
 * caller tries again with others.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  try {
    const ports: number[] = [];
    for (let i = 0; i < count; i++) {
      const server = createServer();
      servers.push(server);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', resolve);
      });
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('A TCP server has no port');
      ports.push(address.port);
    }
    return ports;
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
