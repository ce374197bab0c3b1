import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FolderRepository } from '../../../src/repository/folder.js';
import { ModelManager } from '../../../src/repository/manager.js';
import { makeDirectRunner } from '../direct-runner.js';
import { breakModel, ensembleOf, PLAIN, writeModel } from '../model-folders.js';
import { look, ourServer, realServer } from './servers.js';
import type { Step } from './steps.js';

/** Registers the test that does all steps on a real server and on ours, and compares after each. */
export function compareLoads(steps: readonly Step[], version: '2.51' | '2.48'): void {
  describeTier('triton', `loading and unloading, here and on a real ${version}`, () => {
    let repository = '';
    let triton: Awaited<ReturnType<typeof privateTriton>>;
    let manager: ModelManager;

    beforeAll(async () => {
      repository = mkdtempSync(join(tmpdir(), 'zerohop-devserver-loads-'));
      writeModel(join(repository, 'a'), PLAIN);
      writeModel(join(repository, 'three'), `${PLAIN}version_policy { all {} }`, ['1', '2', '10']);
      writeModel(join(repository, 'broken'), PLAIN);
      breakModel(join(repository, 'broken'));
      writeModel(join(repository, 'e'), ensembleOf('a'));
      writeModel(join(repository, 'e2'), ensembleOf('a'));
      writeModel(join(repository, 'of_later'), ensembleOf('later'));
      writeModel(join(repository, 'of_broken'), ensembleOf('broken'));
      writeModel(join(repository, 'outer'), ensembleOf('e', { from: 'A', to: 'Z' }));
      writeModel(join(repository, 'wants_version'), ensembleOf('a', { version: 7 }));
      triton = await privateTriton({ modelRepository: repository, modelControl: 'explicit', version });
      const context = { serverVersion: `${version}.0`, gpus: 0 };
      const repositories = [new FolderRepository(repository, context)];
      manager = new ModelManager({ repositories, context, control: 'explicit', makeRunner: makeDirectRunner });
    });

    afterAll(async () => {
      await triton?.stop();
      await manager?.close();
      if (repository !== '') rmSync(repository, { recursive: true });
    });

    test('after each of many steps both say the same: answers, states, readiness, and what a request for a model gets', async () => {
      const [there, here] = [realServer(triton.httpUrl), ourServer(manager, `${version}.0`)];
      const differences: { step: string; here: unknown; there: unknown }[] = [];
      for (const [number, step] of steps.entries()) {
        if (step[0] === 'change') {
          step[1](repository);
          continue;
        }
        const [real, ours] = [await look(there, step), await look(here, step)];
        // A model that no folder has is not listed: that it still goes down shows in the readiness alone.
        const alike = async () => (await there.ready()) === (await here.ready());
        if (real.ready !== ours.ready)
          await expect.poll(alike, { timeout: 20_000, message: step.join(' ') }).toBe(true);
        for (const key of ['answer', 'index', 'readyIndex', 'asked'] as const) {
          if (JSON.stringify(real[key]) === JSON.stringify(ours[key])) continue;
          differences.push({ step: `${number} ${step.join(' ')} ${key}`, here: ours[key], there: real[key] });
        }
      }
      expect(differences).toEqual([]);
    }, 600_000);
  });
}
