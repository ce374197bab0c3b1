import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Codes that a damaged picture may be refused with. */
const REFUSALS = ['ERR_IMAGE_CORRUPT', 'ERR_IMAGE_UNSUPPORTED', 'ERR_IMAGE_TOO_LARGE'];
/** The whole process: Node, libvips and a picture of at most 2048 x 2048. */
const RSS_LIMIT = 1 << 30;

/** Runs one child to its end or death. */
async function runChild(seed, from, to, onLine) {
  const program = fileURLToPath(new URL('child.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, seed, from, to].map(String), { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (data) => {
    errors = (errors + data).slice(-2000);
  });
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  for await (const line of createInterface({ input: child.stdout })) onLine(line);
  return { ...(await ended), errors };
}

/**
 * `count` damaged pictures from a seed, in a child process that is started again after the picture it died of.
 *
 * @param {{ seed: number, count: number, onProgress?: (done: number) => void }} options
 */
export async function fuzz({ seed, count, onProgress = () => undefined }) {
  const outcomes = {};
  const byDamage = {};
  const problems = [];
  const rss = [];
  const digest = createHash('sha256');
  let peakRss = 0;
  for (let next = 0; next < count; ) {
    let running = -1;
    const end = await runChild(seed, next, count, (line) => {
      if (line.startsWith('> ')) {
        running = Number(line.slice(2));
        return;
      }
      const report = JSON.parse(line);
      if (report.peakRss !== undefined) {
        peakRss = Math.max(peakRss, report.peakRss);
        return;
      }
      const { index, base, damage, outcome, hash = '', problem } = report;
      const where = `picture ${index} of seed ${seed} (${base}, ${damage})`;
      if (problem !== undefined) problems.push(`${where}: ${problem}`);
      else if (outcome !== 'tensor' && !REFUSALS.includes(outcome)) problems.push(`${where}: ${outcome}`);
      outcomes[outcome ?? 'problem'] = (outcomes[outcome ?? 'problem'] ?? 0) + 1;
      byDamage[damage] ??= { tensor: 0, refused: 0 };
      byDamage[damage][outcome === 'tensor' ? 'tensor' : 'refused'] += 1;
      digest.update(`${index} ${outcome} ${hash}\n`);
      peakRss = Math.max(peakRss, report.rss);
      if (index % Math.ceil(count / 20) === 0) {
        rss.push({ index, bytes: report.rss });
        onProgress(index);
      }
      next = index + 1;
    });
    if (end.code === 0) break;
    problems.push(
      `picture ${running} of seed ${seed}: the process ended with ${end.signal ?? end.code}: ${end.errors}`,
    );
    if (running < next) break;
    next = running + 1;
  }
  if (peakRss > RSS_LIMIT) problems.push(`used ${peakRss} bytes of memory, more than ${RSS_LIMIT}`);
  return { seed, count, outcomes, byDamage, digest: digest.digest('hex'), rss, peakRss, problems };
}
