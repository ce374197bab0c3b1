import { readSharedLibrary } from './elf.js';

/** The newest version of each symbol family that the oldest supported system has: that of the official Nodes. */
const FLOOR: Readonly<Record<string, readonly number[]>> = {
  GLIBC: [2, 28],
  GLIBCXX: [3, 4, 25],
  // Of the libstdc++ and libgcc that have the GLIBCXX above (GCC 8).
  CXXABI: [1, 3, 11],
  GCC: [8, 0, 0],
};
const LIBRARIES = /^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+$/;
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];
const LARGEST = 400 * 1024;
/** Folders of the machine that built it. The Unix paths that the code itself uses begin with others. */
const MACHINE_PATH = /(?:\/(?:home|root|tmp|work|build|builds|src)\/|node_modules\/|\.\.\/)[\x20-\x7e]*/g;

function isAbove(version: string): boolean {
  const [family = '', number = ''] = version.split(/_(?=\d)/);
  const floor = FLOOR[family];
  if (floor === undefined) return true;
  const parts = number.split('.').map(Number);
  for (let index = 0; index < Math.max(parts.length, floor.length); index += 1) {
    const difference = (parts[index] ?? 0) - (floor[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** What makes a binary of the addon unfit to be published, a sentence each. */
export function flaws(file: Buffer, arch: string): string[] {
  const library = readSharedLibrary(file);
  const found: string[] = [];
  if (library.machine !== arch) found.push(`it is for the machine ${library.machine}`);
  if (library.versions.length === 0) found.push('it names no symbol versions at all');
  for (const { library: from, version } of library.versions) {
    if (isAbove(version)) found.push(`it needs ${version} of ${from}, which old systems lack`);
  }
  for (const name of library.needed) if (!LIBRARIES.test(name)) found.push(`it links ${name}`);
  for (const path of library.runPaths) found.push(`it looks for libraries in ${path}`);
  for (const name of library.exported) if (!EXPORTS.includes(name)) found.push(`it exports ${name}`);
  for (const name of EXPORTS) if (!library.exported.includes(name)) found.push(`it does not export ${name}`);
  if (!library.staysLoaded) found.push('it is unloaded with the last worker, while its threads run');
  if (library.executableStack) found.push('it makes the stack executable');
  if (file.length > LARGEST) found.push(`it has ${file.length} bytes, more than ${LARGEST}`);
  for (const [path] of file.toString('latin1').matchAll(MACHINE_PATH)) found.push(`it holds the path ${path}`);
  return found;
}
