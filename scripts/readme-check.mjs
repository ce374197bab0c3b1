// The examples of every README: each fenced block that begins with "ts run" or "js run" is type-checked against the built
// packages and run on plain node, in the clone's root, against the server at TRITON_URL (one is started when it is not set).
// --json=FILE writes the counts for scripts/test.mjs.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
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
  const lines = readFileSync(file, 'utf8').split('\n');
  const blocks = [];
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(ts|js) run\b/.exec(lines[i])?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf('```', i + 1);
    // Blank lines before it make the compiler's and node's line numbers those of the README.
    const code = '\n'.repeat(i + 1) + lines.slice(i + 1, end).join('\n');
    const path = join(
      folder,
      '.readme',
      `${relative(root, file).replace(/\W+/g, '-')}-${i + 1}.${language === 'ts' ? 'mts' : 'mjs'}`,
    );
    blocks.push({ name: `${relative(root, file)}:${i + 1}`, language, code: `${code}\n`, path });
    i = end;
  }
  return blocks;
}

/** Runs a block; what it printed when it failed, else undefined. */
async function run({ path, language, code }) {
  let script = path;
  if (language === 'ts') {
    script = path.replace(/\.mts$/, '.out.mjs');
    // Node 20 has no `using`; everything else in the examples is what node runs.
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    writeFileSync(script, ts.transpileModule(code, { compilerOptions }).outputText);
  }
  const child = spawn(process.execPath, [script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  const status = await new Promise((resolve) => child.once('close', (exit, signal) => resolve(signal ?? exit)));
  clearTimeout(timer);
  return status === 0 ? undefined : `ended with ${status}\n${output.trimEnd()}`;
}

async function server() {
  if (process.env.TRITON_URL) return undefined;
  const { startTriton } = await import('../tools/local-triton/dist/index.js');
  const triton = await startTriton({ modelRepository: [join(root, 'tests', 'models'), join(root, 'models')] });
  process.env.TRITON_URL = triton.grpcUrl;
  process.env.TRITON_HTTP_URL = triton.httpUrl;
  process.env.TRITON_METRICS_URL = triton.metricsUrl;
  return triton;
}

const blocks = readmes().flatMap(blocksOf);
const folders = new Set(blocks.map(({ path }) => dirname(path)));
let passed = 0;
let failed = 0;
let triton;
try {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const { path, code } of blocks) writeFileSync(path, code);
  const errors = typeErrors(blocks.filter(({ language }) => language === 'ts').map(({ path }) => path));
  for (const error of errors.others) console.log(`FAILED the check itself: ${error}`);
  failed += errors.others.length;
  if (blocks.length > 0) triton = await server();
  for (const block of blocks) {
    const wrong = errors.ofFile.get(block.path)?.join('\n') ?? (await run(block));
    if (wrong === undefined) passed++;
    else failed++;
    console.log(wrong === undefined ? `ok    ${block.name}` : `FAILED ${block.name}\n${wrong}`);
  }
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await triton?.stop();
}
const report = process.argv.find((argument) => argument.startsWith('--json='))?.slice('--json='.length);
if (report) writeFileSync(report, JSON.stringify({ passed, failed, skipped: 0 }));
console.log(`${passed} examples passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
