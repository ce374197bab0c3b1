import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';

const fixture = fileURLToPath(new URL('../fixtures/views.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'zerohop-views-'));
const fake = join(folder, 'fake-triton.mjs');

beforeAll(() => {
  // A child process can't load TypeScript.
  const source = readFileSync(new URL('../support/fake-triton.ts', import.meta.url), 'utf8');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  writeFileSync(fake, ts.transpileModule(source, { compilerOptions: options }).outputText);
});

afterAll(() => rmSync(folder, { recursive: true }));

interface Lengths {
  /** Of the views, once their memory has gone: of the input, the output, parts of them, nothing, and a DataView. */
  readonly lengths: number[];
  readonly atTheEnd: number[];
}

/** Runs the fixture, to see whether it survives. */
async function touch(...args: string[]): Promise<Lengths> {
  const child = spawn(process.execPath, ['--expose-gc', fixture, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new Error(`ended by ${code ?? signal}: ${stderr}`);
  return JSON.parse(stdout) as Lengths;
}

const detached = [0, 0, 0, 0, 0, 0];
const alive = [1024, 1024, 1016, 1024, 0, 4];

test.for<[string, number[], number[]]>([
  ['release', alive, detached],
  ['close', detached, detached],
  ['large', detached, detached],
  ['collected', detached, detached],
  ['shrink', alive, detached],
  ['moved', detached, detached],
  ['proven', detached, detached],
  ['forgotten', detached, detached],
  // Nobody may free it, so that it stays.
  ['kept', alive, alive],
  ['transferred', [...detached, 2048], [...detached, 2048]],
])(
  'views that are touched after the end of their memory (%s) are detached, or still on memory',
  async ([way, ...expected]) => {
    const { lengths, atTheEnd } = await touch(way, fake);
    expect([lengths, atTheEnd]).toEqual(expected);
  },
);

test.for(['release', 'close', 'moved', 'proven', 'forgotten', 'kept', 'shrink', 'large'])(
  'strict views are detached at once, whatever becomes of the memory: %s',
  async (way) => {
    expect(await touch(way, fake, 'strict')).toEqual({ lengths: detached, atTheEnd: detached });
  },
);
