import type { ModelConfig } from '../grpc/gen/model_config.js';
import type { ModelInstance } from '../model.js';
import type { Personality } from '../personality.js';
import type { ModelStatistics } from './core.js';
import type { InferenceRequest, Responder } from './inference.js';
import type { StatisticsRecorder } from './statistics.js';

/** A loaded model; what those of this package's own backends have more. */
export interface StartedModel extends ModelInstance {
  /** Resolves, with why, when it has ended without being closed. Never rejects. */
  readonly lost?: Promise<string>;
}

/** A model as it was read, before any version of it runs. */
export interface OpenedModel {
  /** Completed, as the server shows it. */
  readonly config: ModelConfig;
  /** Those that the version policy serves, in ascending order. */
  readonly versions: readonly number[];
  /** An output's labels for classification, by its name. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /**
   * A file of the folder `warmup`. Blocks.
   *
   * @throws ServerError when there is none
   */
  warmUpFile(name: string): Uint8Array;
  /** Starts the code of one version; rejects with what its own initialization threw. */
  start(version: number): Promise<StartedModel>;
}

/** One version of a model that runs: its checks, queue and instances. */
export interface Runner {
  readonly config: ModelConfig;
  readonly version: number;
  /**
   * Runs the samples of `model_warmup`, before the version is ready.
   *
   * @throws ServerError for a sample that is wrong or fails
   */
  warmUp(): Promise<void>;
  /** See `Core.infer`. */
  infer(request: InferenceRequest, respond: Responder): void;
  statistics(): ModelStatistics;
  /** An output's labels for classification; none is empty. */
  labelsOf(output: string): readonly string[];
  /** What the metrics are made of. */
  readonly recorder: StatisticsRecorder;
  /** Requests accepted and not yet begun. */
  readonly pending: number;
  /** Resolves when no request is left. */
  drained(): Promise<void>;
}

/** The server around a model. */
export interface RunnerHost {
  readonly personality: Personality;
  /** Called where a real server's process would end. */
  readonly crash: (reason: string) => void;
}

export type MakeRunner = (opened: OpenedModel, version: number, instance: StartedModel) => Runner;
