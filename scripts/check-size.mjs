// The tracked tree stays small for good: a clone is what people fetch before they know whether they want it.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup/paths.mjs';

const LIMIT = 28e6;

const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
const sizes = files
  .map((name) => ({ name, bytes: existsSync(join(root, name)) ? statSync(join(root, name)).size : 0 }))
  .sort((a, b) => b.bytes - a.bytes);
const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

console.log(`${files.length} tracked files, ${megabytes(total)} of ${megabytes(LIMIT)}; the largest:`);
for (const { name, bytes } of sizes.slice(0, 5)) console.log(`  ${megabytes(bytes).padStart(9)}  ${name}`);
if (total > LIMIT) {
  console.error(`The tracked tree is ${megabytes(total - LIMIT)} too large.`);
  process.exitCode = 1;
}
