import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { LocalTriton } from '@zerohop/local-triton';
import { privateTriton } from '@zerohop/test-support';
import { onTestFinished } from 'vitest';
import { TritonClient, type TritonClientOptions } from '../../src/index.js';
import { FaultHttpServer } from './fault-http-server.js';
import { FaultServer } from './fault-server.js';
import { RawGrpcServer } from './raw-grpc-server.js';

/** Ends with the test, as all that is made here; the last one made ends first. */
export async function start(at?: number | string): Promise<FaultServer> {
  const server = await FaultServer.start(at);
  onTestFinished(() => server.kill());
  return server;
}

export async function startHttp(port = 0): Promise<FaultHttpServer> {
  const server = await FaultHttpServer.start(port);
  onTestFinished(() => server.stop());
  return server;
}

export async function startRaw(...args: Parameters<typeof RawGrpcServer.start>): Promise<RawGrpcServer> {
  const server = await RawGrpcServer.start(...args);
  onTestFinished(() => server.stop());
  return server;
}

export async function startTriton(...args: Parameters<typeof privateTriton>): Promise<LocalTriton> {
  const triton = await privateTriton(...args);
  onTestFinished(() => triton.stop());
  return triton;
}

/** @returns the port of 127.0.0.1 where the server listens */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export function connect(url: string, options: TritonClientOptions = {}): TritonClient {
  const client = new TritonClient(url, { closeTimeoutMs: 100, ...options });
  onTestFinished(() => client.close());
  return client;
}
