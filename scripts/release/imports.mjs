import { isImportable } from './linters.mjs';
import { failOn } from './problems.mjs';

/** The names under which a package can be imported; what is not JavaScript or TypeScript only by `require`. */
export function entriesOf({ name, exports = { '.': {} } }) {
  const all = Object.keys(exports).map((key) => `${name}${key.slice(1)}`);
  return {
    code: all.filter((entry) => !entry.endsWith('.json')),
    json: all.filter((entry) => entry.endsWith('.json')),
  };
}

/** Both say what each entry exports, and which native code an import has loaded: none may be. */
const SAY = `
const maps = process.platform === 'linux' ? fs.readFileSync('/proc/self/maps', 'utf8') : '';
const native = [...new Set(maps.match(/\\/\\S*(?:\\.node|libcuda\\S*|libnv\\S*)$/gm))];
console.log(JSON.stringify({ found, native }));
`;
const ESM = (entries) => `import fs from 'node:fs';
const found = {};
for (const entry of ${JSON.stringify(entries)}) found[entry] = Object.keys(await import(entry)).sort();
${SAY}`;
const COMMONJS = (entries, json) => `const fs = require('node:fs');
const found = {};
for (const entry of ${JSON.stringify(entries)}) found[entry] = Object.keys(require(entry)).sort();
for (const entry of ${JSON.stringify(json)}) require(entry);
${SAY}`;

async function said(project, script, text) {
  project.write(script, text);
  const { ok, status, stdout, stderr } = await project.node(script);
  failOn(ok ? [] : [`node ${script} ${status}:\n${stderr}${stdout}`.trimEnd()]);
  const lines = stdout.trimEnd().split('\n');
  failOn(
    lines.length === 1 && stderr === ''
      ? []
      : [`An import prints something, which no library may:\n${stdout}${stderr}`],
  );
  const { found, native } = JSON.parse(lines[0]);
  failOn(native.map((path) => `An import loads native code (${path}): load it at the first call that needs it.`));
  return found;
}

/** Imports every entry, from ESM and from CommonJS; both must see the same names. */
export async function importEntries(project, manifest) {
  if (!isImportable(manifest)) return answerOf(project, manifest);
  const { code, json } = entriesOf(manifest);
  const esm = await said(project, 'esm.mjs', ESM(code));
  const commonjs = await said(project, 'commonjs.cjs', COMMONJS(code, json));
  const own = (names) => names.filter((name) => !['__esModule', 'module.exports'].includes(name)).join();
  failOn(
    code
      .filter((entry) => own(esm[entry]) !== own(commonjs[entry]))
      .map((entry) => `import sees ${own(esm[entry])} in ${entry}, require ${own(commonjs[entry])}.`),
  );
  return code.map((entry) => `${entry} (${esm[entry].length} names)`).join(', ');
}

/** A package without entries is a command: it must answer. */
async function answerOf(project, { name, version, bin = {} }) {
  const commands = Object.entries(typeof bin === 'string' ? { [name]: bin } : bin);
  failOn(commands.length > 0 ? [] : [`${name} has neither "exports" nor "bin": nobody can use it.`]);
  for (const [command] of commands) {
    for (const [option, expected] of [
      ['--version', version],
      ['--help', `Usage: ${command}`],
    ]) {
      const { ok, status, stdout, stderr } = await project.command(command, [option]);
      const good = ok && stderr === '' && stdout.includes(expected);
      failOn(good ? [] : [`${command} ${option} ${status}, without "${expected}":\n${stdout}${stderr}`.trimEnd()]);
    }
  }
  return `a command; ${commands.map(([command]) => command).join(', ')} answers --version and --help`;
}
