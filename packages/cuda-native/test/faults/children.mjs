// Starts children that run tours on the fake driver, and another process's memory for them to open.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';

const child = fileURLToPath(new URL('./child.mjs', import.meta.url));
const lateChild = fileURLToPath(new URL('./late-child.mjs', import.meta.url));
const peer = fileURLToPath(new URL('./peer.mjs', import.meta.url));
const KINDS = ['bytes', 'memory', 'ipc', 'pinned', 'registered', 'stream', 'event', 'module', 'graph', 'exec', 'jpeg'];
/** What the fake driver reports when nothing is alive. */
const NOTHING = JSON.stringify(Object.fromEntries(KINDS.map((kind) => [kind, 0])));
/** A tour takes a second or less; on a busy machine ten times as long. */
const LIMIT_MS = 60_000;

/**
 * Runs `work` while another process has memory exported.
 *
 * @template T
 * @param {string} libcuda
 * @param {(peer: object) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withPeer(libcuda, work) {
  const exporter = spawn(process.execPath, [peer], {
    env: { ...process.env, ZEROHOP_LIBCUDA: libcuda },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(exporter.stdout, 'data');
    return await work(JSON.parse(String(line)));
  } finally {
    exporter.stdin.end();
    await once(exporter, 'exit');
  }
}

/**
 * @typedef {object} Round one tour
 * @property {string} fault what ZEROHOP_FAKE_FAIL is meanwhile
 * @property {string[]} [only] the sections; all when left out
 */

/**
 * Runs one child: a tour for each round.
 *
 * @param {{ libcuda: string; old?: boolean; peer: object; rounds: Round[]; env?: Record<string, string> }} options
 * @returns {Promise<{ outcomes: object[]; problem?: string }>} `problem` when the child did not come to its end
 */
export async function runTours({ libcuda, old = false, peer: handle, rounds, env }) {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-tour-'));
  const [log, report] = [join(folder, 'log'), join(folder, 'report')];
  writeFileSync(log, '');
  writeFileSync(report, NOTHING);
  const options = JSON.stringify({ rounds, log, report, peer: handle, old });
  const running = spawn(process.execPath, ['--expose-gc', child, options], {
    env: {
      ...process.env,
      ZEROHOP_LIBCUDA: libcuda,
      ZEROHOP_LIBNVJPEG: buildFakeLibnvjpeg(),
      ZEROHOP_FAKE_LOG: log,
      ZEROHOP_FAKE_REPORT: report,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const limit = setTimeout(() => running.kill('SIGKILL'), LIMIT_MS + rounds.length * 5000);
  let stdout = '';
  let stderr = '';
  running.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  running.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code, signal] = await once(running, 'close');
  clearTimeout(limit);
  rmSync(folder, { recursive: true });
  const outcomes = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  if (code === 0 && outcomes.length === rounds.length) return { outcomes };
  const next = rounds[outcomes.length]?.fault ?? 'the end';
  return { outcomes, problem: `the child ended with ${signal ?? code} at ${next}: ${stderr.trim().slice(-2000)}` };
}

/**
 * Runs one child that works while calls are late.
 *
 * @param {{ libcuda: string; peer: object; rounds: (string | string[])[] }} options
 * @returns {Promise<{ late: string; operation: string; turns: number }[]>}
 */
export async function runLateChild({ libcuda, peer: handle, rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-late-'));
  const report = join(folder, 'report');
  writeFileSync(report, NOTHING);
  const env = {
    ...process.env,
    ZEROHOP_LIBCUDA: libcuda,
    ZEROHOP_LIBNVJPEG: buildFakeLibnvjpeg(),
    ZEROHOP_FAKE_REPORT: report,
  };
  const args = ['--expose-gc', lateChild, JSON.stringify({ rounds, peer: handle })];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
