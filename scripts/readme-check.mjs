// The examples of every README: each fenced block that begins with "ts run" or "js run" is type-checked against the built
// packages and run on plain node, in the clone's root, against the server at TRITON_URL (one is started when it is not set).
// --json=FILE writes the counts for scripts/test.mjs.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { blocksIn } from './readme/blocks.mjs';
import { exampleServer } from './readme/server.mjs';
import { toJavaScript } from './readme/to-javascript.mjs';
import { typeErrors } from './readme/type-errors.mjs';
import { root } from './setup/paths.mjs';

const TIMEOUT_MS = 120_000;

/** READMEs of the root and of every package; the root's blocks run where all packages are known. */
function readmes() {
  const packages = ['packages', 'apps', 'tools']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)));
  return [
    { file: join(root, 'README.md'), folder: join(root, 'apps', 'demo') },
    ...packages.map((folder) => ({ file: join(folder, 'README.md'), folder })),
  ].filter(({ file }) => existsSync(file));
}

/** @returns {{ name: string, language: string, code: string, path: string }[]} */
function blocksOf({ file, folder }) {
  const name = relative(root, file);
  return blocksIn(readFileSync(file, 'utf8')).map(({ line, language, code }) => {
    const script = `${name.replace(/\W+/g, '-')}-${line}.${language === 'ts' ? 'mts' : 'mjs'}`;
    return { name: `${name}:${line}`, language, code, path: join(folder, '.readme', script) };
  });
}

/** Runs a block; what it printed when it failed, else undefined. */
async function run({ path, language, code }) {
  let script = path;
  if (language === 'ts') {
    script = path.replace(/\.mts$/, '.out.mjs');
    writeFileSync(script, toJavaScript(code));
  }
  const child = spawn(process.execPath, [script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  const status = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  clearTimeout(timer);
  return status === 0 ? undefined : `ended with ${status}\n${output.trimEnd()}`;
}

const blocks = readmes().flatMap(blocksOf);
const folders = new Set(blocks.map(({ path }) => dirname(path)));
let passed = 0;
const failures = [];
let triton;
try {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const { path, code } of blocks) writeFileSync(path, code);
  const errors = typeErrors(blocks.filter(({ language }) => language === 'ts').map(({ path }) => path));
  for (const error of errors.others) console.log(`FAILED the check itself: ${error}`);
  failures.push(...errors.others);
  if (blocks.length > 0) {
    triton = await exampleServer();
    Object.assign(process.env, triton.env);
  }
  for (const block of blocks) {
    const wrong = errors.ofFile.get(block.path)?.join('\n') ?? (await run(block));
    if (wrong === undefined) passed++;
    else failures.push(`${block.name}\n${wrong}`);
    console.log(wrong === undefined ? `ok    ${block.name}` : `FAILED ${block.name}\n${wrong}`);
  }
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await triton?.stop();
}
const report = process.argv.find((argument) => argument.startsWith('--json='))?.slice('--json='.length);
if (report) writeFileSync(report, JSON.stringify({ passed, failed: failures.length, skipped: 0, failures }));
console.log(`${passed} examples passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;
