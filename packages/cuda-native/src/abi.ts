import { fs, path } from './builtins.js';
import { invalid } from './check.js';

export const PACKAGE = '@zerohop/cuda-native';

/**
 * Two copies of this package in one process take each other's objects when this number is the same in both. It is also
 * kAbi in native/src/binding/type_tags.h, and changes with what that says and with the shape of the parts below.
 */
export const ABI = 1;

/** Where an object of this package says what it is, to every copy of the package. */
export const OBJECT: unique symbol = Symbol.for('@zerohop/cuda-native/object') as never;

/** What the prototype of a class of this package carries under OBJECT. */
export interface Identity<Parts> {
  readonly kind: string;
  readonly abi: number;
  /** Of the package that made the class. */
  version(): string;
  /** @throws DisposedError */
  open(object: object): Parts;
}

/** A file of this package as it was built: this module is in `src`, or in a chunk in `dist`. Looks at no file. */
export function packageFile(name: string): string {
  return path.join(import.meta.dirname, '..', name);
}

/** This package's folder, found by its manifest. */
export function packageRoot(): string {
  // Some bundlers leave nothing there.
  let folder = (import.meta.dirname as string | undefined) ?? '/';
  for (;;) {
    if (manifest(folder).name === PACKAGE) return folder;
    const parent = path.dirname(folder);
    if (parent === folder) {
      throw new Error(`the folder of ${PACKAGE} was not found (a bundler must leave this package external)`);
    }
    folder = parent;
  }
}

function manifest(folder: string): { name?: string; version?: string } {
  const file = path.join(folder, 'package.json');
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as { name?: string; version?: string }) : {};
}

function version(): string {
  return manifest(packageRoot()).version ?? 'unknown';
}

/** Lets every copy of the package know the objects of a class, also by `instanceof`. */
export function identify<Parts>(
  Class: { readonly prototype: object; readonly name: string },
  kind: string,
  open: (object: never) => Parts,
): void {
  const identity: Identity<Parts> = { kind, abi: ABI, version, open: open };
  Object.defineProperty(Class.prototype, OBJECT, { value: identity });
  Object.defineProperty(Class, Symbol.hasInstance, { value: (value: unknown) => identityOf(value)?.kind === kind });
}

function identityOf(value: unknown): Identity<unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [OBJECT]?: Identity<unknown> })[OBJECT];
}

/** Whether `value` is an object of this kind, of whichever copy of the package. */
export function isKind(value: unknown, kind: string): boolean {
  return identityOf(value)?.kind === kind;
}

/**
 * What is inside an object of this package, or of another copy of it with the same ABI.
 *
 * @throws TypeError when it is something else, or of a copy with another ABI.
 * @throws DisposedError when it is closed.
 */
export function partsOf<Parts>(name: string, kind: string, value: unknown): Parts {
  const identity = identityOf(value);
  if (identity?.kind !== kind) throw invalid(name, kind, value);
  if (identity.abi !== ABI) {
    throw new TypeError(
      `Expected ${kind} of ${PACKAGE} ${version()} (ABI ${ABI}) for ${name} but received one of version ` +
        `${identity.version()} (ABI ${identity.abi}): have one version installed ("npm ls ${PACKAGE}" lists them)`,
    );
  }
  try {
    return identity.open(value as object) as Parts;
  } catch (error) {
    // Something that only inherits from the class has no parts.
    throw error instanceof TypeError ? invalid(name, kind, value) : error;
  }
}
