import type { IndexEntry } from './core/core.js';
import { ControlEndpoint } from './faults/control.js';
import type { ActiveFault, Fault } from './faults/fault.js';
import { FaultPlan } from './faults/plan.js';
import { Wire } from './faults/wire.js';
import { AT_LEAST_ONE, checkFields, MILLISECONDS, optional, required } from './fields.js';
import type { DevServerOptions, ReplacementOptions } from './options.js';
import { checkOptions, checkReplacement } from './options-check.js';
import { RequestLog } from './request-log.js';
import { RequestObserver } from './request-observer.js';
import { EXIT_TIMEOUT_MS, type Ports, ProcessRegions, ServerProcess } from './server-process.js';
import { Turns } from './turns.js';
import { LONGEST_MS, unless } from './within.js';

const STOPPED = new Error('The server was stopped');

/**
 * A Triton in this process, to develop and test against: gRPC and HTTP on 127.0.0.1, models in JavaScript, shared memory
 * for real, faults on demand.
 */
export class DevServer extends RequestObserver implements AsyncDisposable {
  readonly #faults = new FaultPlan();
  readonly #wire = new Wire();
  #options: DevServerOptions;
  #running: ServerProcess | undefined;
  #ports: Ports;
  #metrics: boolean;
  #control: ControlEndpoint | undefined;
  /** Those that were replaced and still have connections. */
  readonly #leaving = new Set<ServerProcess>();
  /** Changes of what runs, one after the other. */
  readonly #turns = new Turns();
  #stopped = false;
  readonly #requests: RequestLog;
  /** Ends the wait for models that a restart or a replacement still loads, and that may never be there. */
  readonly #abandon = new AbortController();

  private constructor(options: DevServerOptions) {
    const requests = new RequestLog();
    super(requests);
    this.#requests = requests;
    const { grpcPort = 0, httpPort = 0, metricsPort = 0, metrics = true } = options;
    this.#options = options;
    this.#metrics = metrics;
    this.#ports = { grpc: grpcPort, http: httpPort, metrics: metricsPort };
  }

  /**
   * Starts a server. Resolves when its models are loaded and its ports are open; a model that can't be loaded makes
   * this fail or, without `exitOnError`, the server not ready.
   *
   * @throws Error when a port is taken, a model repository can't be read, or a model can't be loaded (see `exitOnError`)
   * @throws TypeError for an option that is none, or a value that it can't have
   */
  static async start(options: DevServerOptions = {}): Promise<DevServer> {
    checkOptions(options);
    if (process.env.NODE_ENV === 'production') {
      process.emitWarning('The devserver is a double for development and tests, not a server for production.', {
        code: 'ZEROHOP_DEVSERVER_IN_PRODUCTION',
      });
    }
    const server = new DevServer(options);
    const { controlPort } = options;
    await server.#run(server.#newRegions());
    try {
      if (controlPort !== undefined) server.#control = await ControlEndpoint.start(server, controlPort);
    } catch (error) {
      await server.kill();
      throw error;
    }
    return server;
  }

  /** The ports that it listens on; `grpc` is the number in the socket's name for a unix socket. */
  get ports(): Ports {
    return this.#ports;
  }

  /** For a client, such as `grpc://127.0.0.1:8001`. */
  get grpcUrl(): string {
    const { grpcSocket, tls } = this.#options;
    if (grpcSocket !== undefined) return `unix:${grpcSocket}:${this.#ports.grpc}`;
    return `${tls === undefined ? 'grpc' : 'grpcs'}://${this.#host}:${this.#ports.grpc}`;
  }

  /** Such as `http://127.0.0.1:8000`. */
  get httpUrl(): string {
    return `http://${this.#host}:${this.#ports.http}`;
  }

  /** Such as `http://127.0.0.1:8002/metrics`. */
  get metricsUrl(): string {
    return `http://${this.#host}:${this.#ports.metrics}/metrics`;
  }

  /** Where faults are made by HTTP; undefined without the option `controlPort`. */
  get controlUrl(): string | undefined {
    return this.#control?.url;
  }

  /** Whether `stop` or `kill` was called. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Whether it stands still: `freeze`, without a `thaw` since. */
  get frozen(): boolean {
    return this.#wire.frozen;
  }

  /** Every model that it knows of, as the repository's index shows it; none when it is stopped. */
  models(): readonly IndexEntry[] {
    return this.#running?.models() ?? [];
  }

  /** The faults in effect. */
  get faults(): readonly ActiveFault[] {
    return this.#faults.list();
  }

  /**
   * Makes something go wrong with requests from now on, until it is removed or has met as many as it was told to.
   *
   * @throws TypeError for what is no fault
   */
  addFault(fault: Fault): ActiveFault {
    return this.#faults.add(fault);
  }

  /** Removes every fault of requests. Those that a fault has met stay under it. */
  clearFaults(): void {
    this.#faults.clear();
  }

  /**
   * Tells clients to connect anew (GOAWAY); what is still open after `graceMs` (default 0) is cut off.
   *
   * @throws TypeError for what is no time
   */
  goAway(graceMs = 0): void {
    checkFields("'goAway'", { graceMs }, { graceMs: required(MILLISECONDS) });
    this.#running?.goAway(graceMs);
  }

  /** Ends every connection without a word. New ones are taken. */
  dropConnections(): void {
    for (const each of this.#processes()) each.drop();
  }

  /**
   * As SIGSTOP: nothing is read, written or answered by anybody, pings and outputs in regions included, and only the kernel
   * takes connections. The code of models goes on.
   */
  freeze(): void {
    this.#wire.freeze();
  }

  /** As SIGCONT. A restart, a stop and a kill thaw too. */
  thaw(): void {
    this.#wire.thaw();
  }

  /**
   * Reads from each connection so much a second at most; without a number, as fast as it goes.
   *
   * @throws TypeError for what is no whole number from 1
   */
  slowReads(bytesPerSecond?: number): void {
    checkFields("'slowReads'", { bytesPerSecond }, { bytesPerSecond: optional(AT_LEAST_ONE) });
    this.#wire.bytesPerSecond = bytesPerSecond;
  }

  /** Takes no new connections for gRPC and HTTP (ECONNREFUSED) until `acceptConnections` or a restart. */
  refuseConnections(): Promise<void> {
    return this.#turns.run(async () => this.#running?.takeConnections(false));
  }

  /** Takes connections again. @throws Error when another has the port meanwhile */
  acceptConnections(): Promise<void> {
    return this.#turns.run(async () => this.#running?.takeConnections(true));
  }

  /** Opens or closes the port of the metrics; closed is a server with `--allow-metrics=false`. */
  setMetrics(open: boolean): Promise<void> {
    return this.#turns.run(async () => {
      if (this.#metrics === open) return;
      this.#metrics = open;
      await this.#running?.setMetrics(open);
      this.#ports = this.#running?.ports ?? this.#ports;
    });
  }

  /**
   * Ends as a killed process does and starts again on the same ports, with models loaded anew.
   *
   * @param options.keepRegions - the table of regions survives, as no real server's does
   */
  restart({ keepRegions = false }: { readonly keepRegions?: boolean } = {}): Promise<void> {
    return this.#turns.run(() => this.#restart(keepRegions));
  }

  /**
   * Puts another server on the same ports, without regions. The one before keeps its connections as after SIGTERM: what is in
   * progress ends, new requests find no model, and it writes into its regions; at most for `exitTimeoutMs`.
   *
   * @param options what is another with the new one
   * @throws TypeError, as `start`
   */
  async replace(options: ReplacementOptions = {}): Promise<void> {
    checkReplacement(options);
    await this.#turns.run(async () => {
      const before = this.#running;
      if (this.#stopped || before === undefined) throw STOPPED;
      const changed = { ...this.#options, ...options };
      checkOptions(changed);
      this.#leaving.add(before);
      this.#options = changed;
      this.#running = undefined;
      await before.freePorts();
      void before.leave().finally(() => this.#leaving.delete(before));
      await this.#run(this.#newRegions());
    });
  }

  /**
   * Ends as the operator of a real server ends it (SIGTERM): not ready any more, what is in progress goes on, at most for
   * `exitTimeoutMs`. Resolves when it is gone; stopping twice is fine.
   */
  stop(): Promise<void> {
    const { exitTimeoutMs = EXIT_TIMEOUT_MS } = this.#options;
    const late = setTimeout(() => this.#abandon.abort(STOPPED), Math.min(exitTimeoutMs, LONGEST_MS)).unref();
    return this.#turns.run(async () => {
      clearTimeout(late);
      if (this.#stopped) return;
      this.#stopped = true;
      this.#requests.close();
      this.#wire.thaw();
      await Promise.all([...this.#processes()].map((each) => (each === this.#running ? each.exit() : each.end())));
      this.#running = undefined;
      await this.#control?.close();
    });
  }

  /** Ends at once, in the middle of everything, as kill -9. */
  kill(): Promise<void> {
    this.#abandon.abort(STOPPED);
    return this.#turns.run(async () => {
      if (this.#stopped) return;
      this.#stopped = true;
      this.#requests.close();
      await this.#killAll();
      await this.#control?.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #host(): string {
    return this.#options.host ?? '127.0.0.1';
  }

  #processes(): Set<ServerProcess> {
    const running = this.#running;
    return new Set([...(running === undefined ? [] : [running]), ...this.#leaving]);
  }

  #newRegions(): ProcessRegions {
    return new ProcessRegions(this.#options, this.#wire);
  }

  async #run(regions: ProcessRegions): Promise<void> {
    const started: ServerProcess = new ServerProcess(
      {
        options: this.#options,
        faults: this.#faults,
        requests: this.#requests,
        wire: this.#wire,
        ports: this.#ports,
        metrics: this.#metrics,
        onCrash: (reason) => this.#crashed(started, reason),
      },
      regions,
    );
    const loading = started.load();
    try {
      await unless(this.#abandon.signal, loading);
    } catch (error) {
      if (error === STOPPED) void loading.then(() => started.end()).catch(() => undefined);
      throw error;
    }
    await started.listen();
    this.#ports = started.ports;
    this.#running = started;
  }

  async #restart(keepRegions: boolean): Promise<void> {
    if (this.#stopped) throw STOPPED;
    const regions = await this.#killAll(keepRegions);
    await this.#run(regions ?? this.#newRegions());
  }

  /** @returns the regions of the one that ran, when they are to be kept */
  async #killAll(keepRegions = false): Promise<ProcessRegions | undefined> {
    const running = this.#running;
    const ended = [...this.#processes()];
    this.#running = undefined;
    let kept: ProcessRegions | undefined;
    for (const each of ended) {
      const regions = await each.kill();
      // What requests of a process that ended still write goes nowhere.
      if (keepRegions && each === running) {
        kept = regions;
        regions.table.handOver();
      } else await regions.table.clear();
    }
    // Not before: what came during a freeze is never read.
    this.#wire.thaw();
    return kept;
  }

  /** What ends a real server's process has ended all connections of this one, which then goes on as a new process would. */
  #crashed(dead: ServerProcess, reason: string): void {
    process.emitWarning(`A real Triton would have died here: ${reason}`, { code: 'ZEROHOP_DEVSERVER_CRASH' });
    const restarted = this.#turns.run(async () => {
      if (this.#running === dead) await this.#restart(false);
      else await dead.end();
    });
    restarted.catch((error: unknown) => {
      if (error !== STOPPED) process.emitWarning(error as Error);
    });
  }
}
