import { rulesOf } from './api-groups.js';
import type { IndexEntry } from './core/core.js';
import { metricsText } from './core/metrics.js';
import { TritonCore } from './core/triton-core.js';
import type { FaultPlan } from './faults/plan.js';
import type { Wire } from './faults/wire.js';
import { forwardedOver } from './forwarded-headers.js';
import { GrpcFrontEnd } from './grpc/front-end.js';
import { HttpFrontEnd } from './http/front-end.js';
import { MetricsListener } from './http/metrics-listener.js';
import type { DevServerOptions } from './options.js';
import { PERSONALITIES } from './personality.js';
import type { Protocol } from './protocol.js';
import { RegionTable } from './regions/region-table.js';
import { CodeRepository } from './repository/code.js';
import { FolderRepository } from './repository/folder.js';
import { ModelManager } from './repository/manager.js';
import type { RequestLog } from './request-log.js';
import { LogSettings } from './settings/log-settings.js';
import { TraceSettings } from './settings/trace-settings.js';
import type { ServerError } from './status.js';
import { within } from './within.js';

export const EXIT_TIMEOUT_MS = 30_000;

export interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly metrics: number;
}

export interface ProcessParts {
  readonly options: DevServerOptions;
  readonly faults: FaultPlan;
  readonly requests: RequestLog;
  readonly wire: Wire;
  readonly ports: Ports;
  /** Whether the port of the metrics is open at the start. */
  readonly metrics: boolean;
  /** Called once, when what a request does ends a real server's process; connections are ended by then. */
  readonly onCrash: (reason: string) => void;
}

/** The regions of a process, which a restart may hand on to the next. */
export class ProcessRegions {
  readonly table: RegionTable;
  /** Who dies of a crash. */
  owner: ServerProcess | undefined;

  constructor({ version = '2.51', allowClientShm }: DevServerOptions, wire: Wire) {
    this.table = new RegionTable(PERSONALITIES[version], {
      ...(allowClientShm === undefined ? {} : { clientSharedMemory: allowClientShm }),
      onCrash: (reason) => this.owner?.crash(reason),
      thawed: () => wire.thawed,
    });
  }
}

/** All that ends with a server's process: front ends, models, settings, statistics. */
export class ServerProcess {
  readonly regions: ProcessRegions;
  readonly #parts: ProcessParts;
  readonly #core: TritonCore;
  readonly #manager: ModelManager;
  readonly #grpc: GrpcFrontEnd;
  readonly #http: HttpFrontEnd;
  readonly #metrics: MetricsListener;
  #ports: Ports;
  #over = false;

  constructor(parts: ProcessParts, regions: ProcessRegions) {
    const { options, wire, faults, requests } = parts;
    this.#parts = parts;
    this.regions = regions;
    regions.owner = this;
    this.#ports = parts.ports;
    const personality = PERSONALITIES[options.version ?? '2.51'];
    const { tracing = true, gpuUuids = [], forwardHeaders, restricted = [], tls } = options;
    const crash = (reason: string) => this.crash(reason);
    const over = (protocol: Protocol) => ({
      isForwarded: forwardedOver(protocol, forwardHeaders),
      restricted: rulesOf(protocol, restricted),
    });
    this.#core = new TritonCore({
      personality,
      regions: regions.table,
      faults,
      requests,
      log: new LogSettings(),
      trace: new TraceSettings(tracing ? { file: 'trace.json' } : {}),
      metrics: (runners) => metricsText(runners, gpuUuids),
      crash,
    });
    this.#manager = managerOf(options, this.#core, personality.serverVersion);
    this.#core.models = this.#manager;
    const { host = '127.0.0.1', grpcSocket } = options;
    const at = (port: number) => ({ host, port });
    const { grpc, http, metrics } = parts.ports;
    const place = grpcSocket === undefined ? at(grpc) : { path: `${grpcSocket}:${grpc}` };
    this.#grpc = new GrpcFrontEnd(this.#core, { place, wire, tls, crash, ...over('grpc') });
    this.#http = new HttpFrontEnd(this.#core, { place: at(http), wire, ...over('http') });
    this.#metrics = new MetricsListener(() => this.#core.metricsText(), at(metrics), wire);
  }

  get ports(): Ports {
    return this.#ports;
  }

  models(): IndexEntry[] {
    return this.#core.repositoryIndex(false);
  }

  /**
   * Loads the models, which may go on while another process has the ports.
   *
   * @throws Error when a model repository can't be read, or a model can't be loaded (see `exitOnError`)
   */
  async load(): Promise<void> {
    const { modelControl = 'none', loadModels = [], exitOnError = true } = this.#parts.options;
    const named = modelControl === 'explicit' && !loadModels.includes('*');
    const failed = await this.#manager.start(named ? loadModels : this.#manager.names());
    if (failed.size === 0 || !exitOnError) return;
    await this.#manager.close();
    throw loadingFailed(failed);
  }

  /** Opens the ports. @throws Error when one is taken; none is open then */
  async listen(): Promise<void> {
    const starting = [this.#grpc.start(), this.#http.start(), this.#startMetrics()] as const;
    try {
      const [grpc, http, metrics] = await Promise.all(starting);
      this.#ports = { grpc: grpc === 0 ? this.#ports.grpc : grpc, http, metrics };
    } catch (error) {
      // What opens later than another fails has to be closed too.
      await Promise.allSettled(starting);
      await this.end();
      throw error;
    }
  }

  /** Whether connections of clients are taken. */
  async takeConnections(taken: boolean): Promise<void> {
    if (taken) await Promise.all([this.#grpc.listen(), this.#http.listen()]);
    else for (const frontEnd of [this.#grpc, this.#http]) frontEnd.refuse();
  }

  /** Whether the port of the metrics is open. */
  async setMetrics(open: boolean): Promise<void> {
    if (!open) await this.#metrics.close();
    else this.#ports = { ...this.#ports, metrics: await this.#metrics.start() };
  }

  goAway(graceMs: number): void {
    this.#grpc.goAway(graceMs);
  }

  /** Ends every connection without a word. */
  drop(): void {
    for (const each of [this.#grpc, this.#http, this.#metrics]) each.drop();
  }

  /** Ends every connection, once, and reports it. */
  crash(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#core.over();
    this.drop();
    this.#parts.onCrash(reason);
  }

  /**
   * As the real server after SIGTERM, all within the exit timeout: HTTP ends first, and gRPC answers as before until nothing is
   * in progress there; then nothing is ready any more and new requests find no models, while those in progress go on; then
   * gRPC ends (seen on 2.51). Resolves when it is gone.
   */
  async exit(): Promise<void> {
    const until = performance.now() + this.#exitTimeoutMs;
    const left = () => Math.max(0, until - performance.now());
    await this.#http.close(left());
    this.#core.exit();
    await within(left(), this.#manager.close());
    await Promise.all([this.#grpc.close(left()), this.#metrics.close()]);
    await this.end(left());
  }

  /** Begins to end as after SIGTERM: not ready any more, and its ports are another's. The connections stay. */
  async freePorts(): Promise<void> {
    this.#core.exit();
    await this.takeConnections(false);
    await this.#metrics.close();
  }

  /**
   * After `freePorts`: waits until the clients have left or the exit timeout is over, as a real server with an open stream does
   * (seen on 2.51). Resolves when it is gone.
   */
  async leave(): Promise<void> {
    await within(this.#exitTimeoutMs, Promise.all([this.#grpc.left(), this.#http.left()]));
    await this.end();
  }

  /** Ends at once, as kill -9; models are closed when their requests have ended. @returns what it had of regions */
  async kill(): Promise<ProcessRegions> {
    this.#over = true;
    this.#core.over();
    await Promise.all([this.#grpc.close(), this.#http.close(), this.#metrics.close()]);
    // Nobody waits for requests of a process that is gone, and one may never end.
    void this.#manager.close();
    return this.regions;
  }

  /** Ends what is left, and waits for the models, at most for `ms`: a request may never end. */
  async end(ms = this.#exitTimeoutMs): Promise<void> {
    this.#over = true;
    this.#core.over();
    await Promise.all([this.#grpc.close(), this.#http.close(), this.#metrics.close()]);
    await within(ms, this.#manager.close());
    await this.regions.table.clear();
  }

  get #exitTimeoutMs(): number {
    return this.#parts.options.exitTimeoutMs ?? EXIT_TIMEOUT_MS;
  }

  async #startMetrics(): Promise<number> {
    return this.#parts.metrics ? this.#metrics.start() : this.#ports.metrics;
  }
}

function managerOf(options: DevServerOptions, core: TritonCore, serverVersion: string): ModelManager {
  const { models = {}, modelRepository = [], modelControl: control = 'none', strictReadiness = true } = options;
  const context = { serverVersion, gpus: options.gpuUuids?.length ?? 0 };
  const folders = typeof modelRepository === 'string' ? [modelRepository] : modelRepository;
  return new ModelManager({
    repositories: [new CodeRepository(models, context), ...folders.map((path) => new FolderRepository(path, context))],
    context,
    control,
    strictReadiness,
    makeRunner: (opened, version, instance) => core.makeRunner(opened, version, instance),
  });
}

function loadingFailed(failed: ReadonlyMap<string, ServerError>): Error {
  const why = ({ message, cause }: ServerError) =>
    (cause instanceof Error ? cause.message : message).trim().replace(/;$/, '');
  const texts = Array.from(failed, ([name, error]) => `'${name}': ${why(error)}`);
  return new AggregateError([...failed.values()], `These models can't be loaded: ${texts.join('; ')}`);
}
