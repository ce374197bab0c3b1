import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { LocalTritonError } from './errors.js';
import { removeSharedMemory } from './shared-memory.js';
import { type SupervisorConfig, type SupervisorReport, supervise } from './supervisor.js';

const SUPERVISOR_SOURCE = `(${supervise.toString()})(require('node:child_process'), require('node:fs'))`;

/** The server behind its supervisor. */
export class ServerProcess {
  readonly pid: number;
  readonly #supervisor: ChildProcess;
  readonly #config: SupervisorConfig;
  readonly #gone: Promise<void>;
  #onNoted: (() => void) | undefined;
  #running = true;
  #exit: { exitCode: number | null; signal: string | null } | undefined;

  /** Resolves once the process exists; it is not ready then. */
  static async start(config: SupervisorConfig): Promise<ServerProcess> {
    // The supervisor must not inherit loader options meant for this process.
    const { NODE_OPTIONS: _, ...env } = process.env;
    const supervisor = spawn(process.execPath, ['--input-type=commonjs', '-e', SUPERVISOR_SOURCE], {
      detached: true,
      env,
      cwd: '/',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    supervisor.stdin.on('error', () => undefined);
    supervisor.stdin.write(`${JSON.stringify(config)}\n`);
    const reports = createInterface({ input: supervisor.stdout });
    const first = await new Promise<SupervisorReport>((resolve) => {
      const failed = (message: string): void => resolve({ type: 'failed', message });
      supervisor.once('error', (error) => failed(`its supervisor: ${error.message}`));
      supervisor.once('close', (exitCode, signal) => failed(`its supervisor ended with ${signal ?? exitCode}`));
      reports.once('line', (line) => resolve(JSON.parse(line) as SupervisorReport));
    });
    if (first.type !== 'started') {
      removeSharedMemory(config.shmPrefix);
      const why = first.type === 'failed' ? first.message : 'it ended at once';
      throw new LocalTritonError('ERR_TRITON_START', `The Triton server does not start: ${why}`);
    }
    return new ServerProcess(supervisor, reports, config, first.pid);
  }

  private constructor(
    supervisor: ChildProcess,
    reports: ReturnType<typeof createInterface>,
    config: SupervisorConfig,
    pid: number,
  ) {
    this.#supervisor = supervisor;
    this.#config = config;
    this.pid = pid;
    reports.on('line', (line) => {
      const report = JSON.parse(line) as SupervisorReport;
      if (report.type === 'noted') this.#onNoted?.();
      if (report.type === 'ended') this.#exit = { exitCode: report.exitCode, signal: report.signal };
    });
    this.#gone = new Promise<void>((resolve) => supervisor.once('close', () => resolve())).then(() =>
      this.#afterSupervisor(),
    );
    this.#unref();
  }

  /** False once the server has ended and what it left is gone. */
  get running(): boolean {
    return this.#running;
  }

  /** How the server ended. */
  get exit(): { exitCode: number | null; signal: string | null } | undefined {
    return this.#exit;
  }

  /** Lets the supervisor look which temporary folder the server has made, see there; resolves when it has. */
  async noteFolder(): Promise<void> {
    if (!this.#running) return;
    const noted = new Promise<void>((resolve) => {
      this.#onNoted = resolve;
    });
    this.#supervisor.stdin?.write('note\n');
    await Promise.race([noted, this.whenGone()]);
    this.#unref();
  }

  /** Resolves when the server, its stubs and their files are gone. */
  whenGone(): Promise<void> {
    // Someone waits: the event loop must.
    if (this.#running) this.#supervisor.ref();
    return this.#gone;
  }

  /** Calls it when `whenGone` resolves; the event loop does not wait for that. */
  onGone(listener: () => void): void {
    void this.#gone.then(listener);
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.#running) return;
    try {
      process.kill(this.pid, signal);
    } catch (error) {
      // It has ended; the supervisor is about to say so.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** SIGTERM, and SIGKILL for all that is left after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    if (this.#running) this.#supervisor.stdin?.write(`stop ${graceMs}\n`);
    await this.whenGone();
  }

  #unref(): void {
    this.#supervisor.unref();
    for (const stream of [this.#supervisor.stdin, this.#supervisor.stdout]) {
      (stream as unknown as { unref?: () => void } | null)?.unref?.();
    }
  }

  /** The supervisor reports an end after it has cleaned up; one that was killed itself has not. */
  #afterSupervisor(): void {
    if (this.#exit === undefined) {
      try {
        process.kill(-this.pid, 'SIGKILL');
      } catch {
        // Already gone.
      }
      removeSharedMemory(this.#config.shmPrefix);
    }
    this.#running = false;
  }
}
