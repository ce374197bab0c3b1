import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { get } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalTritonError } from './errors.js';
import { findTriton, type TritonInstallation } from './installation.js';
import { isHopeless, judgeLog, readTail } from './log.js';
import type { StartTritonOptions } from './options.js';
import { plainPath, plainTemporaryDirectory } from './plain-path.js';
import { freePorts, takenPort } from './ports.js';
import { LocalTriton, type ServerPorts } from './server.js';
import { ServerProcess } from './server-process.js';
import { checkSharedMemory, newSharedMemoryPrefix, removeStale, sharedMemoryRemedy } from './shared-memory.js';

const MIB = 2 ** 20;
const PORT_ATTEMPTS = 4;

/**
 * Starts a real Triton server on 127.0.0.1 and resolves once it and its models are ready (1 to 15 s).
 *
 * The server can't outlive this process: however the process ends, a supervisor ends the server and its Python stubs and
 * removes their /dev/shm files within about two seconds. When the supervisor is killed as well, the kernel ends the
 * server (where util-linux has setpriv), and what files are still left the next start removes. Nothing here keeps the
 * event loop alive once the server is ready.
 *
 * @throws LocalTritonError ERR_TRITON_NOT_INSTALLED, ERR_SHM_FULL, ERR_TRITON_START; the reason of `signal`
 */
export async function startTriton(options: StartTritonOptions): Promise<LocalTriton> {
  options.signal?.throwIfAborted();
  removeStale(plainTemporaryDirectory());
  checkSharedMemory(options.shmByteLength ?? 32 * MIB);
  // Whoever listens there would also be the one to answer that it is ready.
  const taken = await takenPort(Object.values(options.ports ?? {}));
  if (taken !== undefined) {
    throw new LocalTritonError(
      'ERR_TRITON_START',
      `Port ${taken} of 127.0.0.1 is already in use: end what listens there, or choose another port.`,
    );
  }
  const installation = await findTriton(options.home, options.version);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options, installation);
    } catch (error) {
      // Between our look and the server's bind someone else may have taken the port.
      if (attempt < PORT_ATTEMPTS && error instanceof PortTakenError && options.ports === undefined) continue;
      throw error;
    }
  }
}

class PortTakenError extends LocalTritonError {}

async function startOnce(options: StartTritonOptions, installation: TritonInstallation): Promise<LocalTriton> {
  const free = await freePorts(3);
  const ports: ServerPorts = {
    http: options.ports?.http ?? free[0] ?? 0,
    grpc: options.ports?.grpc ?? free[1] ?? 0,
    metrics: options.ports?.metrics ?? free[2] ?? 0,
  };
  const shmPrefix = newSharedMemoryPrefix();
  const runDirectory = join(plainTemporaryDirectory(), `${shmPrefix}run`);
  mkdirSync(runDirectory, { mode: 0o700 });
  const logFile = options.logFile === undefined ? join(runDirectory, 'server.log') : resolve(options.logFile);
  const exitTimeoutSeconds = options.exitTimeoutSeconds ?? 6;
  let server: ServerProcess | undefined;
  try {
    const backends = linkBackends(runDirectory, installation, options.backendDirectories ?? []);
    server = await ServerProcess.start({
      binary: installation.binary,
      args: serverArguments(options, { runDirectory, backends, ports, shmPrefix, exitTimeoutSeconds }),
      env: environment(installation, options.env),
      logFile,
      shmPrefix,
      runDirectory,
    });
    await ready(server, ports, logFile, options);
    await server.noteFolder();
    return new LocalTriton({ server, ports, logFile, runDirectory, exitTimeoutSeconds });
  } catch (error) {
    await server?.noteFolder();
    await server?.stop(0);
    rmSync(runDirectory, { recursive: true, force: true });
    throw error;
  }
}

function serverArguments(
  options: StartTritonOptions,
  run: { runDirectory: string; backends: string; ports: ServerPorts; shmPrefix: string; exitTimeoutSeconds: number },
): string[] {
  const repositories =
    typeof options.modelRepository === 'string' ? [options.modelRepository] : options.modelRepository;
  const control = options.modelControl ?? (options.models === undefined ? 'none' : 'explicit');
  return [
    ...repositories.map((path, index) => `--model-repository=${plainPath(path, run.runDirectory, `models-${index}`)}`),
    `--backend-directory=${run.backends}`,
    `--backend-config=python,shm-region-prefix-name=${run.shmPrefix}`,
    `--model-control-mode=${control}`,
    ...(options.models ?? []).map((model) => `--load-model=${model}`),
    '--http-address=127.0.0.1',
    '--grpc-address=127.0.0.1',
    '--metrics-address=127.0.0.1',
    `--http-port=${run.ports.http}`,
    `--grpc-port=${run.ports.grpc}`,
    `--metrics-port=${run.ports.metrics}`,
    `--exit-timeout-secs=${run.exitTimeoutSeconds}`,
    ...(options.args ?? []),
  ];
}

function environment(
  installation: TritonInstallation,
  extra: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const own = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(own), ...installation.environment, ...extra };
}

/** One folder with a link per backend: the server takes exactly one. */
function linkBackends(runDirectory: string, installation: TritonInstallation, own: readonly string[]): string {
  const backends = join(runDirectory, 'backends');
  mkdirSync(backends);
  for (const directory of [installation.backends, ...own.map((path) => resolve(path))]) {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory() || entry.isSymbolicLink()) {
        symlinkSync(join(directory, entry.name), join(backends, entry.name));
      }
    }
  }
  return backends;
}

async function ready(
  server: ServerProcess,
  ports: ServerPorts,
  logFile: string,
  options: StartTritonOptions,
): Promise<void> {
  const started = Date.now();
  const timeoutMs = options.timeoutMs ?? 120_000;
  options.onProgress?.(`Waiting for the Triton server (pid ${server.pid}) and its models`);
  while (server.running) {
    options.signal?.throwIfAborted();
    if (await isReady(ports.http)) {
      options.onProgress?.(`The Triton server is ready after ${((Date.now() - started) / 1000).toFixed(1)} s`);
      return;
    }
    if (Date.now() - started > timeoutMs) {
      throw startError(`The Triton server was not ready after ${timeoutMs} ms`, logFile);
    }
    // The server waits minutes for a stub whose libpython is not found, and says nothing itself.
    if (isHopeless(readTail(logFile, 400))) {
      throw startError('The Triton server cannot become ready', logFile);
    }
    await delay(100);
  }
  throw startError('The Triton server ended before it was ready', logFile);
}

/** Without keep-alive: a server that is told to end waits for open connections before it unloads its models. */
async function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', port, path: '/v2/health/ready', headers: { connection: 'close' }, timeout: 2000 },
      (response) => {
        response.resume();
        response.once('close', () => resolve(response.statusCode === 200));
      },
    );
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(false));
  });
}

function startError(what: string, logFile: string): LocalTritonError {
  const log = readTail(logFile, 400);
  const verdict = judgeLog(log);
  const said = verdict.line === '' ? '' : `: ${verdict.line}`;
  switch (verdict.kind) {
    case 'port':
      return new PortTakenError('ERR_TRITON_START', `${what}${said} (choose other ports or leave them out)`, { log });
    case 'shm':
      return new LocalTritonError('ERR_SHM_FULL', `${what}, because /dev/shm is full: ${sharedMemoryRemedy(1024)}`, {
        log,
      });
    case 'library':
    case 'model':
    case 'other':
      return new LocalTritonError('ERR_TRITON_START', `${what}${said}`, { log });
  }
}
