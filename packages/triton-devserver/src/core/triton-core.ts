import { EmulatedCrash } from '../crash.js';
import type { FaultPlan } from '../faults/plan.js';
import type { Personality } from '../personality.js';
import type { Protocol } from '../protocol.js';
import type { ModelManager } from '../repository/manager.js';
import type { RequestLog } from '../request-log.js';
import type { LogSettings } from '../settings/log-settings.js';
import type { TraceSettings } from '../settings/trace-settings.js';
import { notFound, unavailable } from '../status.js';
import type { Core, LoadOptions } from './core.js';
import { EnsembleRunner } from './ensemble.js';
import type { InferenceRequest, Responder } from './inference.js';
import { ModelRunner, releaseRegions } from './model-runner.js';
import type { Regions } from './regions.js';
import type { OpenedModel, Runner, RunnerHost, StartedModel } from './runner.js';

export interface CoreParts extends RunnerHost {
  readonly regions: Regions;
  readonly faults: FaultPlan;
  /** Told of every request. */
  readonly requests: RequestLog;
  readonly log: LogSettings;
  readonly trace: TraceSettings;
  readonly metrics: (runners: readonly Runner[]) => string;
}

/** What every server of these versions says it can do (the list is fixed in its code). */
const EXTENSIONS = [
  'classification',
  'sequence',
  'model_repository',
  'model_repository(unload_dependents)',
  'schedule_policy',
  'model_configuration',
  'system_shared_memory',
  'cuda_shared_memory',
  'binary_tensor_data',
  'parameters',
  'statistics',
  'trace',
  'logging',
] as const;

/** The server behind its front ends. */
export class TritonCore implements Core {
  readonly serverName = 'triton';
  readonly extensions = EXTENSIONS;
  readonly personality: Personality;
  readonly regions: Regions;
  readonly #parts: CoreParts;
  #manager: ModelManager | undefined;
  #exiting = false;

  constructor(parts: CoreParts) {
    this.personality = parts.personality;
    this.regions = parts.regions;
    this.#parts = parts;
  }

  /** The models, which need this to be made. */
  set models(manager: ModelManager) {
    this.#manager = manager;
  }

  makeRunner(opened: OpenedModel, version: number, instance: StartedModel): Runner {
    if (opened.config.ensemble_scheduling !== undefined) {
      return new EnsembleRunner(opened, version, (model, wanted) => this.#models.find(model, wanted), this.#parts);
    }
    return new ModelRunner(opened, version, instance, this.#parts);
  }

  /** The process has ended, and what it had in progress is lost. */
  over(): void {
    this.#parts.requests.lose(this);
  }

  /** From here on it answers as a server that was told to end. */
  exit(): void {
    this.#exiting = true;
  }

  live(): boolean {
    this.#refuseWhenExiting();
    return true;
  }

  ready(): boolean {
    this.#refuseWhenExiting();
    return this.#models.ready;
  }

  modelReady(name: string, version: string): boolean {
    this.#refuseModels();
    return this.#models.modelReady(name, version);
  }

  modelMetadata(name: string, version: string) {
    this.#find(name, version);
    return this.#models.metadata(name, version);
  }

  modelConfig(name: string, version: string) {
    return this.#find(name, version).config;
  }

  modelStatistics(name: string, version: string) {
    this.#refuseModels();
    return this.#models.statistics(name, version);
  }

  repositoryIndex(readyOnly: boolean) {
    this.#refuseModels();
    return this.#models.index(readyOnly);
  }

  load(name: string, options: LoadOptions): Promise<void> {
    this.#refuseModels();
    return this.#models.load(name, options);
  }

  unload(name: string, dependents: boolean): Promise<void> {
    this.#refuseModels();
    return this.#models.unload(name, dependents);
  }

  traceSettings(model: string, changes: Readonly<Record<string, unknown>> | undefined, protocol: Protocol) {
    return this.#parts.trace.update(model, changes, protocol, (name) => this.modelReady(name, ''));
  }

  logSettings(changes: Readonly<Record<string, unknown>>, protocol: Protocol) {
    return this.#parts.log.update(changes, protocol);
  }

  metricsText(): string {
    return this.#parts.metrics(this.#models.runners());
  }

  isDecoupled(model: string, version: string): boolean {
    return this.#find(model, version).config.model_transaction_policy?.decoupled === true;
  }

  infer(request: InferenceRequest, respond: Responder): void {
    try {
      const runner = this.#find(request.model, request.version);
      const { faults, requests } = this.#parts;
      requests.watch(this, request, respond, (watched) =>
        faults.infer(request, watched, (asked, answer) => runner.infer(asked, answer)),
      );
    } catch (error) {
      releaseRegions(request);
      if (!(error instanceof EmulatedCrash)) throw error;
      this.#parts.crash(error.message);
    }
  }

  get #models(): ModelManager {
    if (this.#manager === undefined) throw unavailable('Server not ready');
    return this.#manager;
  }

  #find(model: string, version: string): Runner {
    const found = this.#models.find(model, version);
    // Its models are on their way out; here a few may not be yet (seen on 2.51 after SIGTERM).
    if (!this.#exiting) return found;
    const request = `Request for unknown model: '${model}'`;
    if (version === '') throw notFound(`${request} has no available versions`);
    throw unavailable(`${request} version ${version} is not at ready state`);
  }

  #refuseModels(): void {
    if (this.#exiting) throw unavailable('Server not ready');
  }

  #refuseWhenExiting(): void {
    if (this.#exiting) throw unavailable('Server exiting');
  }
}
