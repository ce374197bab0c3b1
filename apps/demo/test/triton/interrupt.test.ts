import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reap } from '@zerohop/shm-pool';
import {
  describeTier,
  privateTriton,
  repositoryRoot,
  type Snapshot,
  sharedTriton,
  takeSnapshot,
} from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { expectNothingLeftOfCli, startCli } from '../support/cli.js';
import { samplePaths } from '../support/samples.js';

let folder: string;
let before: Snapshot;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-interrupt-'));
  before = takeSnapshot();
});
afterEach(async () => {
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
  await expectNothingLeftOfCli(before);
});

const words = ['detect', ...samplePaths, ...samplePaths, '--json=result.json'];

/** The regions of a process that the shared server knows. */
async function regionsOf(pid: number | undefined): Promise<string[]> {
  const client = new TritonClient(sharedTriton().grpcUrl);
  try {
    const regions = await client.systemSharedMemory.status();
    return regions.map(({ name }) => name).filter((name) => name.includes(`.${pid}.`));
  } finally {
    await client.close();
  }
}

describeTier('triton', 'an interrupted run', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('gives everything back after %s during a request', async (signal, code) => {
    const { child, ended, said } = startCli([...words, '--url', sharedTriton().grpcUrl], { cwd: folder });
    await said(/Checking the pipeline/);
    expect(await regionsOf(child.pid)).not.toEqual([]);
    child.kill(signal);
    const result = await ended;
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(new RegExp(`zerohop: ${signal} received, closing everything`));
    expect(result.stderr).not.toMatch(/^\s+at /m);
    expect(await regionsOf(child.pid)).toEqual([]);
  });

  it.each([
    ['starts', /Waiting for the Triton server/],
    ['answers', /Checking the pipeline/],
  ])('ends the server that it started when interrupted while that %s', async (_, moment) => {
    const { child, ended, said } = startCli(words, { cwd: folder });
    await said(moment);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });

  it('ends at once the second time, and the server with it', async () => {
    const { child, ended, said } = startCli(words, { cwd: folder });
    await said(/Checking the pipeline/);
    child.kill('SIGINT');
    await said(/SIGINT received/);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: null, signal: 'SIGINT' });
  });

  it('leaves nothing of the server when it is killed, and the next run removes its memory', async () => {
    const killed = startCli(words, { cwd: folder });
    await killed.said(/Checking the pipeline/);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const next = startCli(['detect', samplePaths[0] as string, '--url', sharedTriton().grpcUrl]);
    expect((await next.ended).code).toBe(0);
  });

  it('ends in a sentence when its server is killed', async () => {
    const server = await privateTriton({ modelRepository: join(repositoryRoot, 'models'), models: ['defects'] });
    try {
      const { ended, said } = startCli(['detect', samplePaths[0] as string, '--url', server.grpcUrl], { cwd: folder });
      await said(/Checking the pipeline/);
      // Stopped, it can't answer before it is killed; the request is sent meanwhile.
      server.kill('SIGSTOP');
      await delay(1000);
      server.kill('SIGKILL');
      const { code, stderr } = await ended;
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /\nzerohop: The server at grpc:.* went away during a request; look at the server's log and run again\.\n$/,
      );
      // Nobody could say whether that server was done with its region: the next start removes it.
      await using client = new TritonClient(sharedTriton().grpcUrl);
      await reap(client);
    } finally {
      await server.stop();
    }
  });
});
