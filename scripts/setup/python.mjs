import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSIONS = ['3.12', '3.11', '3.10', '3.9'];

const FACTS = `
import importlib.util, json, os, sys, sysconfig
v = sysconfig.get_config_var
library = v("INSTSONAME") or ""
folders = [d for d in (v("LIBDIR"), (v("LIBDIR") or "") + "/" + (v("MULTIARCH") or ""), sys.base_prefix + "/lib") if d]
print(json.dumps(dict(
  executable=sys.executable, version="%d.%d" % sys.version_info[:2],
  venv=all(importlib.util.find_spec(m) is not None for m in ("venv", "ensurepip")),
  shared=library.endswith(".so.1.0") and any(os.path.exists(os.path.join(d, library)) for d in folders))))
`;

/** What a Python says of itself, or undefined when there is none under this name. */
function ask(command) {
  try {
    const stdout = execFileSync(command, ['-c', FACTS], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 20_000,
    });
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}

function* candidates() {
  if (process.env.ZEROHOP_PYTHON) {
    // Who names one means no other.
    yield process.env.ZEROHOP_PYTHON;
    return;
  }
  for (const version of VERSIONS) yield `python${version}`;
  yield 'python3';
  const folders = [
    join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions'),
    join(process.env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'uv', 'python'),
  ];
  for (const folder of folders.filter((path) => existsSync(path))) {
    for (const version of VERSIONS) {
      for (const name of readdirSync(folder).filter((entry) => new RegExp(`(^|-)${version}(\\.|$)`).test(entry))) {
        yield join(folder, name, 'bin', 'python3');
      }
    }
  }
}

/**
 * The Python for the server and the peers: 3.9 to 3.12, with the shared libpython that the server's stub loads, and with
 * venv and pip. The environment variable `ZEROHOP_PYTHON` names one in place of those in the usual places.
 *
 * @returns {{ python?: string, version?: string, problems: { what: string, packages: string[], version?: string, hint?: string }[] }}
 */
export function findPython() {
  let best;
  const others = new Set();
  for (const command of candidates()) {
    const facts = ask(command);
    if (facts === undefined) continue;
    if (!VERSIONS.includes(facts.version)) {
      others.add(facts.version);
      continue;
    }
    if (facts.venv && facts.shared) return { python: facts.executable, version: facts.version, problems: [] };
    best ??= facts;
  }
  const wanted = 'Python 3.9, 3.10, 3.11 or 3.12';
  const named = process.env.ZEROHOP_PYTHON;
  if (best === undefined && named) {
    const is = others.size > 0 ? `Python ${[...others][0]}` : 'no Python that runs';
    return { problems: [{ what: wanted, packages: [], hint: `ZEROHOP_PYTHON names ${named}, which is ${is}` }] };
  }
  if (best === undefined && others.size > 0) {
    // The distribution's own is another version: its package manager would bring that one again.
    const hint = 'uv python install 3.12, or PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install 3.12';
    return { problems: [{ what: `${wanted} (found only ${[...others].join(', ')})`, packages: [], hint }] };
  }
  if (best === undefined) {
    return { problems: [{ what: wanted, packages: ['python3', 'python3-venv', 'libpython3'] }] };
  }
  const problems = [];
  if (!best.venv) {
    problems.push({
      what: `venv and ensurepip of ${best.executable}`,
      packages: ['python3-venv'],
      version: best.version,
    });
  }
  if (!best.shared) {
    problems.push({
      what: `the shared library libpython${best.version}.so.1.0 of ${best.executable}`,
      packages: ['libpython3'],
      version: best.version,
    });
  }
  return { problems };
}
