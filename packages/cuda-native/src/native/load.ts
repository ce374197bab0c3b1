import { ABI, PACKAGE, packageFile, packageRoot } from '../abi.js';
import { warnOfCleanup } from '../cleanup-warning.js';
import { errorFrom, NativeUnavailableError } from '../errors.js';
import type { Binding } from './binding.js';

/**
 * The file that is there, as a rule: looking for it, and even `require` of it, takes milliseconds of the JS thread. Where
 * it is not there, or does not load (musl), node-gyp-build looks for another and explains.
 */
function loadPrebuild(): Binding {
  try {
    const module = { exports: {} };
    process.dlopen(module, packageFile(`native/prebuilds/linux-${process.arch}/cuda-native.glibc.node`));
    return module.exports as Binding;
  } catch {
    const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);
    const nodeGypBuild = require('node-gyp-build') as (directory: string) => unknown;
    return nodeGypBuild(`${packageRoot()}/native`) as Binding;
  }
}

function load(): Binding {
  try {
    if (process.platform !== 'linux') {
      throw new Error(`there is no addon for ${process.platform}`);
    }
    const native = loadPrebuild();
    if (native.abi !== ABI) throw new Error(`the binary has ABI ${native.abi}, the code beside it ABI ${ABI}`);
    return native;
  } catch (cause) {
    throw new NativeUnavailableError(
      `The native addon of ${PACKAGE} did not load on ${process.platform}-${process.arch}: ` +
        `${cause instanceof Error ? cause.message.split('\n')[0] : String(cause)}. It is for Linux with glibc; in a ` +
        'clone of the repository build it with "pnpm --filter @zerohop/cuda-native build:native"',
      { cause },
    );
  }
}

let loaded: Binding | undefined;

/**
 * The addon, loaded on first use so that importing the package never fails.
 *
 * @throws NativeUnavailableError when there is no binary for this platform, or it does not load.
 */
export function binding(): Binding {
  if (loaded !== undefined) return loaded;
  const native = load();
  native.setErrorFactory(errorFrom);
  native.setWarner(warnOfCleanup);
  process.on('exit', () => {
    // A worker's names go with its finalizers, which run when it ends. Asked here, because that module takes long to load.
    if (!process.getBuiltinModule('node:worker_threads').isMainThread) return;
    // Finalizers do not run on process.exit() and after an uncaught exception, so the names are removed here.
    native.markExiting();
    native.shmUnlinkAll();
  });
  loaded = native;
  return native;
}
