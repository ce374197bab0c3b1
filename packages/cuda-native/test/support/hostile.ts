import fc from 'fast-check';
import { DeviceMemory } from '../../src/index.js';

/** What the hostile values themselves throw. */
export class Hostile extends Error {}

function hostile(): never {
  throw new Hostile('hostile');
}

const trap = (): ProxyHandler<object> => new Proxy({}, { get: () => hostile });

function detachedBuffer(): ArrayBuffer {
  const buffer = new ArrayBuffer(64);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

function detachedView(): Uint8Array {
  const view = new Uint8Array(64);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}

/** A view whose own properties lie about it. */
function lyingView(byteLength: number): Uint8Array {
  const view = new Uint8Array(16);
  return Object.defineProperties(view, { byteLength: { value: byteLength }, length: { value: byteLength } });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const makers: (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => -0,
  () => -1,
  () => 0.5,
  () => 2 ** 31,
  () => 2 ** 32,
  () => 2 ** 32 + 1,
  () => 2 ** 53,
  () => -(2 ** 53),
  () => Number.MAX_VALUE,
  () => Number.POSITIVE_INFINITY,
  () => 0n,
  () => -1n,
  () => 2n ** 64n,
  () => 2n ** 200n,
  () => true,
  () => '',
  () => '1',
  () => '\0',
  () => 'x'.repeat(100_000),
  () => Symbol('s'),
  () => Symbol.iterator,
  () => () => undefined,
  () => class {},
  () => [],
  () => [1, 2, 3, 4],
  () => [undefined, null],
  () => new Array(3),
  () => ({}),
  () => Object.create(null) as object,
  () => ({ constructor: { name: Symbol('s') } }),
  () => ({ valueOf: hostile, toString: hostile }),
  () => new Proxy({}, trap()),
  () => new Proxy([], {}),
  () => new Proxy(new Uint8Array(16), {}),
  revoked,
  () => new Date(0),
  () => new Map(),
  () => Promise.resolve(1),
  () => new ArrayBuffer(0),
  () => new ArrayBuffer(64),
  detachedBuffer,
  detachedView,
  () => new Uint8Array(0),
  () => new Uint8Array(64),
  () => new Uint8Array(63),
  () => new Float64Array(8),
  () => new DataView(new ArrayBuffer(64), 8, 16),
  () => new Uint8Array(new SharedArrayBuffer(64)),
  () => lyingView(0),
  () => lyingView(64),
  () => lyingView(2 ** 40),
  () => Object.create(Uint8Array.prototype) as object,
  () => Object.defineProperty(Object.create(Uint8Array.prototype), 'byteLength', { value: 64 }) as object,
  () => Object.create(ArrayBuffer.prototype) as object,
  () => Object.create(DeviceMemory.prototype) as object,
  () => Object.create(AbortSignal.prototype) as object,
  () => AbortSignal.abort(new Hostile('hostile')),
];

/** How to make an argument: fast-check itself would stumble over some of them. `says` is for the report. */
export interface Recipe {
  readonly says: string;
  make(): unknown;
}

/** Values that nobody should pass, and some that are fine in the right place. */
export const value: fc.Arbitrary<Recipe> = fc.constantFrom(...makers.map((make) => ({ says: String(make), make })));

/** An object with some of these properties, hostile ones, of which some throw or change from one reading to the next. */
export function objectWith(keys: readonly string[]): fc.Arbitrary<Recipe> {
  const property = fc.oneof(
    value.map(({ says, make }) => ({ says, get: make })),
    fc.constant({ says: 'throws', get: hostile }),
    fc.array(value, { minLength: 2, maxLength: 4 }).map((values) => {
      let reads = 0;
      return {
        says: `one after the other ${values.map(({ says }) => says).join()}`,
        get: () => values[reads++ % values.length]?.make(),
      };
    }),
  );
  const properties = Object.fromEntries(keys.map((key) => [key, property]));
  return fc.record(properties, { requiredKeys: [] }).map((each) => ({
    says: JSON.stringify(each),
    make: () => {
      const entries = Object.entries(each as Record<string, { get: () => unknown }>);
      const getters = entries.map(([key, { get }]) => [key, { get, enumerable: true }] as const);
      return Object.defineProperties({}, Object.fromEntries(getters));
    },
  }));
}
