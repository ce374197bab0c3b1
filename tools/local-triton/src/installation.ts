import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { LocalTritonError } from './errors.js';

/** A server on this machine and the Python its Python backend embeds. */
export interface TritonInstallation {
  /** The `tritonserver` executable. */
  binary: string;
  /** Folder with one folder per backend; `python` holds the stub of `python`'s version. */
  backends: string;
  /** The interpreter whose packages the Python models see. */
  python: string;
  /** Variables the server needs: loader path, and where the embedded Python finds itself and its packages. */
  environment: Record<string, string>;
}

/** The servers that set-up installs: the newest one of which there is a wheel, and an older one for tests. */
export type TritonVersion = '2.51' | '2.48';

const FOLDERS: Readonly<Record<TritonVersion, string>> = { '2.51': 'server', '2.48': 'server-2.48' };

interface PythonFacts {
  version: string;
  prefix: string;
  /** Where `libpython3.X.so.1.0` may lie. */
  libraryDirectories: string[];
  library: string;
  sitePackages: string[];
}

const PYTHON_FACTS = `
import json, sys, sysconfig
v = sysconfig.get_config_var
print(json.dumps(dict(
  version="%d.%d" % sys.version_info[:2], prefix=sys.base_prefix,
  libraryDirectories=[d for d in (v("LIBDIR"), v("LIBDIR") and v("MULTIARCH") and v("LIBDIR") + "/" + v("MULTIARCH"), sys.base_prefix + "/lib") if d],
  library=v("INSTSONAME") or "",
  sitePackages=[p for p in sys.path if p.endswith(("site-packages", "dist-packages"))])))
`;

/**
 * Finds the server. The first of these that applies:
 *
 * 1. `home`, or the environment variable `ZEROHOP_TRITON_HOME`: a Python environment with the wheel in it, or a folder
 *    with the wheel's `tritonserver/` and `nvidia_pytriton.libs/`, whose Python is `ZEROHOP_TRITON_PYTHON` (default
 *    `python3`). `ZEROHOP_TRITON_PYTHONHOME` and `ZEROHOP_TRITON_PYTHONPATH` replace what that Python says of itself.
 * 2. `.zerohop/server` of the clone that holds the working directory or this file; `npm run setup` makes it.
 *
 * The older server is always that of the clone, `.zerohop/server-2.48`; `npm test -- triton` makes it.
 *
 * @throws LocalTritonError ERR_TRITON_NOT_INSTALLED
 */
export async function findTriton(home?: string, version: TritonVersion = '2.51'): Promise<TritonInstallation> {
  const named = version === '2.51' ? process.env.ZEROHOP_TRITON_HOME : undefined;
  const root = home ?? named ?? cloneHome(FOLDERS[version]);
  if (root === undefined && version !== '2.51') {
    const message = `No Triton server ${version} is installed here: run "npm test -- triton" in a clone of zerohop.`;
    throw new LocalTritonError('ERR_TRITON_NOT_INSTALLED', message);
  }
  if (root === undefined) {
    throw notInstalled('No Triton server is installed here');
  }
  const own = join(root, 'bin', 'python3');
  const python = existsSync(own) ? own : (process.env.ZEROHOP_TRITON_PYTHON ?? 'python3');
  const facts = await askPython(python);
  const packages = [root, ...facts.sitePackages];
  const server = firstExisting(
    packages.flatMap((path) => [join(path, 'tritonserver'), join(path, 'pytriton', 'tritonserver')]),
  );
  const libraries = firstExisting(packages.map((path) => join(path, 'nvidia_pytriton.libs')));
  if (server === undefined || libraries === undefined) {
    throw notInstalled(`${root} holds no Triton server`);
  }
  const backends = firstExisting(
    [join(root, 'backends'), join(server, 'backends')].filter((path) =>
      existsSync(join(path, 'python', 'triton_python_backend_stub')),
    ),
  );
  if (backends === undefined) {
    throw notInstalled(`The stub of Python ${facts.version} is not set up in ${join(root, 'backends', 'python')}`);
  }
  const libraryDirectories = facts.libraryDirectories.filter((path) => existsSync(join(path, facts.library)));
  const pythonHome = process.env.ZEROHOP_TRITON_PYTHONHOME ?? facts.prefix;
  const pythonPath = process.env.ZEROHOP_TRITON_PYTHONPATH ?? facts.sitePackages.join(delimiter);
  return {
    binary: join(server, 'bin', 'tritonserver'),
    backends,
    python,
    environment: {
      LD_LIBRARY_PATH: [libraries, ...libraryDirectories, process.env.LD_LIBRARY_PATH ?? ''].filter(Boolean).join(':'),
      // Stubs of some Pythons ignore PYTHONHOME and PYTHONPATH and go by the first python3 in PATH; others do the opposite.
      PATH: [python.includes('/') ? dirname(python) : '', process.env.PATH ?? ''].filter(Boolean).join(':'),
      PYTHONHOME: pythonHome,
      PYTHONPATH: pythonPath,
      PYTHONNOUSERSITE: '1',
      PYTHONDONTWRITEBYTECODE: '1',
    },
  };
}

function cloneHome(folder: string): string | undefined {
  for (const start of [process.cwd(), dirname(fileURLToPath(import.meta.url))]) {
    for (let path = start; ; path = dirname(path)) {
      const home = join(path, '.zerohop', folder);
      if (existsSync(join(home, 'bin', 'python3'))) return home;
      if (path === dirname(path)) break;
    }
  }
  return undefined;
}

async function askPython(python: string): Promise<PythonFacts> {
  try {
    const { stdout } = await promisify(execFile)(python, ['-c', PYTHON_FACTS]);
    return JSON.parse(stdout) as PythonFacts;
  } catch (cause) {
    throw notInstalled(`The Python of the Triton server (${python}) does not run`, cause);
  }
}

function firstExisting(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

function notInstalled(what: string, cause?: unknown): LocalTritonError {
  return new LocalTritonError(
    'ERR_TRITON_NOT_INSTALLED',
    `${what}: run "npm run setup" in a clone of zerohop, or set ZEROHOP_TRITON_HOME to a folder that has one.`,
    { cause },
  );
}
