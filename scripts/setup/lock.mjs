import { mkdirSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { home } from './paths.mjs';

/**
 * The lock is a listening socket in Linux's abstract namespace: the kernel gives its name to one process, and takes it
 * back however that process ends. No file can become stale, and nobody can release what another one holds.
 */
function nameFor(folder) {
  const { dev, ino } = statSync(folder);
  return `\0zerohop-setup-${dev}-${ino}`;
}

/** A server under that name, or undefined when another process has it. */
function tryListen(name) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(name, () => resolve(server));
  });
}

/** Resolves when the holder has released the lock or ended; `tell` is given its pid before. */
function whenReleased(name, tell) {
  return new Promise((resolve) => {
    const socket = connect(name);
    socket.on('data', (pid) => tell(pid.toString()));
    // Refused: it has just gone. The caller looks again in any case.
    socket.on('error', () => undefined);
    socket.once('close', resolve);
  });
}

/**
 * Waits until no other set-up works in this clone, then keeps others out until `release` is called, and as long as a
 * process lives that has inherited `descriptor`.
 *
 * @param {string} folder what the lock is for; made when it is not there
 * @returns {Promise<{ descriptor: number, release(): void }>}
 */
export async function lock(folder = home) {
  mkdirSync(folder, { recursive: true });
  const name = nameFor(folder);
  let told = false;
  const tell = (pid) => {
    if (!told) console.error(`Waiting for another set-up of this clone (pid ${pid})`);
    told = true;
  };
  let server = await tryListen(name);
  while (server === undefined) {
    await whenReleased(name, tell);
    server = await tryListen(name);
    // Of several that waited one was faster; its server may not answer yet.
    if (server === undefined) await delay(20);
  }
  const waiting = new Set();
  server.on('connection', (socket) => {
    waiting.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => waiting.delete(socket));
    socket.write(String(process.pid));
    socket.unref();
  });
  server.unref();
  return {
    // Node can hand down no server as such, only its descriptor.
    descriptor: server._handle.fd,
    release() {
      server.close();
      for (const socket of waiting) socket.destroy();
    },
  };
}
