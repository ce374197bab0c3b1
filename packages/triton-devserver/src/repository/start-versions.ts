import type { MakeRunner } from '../core/runner.js';
import type { ModelInstance } from '../model.js';
import { reasonOf } from './load-failure.js';
import type { RunningVersion } from './model-entry.js';
import type { RepositoryModel } from './repository.js';

export interface StartedVersions {
  readonly running: ReadonlyMap<number, RunningVersion>;
  /** Why others don't run, as the index has it. */
  readonly failed: ReadonlyMap<number, string>;
}

/** Starts and warms up all versions of a model at once. Never rejects. */
export async function startVersions(model: RepositoryModel, makeRunner: MakeRunner): Promise<StartedVersions> {
  const running = new Map<number, RunningVersion>();
  const failed = new Map<number, string>();
  const start = async (version: number) => {
    const instance = await model.start(version);
    const runner = makeRunner(model, version, instance);
    try {
      await runner.warmUp();
    } catch (error) {
      await closeInstance(instance);
      throw error;
    }
    running.set(version, { instance, runner });
  };
  await Promise.all(
    model.versions.map((version) => start(version).catch((error: unknown) => failed.set(version, reasonOf(error)))),
  );
  return { running, failed };
}

/** Closes what runs a version. A model that fails to close is closed all the same. */
export async function closeInstance(instance: ModelInstance): Promise<void> {
  try {
    await instance.close?.();
  } catch {
    // Nobody asked for it who could be told.
  }
}
