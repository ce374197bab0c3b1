import { rmSync } from 'node:fs';
import { readTail } from './log.js';
import type { ServerProcess } from './server-process.js';

export interface ServerPorts {
  http: number;
  grpc: number;
  metrics: number;
}

/** A running server that we started and own. */
export class LocalTriton {
  /** `grpc://127.0.0.1:PORT` */
  readonly grpcUrl: string;
  /** `http://127.0.0.1:PORT` */
  readonly httpUrl: string;
  /** `http://127.0.0.1:PORT/metrics` */
  readonly metricsUrl: string;
  readonly ports: Readonly<ServerPorts>;
  readonly pid: number;
  readonly logFile: string;
  readonly #server: ServerProcess;
  readonly #graceMs: number;
  #lastLog = '';

  /** @internal made by startTriton */
  constructor(run: {
    server: ServerProcess;
    ports: ServerPorts;
    logFile: string;
    runDirectory: string;
    exitTimeoutSeconds: number;
  }) {
    this.#server = run.server;
    // An open idle stream keeps a server alive past its own exit timeout for ever.
    this.#graceMs = run.exitTimeoutSeconds * 1000 + 2000;
    this.ports = run.ports;
    this.pid = run.server.pid;
    this.logFile = run.logFile;
    this.grpcUrl = `grpc://127.0.0.1:${run.ports.grpc}`;
    this.httpUrl = `http://127.0.0.1:${run.ports.http}`;
    this.metricsUrl = `http://127.0.0.1:${run.ports.metrics}/metrics`;
    // A server that ends by itself may never be stopped.
    run.server.onGone(() => {
      this.#lastLog = readTail(this.logFile, 400);
      rmSync(run.runDirectory, { recursive: true, force: true });
    });
  }

  /** False once the server has ended, by `stop` or by itself, and what it left has been removed. */
  get running(): boolean {
    return this.#server.running;
  }

  /** Resolves when the server has ended and its stubs and /dev/shm files are gone. Never rejects. */
  whenEnded(): Promise<void> {
    return this.#server.whenGone();
  }

  /** The last lines the server printed. */
  logTail(lines = 40): string {
    const tail = readTail(this.logFile, lines);
    return tail === '' ? this.#lastLog.split('\n').slice(-lines).join('\n') : tail;
  }

  /** Sends a signal to the server process alone. After SIGKILL its stubs and files are removed as after `stop`. */
  kill(signal: NodeJS.Signals): void {
    this.#server.kill(signal);
  }

  /** Ends the server: SIGTERM, then SIGKILL for what is left, then its /dev/shm files. Calling it again is fine. */
  async stop(): Promise<void> {
    await this.#server.stop(this.#graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
