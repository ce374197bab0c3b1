import { instanceCount } from '../config/complete.js';
import { EmulatedCrash } from '../crash.js';
import { errorText } from '../error-text.js';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { InProgress } from '../in-progress.js';
import type { BatchOutputs, ExecuteBatch, ModelAnswer, ModelOutputs, ModelRequest, ModelTensor } from '../model.js';
import { attempt, internal, type ServerError, serverErrorOf, textOf } from '../status.js';
import { type CheckedInput, checkRequest } from './checks.js';
import type { ModelStatistics } from './core.js';
import { DirectScheduler } from './direct-scheduler.js';
import { DynamicBatcher } from './dynamic-batcher.js';
import { tensorOf } from './elements.js';
import type { InferenceRequest, InferenceResponse, Responder } from './inference.js';
import { type Job, type RefusalReason, type RunBatch, type Scheduler, tooLarge } from './job.js';
import { outputsOf, placeOutputs } from './outputs.js';
import { regionTensor } from './region-tensor.js';
import { reshapedInput } from './reshape.js';
import type { OpenedModel, Runner, RunnerHost, StartedModel } from './runner.js';
import { SequenceBatcher } from './sequence-batcher.js';
import { StatisticsRecorder } from './statistics.js';
import { warmInstance } from './warm-up.js';
import { warmUpSamples } from './warm-up-samples.js';

/** One version of a model: checks requests, queues them, runs its code and answers. */
export class ModelRunner implements Runner {
  readonly config: ModelConfig;
  readonly version: number;
  readonly recorder: StatisticsRecorder;
  readonly #labels: OpenedModel['labels'];
  readonly #instance: StartedModel;
  readonly #scheduler: Scheduler;
  readonly #host: RunnerHost;
  readonly #warmUpFile: OpenedModel['warmUpFile'];
  /** Requests accepted and not answered for good. */
  readonly #active = new InProgress();

  constructor(opened: OpenedModel, version: number, instance: StartedModel, host: RunnerHost) {
    this.config = opened.config;
    this.version = version;
    this.recorder = new StatisticsRecorder();
    this.#labels = opened.labels;
    this.#instance = instance;
    this.#host = host;
    this.#warmUpFile = opened.warmUpFile;
    this.#scheduler = schedulerOf(opened.config, (jobs) => this.#run(jobs));
  }

  get pending(): number {
    return this.#scheduler.pending;
  }

  async warmUp(): Promise<void> {
    const samples = warmUpSamples(this.config, this.#host.personality, this.#warmUpFile);
    const warm = () => warmInstance(samples, (jobs) => this.#run(jobs));
    await Promise.all(Array.from({ length: instanceCount(this.config) }, warm));
  }

  infer(request: InferenceRequest, respond: Responder): void {
    const checked = checkRequest(request, this.config, this.#host.personality);
    const queuedAt = process.hrtime.bigint();
    let over = false;
    const job: Job = {
      request,
      checked,
      queuedAt,
      controls: [],
      respond: (response) => {
        // Such as of an iterator that fails when it is told that nobody asks for more.
        if (over) return;
        // What a request still holds when it is over, it gives back in the same turn: a client that has the answer can
        // unregister at once.
        respond(response);
        if (!response.final) return;
        over = true;
        this.#over(request);
      },
      refuse: (error, reason) => this.#refuse(job, error, reason),
    };
    this.#active.begin();
    try {
      this.#scheduler.enqueue(job);
    } catch (error) {
      this.#active.end();
      throw error;
    }
  }

  labelsOf(output: string): readonly string[] {
    return this.#labels.get(output) ?? [];
  }

  statistics(): ModelStatistics {
    return this.recorder.snapshot(this.config.name, String(this.version));
  }

  async drained(): Promise<void> {
    await this.#active.over();
    this.#scheduler.close();
  }

  #over(request: InferenceRequest): void {
    releaseRegions(request);
    this.#active.end();
  }

  #refuse(job: Job, error: ServerError, reason: RefusalReason): void {
    this.recorder.failed(reason, process.hrtime.bigint() - job.queuedAt);
    job.respond(this.#failure(job, error));
  }

  async #run(jobs: readonly Job[]): Promise<void> {
    const began = process.hrtime.bigint();
    const size = jobs.reduce((sum, { checked }) => sum + checked.batchSize, 0);
    const problem = tooLarge(jobs, this.config);
    if (problem !== undefined) {
      for (const job of jobs) this.#fail(job, problem, began);
      return;
    }
    const { executeBatch } = this.#instance;
    if (executeBatch === undefined || this.#decoupled) {
      await Promise.all(jobs.map((job) => this.#answer(job, began)));
    } else await this.#answerTogether(jobs, executeBatch, began);
    this.recorder.executed(size, {
      computeInputNs: 0n,
      computeInferNs: process.hrtime.bigint() - began,
      computeOutputNs: 0n,
    });
  }

  async #answerTogether(jobs: readonly Job[], executeBatch: ExecuteBatch, began: bigint): Promise<void> {
    const read: { readonly job: Job; readonly request: ModelRequest }[] = [];
    for (const job of jobs) {
      try {
        read.push({ job, request: await this.#modelRequest(job) });
      } catch (error) {
        this.#fail(job, error, began);
      }
    }
    const given = await this.#outputsOf(
      read.map(({ request }) => request),
      executeBatch,
    );
    await Promise.all(read.map(({ job }, index) => this.#answerWith(job, () => outputsAt(given, index), began)));
  }

  /** What the model gave to each request, or what it threw, which is the answer to all. */
  async #outputsOf(requests: readonly ModelRequest[], executeBatch: ExecuteBatch): Promise<BatchOutputs> {
    if (requests.length === 0) return [];
    try {
      const given: unknown = await executeBatch.call(this.#instance, requests);
      if (Array.isArray(given) && given.length === requests.length) return given as BatchOutputs;
      const what = Array.isArray(given) ? `${given.length} answers` : 'no list of answers';
      throw internal(`executeBatch gave ${what} to ${requests.length} requests`);
    } catch (error) {
      const failure = attempt(() => (error instanceof Error ? error : undefined)) ?? new Error(textOf(error));
      return requests.map(() => failure);
    }
  }

  async #answer(job: Job, began: bigint): Promise<void> {
    try {
      const request = await this.#modelRequest(job);
      const { executeDecoupled, execute } = this.#instance;
      if (executeDecoupled !== undefined && this.#decoupled) {
        // Answers come side by side with other requests: the instance is free at once.
        void this.#answerOften(job, executeDecoupled.call(this.#instance, request), began);
        return;
      }
      if (execute === undefined) throw internal(`The model '${this.config.name}' has no execute function`);
      await this.#answerWith(job, () => execute.call(this.#instance, request), began);
    } catch (error) {
      this.#fail(job, error, began);
    }
  }

  /** @param outputs gives the outputs, or throws what the request failed with */
  async #answerWith(job: Job, outputs: () => ModelOutputs | Promise<ModelOutputs>, began: bigint): Promise<void> {
    try {
      const response = await this.#response(job, await outputs(), true);
      this.#count(job, began);
      job.respond(response);
      if (this.#decoupled) this.#end(job);
    } catch (error) {
      this.#fail(job, error, began);
    }
  }

  get #decoupled(): boolean {
    return this.config.model_transaction_policy?.decoupled === true;
  }

  async #answerOften(
    job: Job,
    answers: AsyncIterable<ModelAnswer> | Iterable<ModelAnswer>,
    began: bigint,
  ): Promise<void> {
    try {
      for await (const answer of answers) {
        if ('error' in answer) {
          const { error } = answer;
          job.respond({ ...this.#failure(job, serverErrorOf(error) ?? internal(textOf(error))), final: false });
          continue;
        }
        let response: InferenceResponse;
        try {
          response = await this.#response(job, answer.outputs, answer.final === true);
        } catch (error) {
          if (attempt(() => error instanceof EmulatedCrash) === true) throw error;
          // Such as a block that is too small: an error of this answer, after which others may follow.
          response = { ...this.#failure(job, this.#serverError(error)), final: answer.final === true };
        }
        if (response.final) this.#count(job, began);
        job.respond(response);
        if (response.final) return;
      }
      this.#count(job, began);
      this.#end(job);
    } catch (error) {
      this.#fail(job, error, began);
    }
  }

  /** The end of a decoupled request that its last answer did not say. */
  #end(job: Job): void {
    const { id, model, version } = job.request;
    job.respond({ id, model, version, outputs: [], parameters: [], final: true, empty: true });
  }

  #count(job: Job, began: bigint): void {
    const now = process.hrtime.bigint();
    const times = {
      queueNs: began - job.queuedAt,
      computeInputNs: 0n,
      computeInferNs: now - began,
      computeOutputNs: 0n,
    };
    this.recorder.succeeded(job.checked.batchSize, times);
  }

  #fail(job: Job, error: unknown, began: bigint): void {
    // The answer of a process that died reaches nobody, but it ends the request.
    const crash = attempt(() => (error instanceof EmulatedCrash ? error.message : undefined));
    if (crash !== undefined) this.#host.crash(crash);
    // An error that a model answers with counts as a success; one that it throws does not (seen on 2.51).
    if (serverErrorOf(error) !== undefined) this.#count(job, began);
    else this.recorder.failed('BACKEND', process.hrtime.bigint() - job.queuedAt);
    job.respond(this.#failure(job, this.#serverError(error)));
  }

  #serverError(error: unknown): ServerError {
    const known = serverErrorOf(error);
    if (known !== undefined) return known;
    const name = `${this.config.name}_0_0`;
    return internal(`Failed to process the request(s) for model '${name}', message: ${errorText(error)}`);
  }

  #failure({ request: { id, model, version } }: Job, error: ServerError): InferenceResponse {
    return { id, model, version, outputs: [], parameters: [], error, final: true, empty: false };
  }

  async #response(job: Job, given: ModelOutputs, final: boolean): Promise<InferenceResponse> {
    const { id, model } = job.request;
    const outputs = await placeOutputs(outputsOf(this.config, job.checked.outputs, given), job.request, this);
    // The final flag of a decoupled model's only answer comes in an answer of its own.
    const last = final && !(this.#decoupled && this.#instance.executeDecoupled === undefined);
    return { id, model, version: String(this.version), outputs, parameters: [], final: last, empty: false };
  }

  async #modelRequest(job: Job): Promise<ModelRequest> {
    const { request, checked, controls } = job;
    const { id, model, parameters, sequence, priority, timeoutUs, signal } = request;
    const inputs: Record<string, ModelTensor> = {};
    for (const { name, datatype, shape, source } of [...checked.inputs, ...controls] as readonly CheckedInput[]) {
      const declared = this.config.input.find((input) => input.name === name);
      const seen = declared === undefined ? shape : reshapedInput(shape, declared);
      inputs[name] =
        'bytes' in source
          ? tensorOf(name, datatype, seen, source.bytes)
          : await regionTensor(name, datatype, seen, source.region);
    }
    const { version } = this;
    return {
      id,
      model,
      version,
      inputs,
      requestedOutputs: checked.outputs,
      parameters,
      sequence,
      priority,
      timeoutUs,
      signal,
    };
  }
}

/** @throws the error that a model gave in the place of outputs */
function outputsAt(given: BatchOutputs, index: number): ModelOutputs {
  const outputs = given[index] as BatchOutputs[number];
  if (outputs instanceof Error) throw outputs;
  return outputs;
}

/** Gives back every reference that a request holds. */
export function releaseRegions({ inputs, outputs }: InferenceRequest): void {
  for (const { source } of inputs) if ('region' in source) source.region.release();
  for (const { region } of outputs) region?.release();
}

function schedulerOf(config: ModelConfig, run: RunBatch): Scheduler {
  const instances = instanceCount(config);
  const { sequence_batching: sequence, dynamic_batching: dynamic } = config;
  if (sequence !== undefined) return new SequenceBatcher(config, sequence, instances, run);
  if (dynamic !== undefined) return new DynamicBatcher(config, dynamic, instances, run);
  return new DirectScheduler(instances, run);
}
