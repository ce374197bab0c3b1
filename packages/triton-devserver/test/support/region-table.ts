import { onTestFinished } from 'vitest';
import { PERSONALITIES, type Version } from '../../src/personality.js';
import { RegionTable, type RegionTableOptions } from '../../src/regions/region-table.js';
import { ServerError } from '../../src/status.js';

export const PAGE = 4096;
export const MIB = 2 ** 20;

/** A table of regions that is cleared when the test ends. */
export function open(version: Version = '2.51', options: Partial<RegionTableOptions> = {}) {
  const crashes: string[] = [];
  const regions = new RegionTable(PERSONALITIES[version], {
    clientSharedMemory: true,
    onCrash: (reason) => crashes.push(reason),
    ...options,
  });
  onTestFinished(() => regions.clear());
  const register = (name: string, key: string, byteSize: number | bigint, offset: number | bigint = 0) =>
    regions.registerSystem({ name, key, byteSize: BigInt(byteSize), offset: BigInt(offset) });
  return { regions, register, crashes };
}

/** The error of a call, as code and text; 'OK' when there is none. */
export async function outcome(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'OK';
  } catch (error) {
    if (error instanceof ServerError) return `${error.code} ${error.message}`;
    return `${(error as Error).name} ${(error as Error).message}`;
  }
}

/** Every byte is the number of its page. */
export const numberedPages = (byteLength: number) =>
  Uint8Array.from({ length: byteLength }, (_, at) => Math.floor(at / PAGE));

export const read = (bytes: Uint8Array | Promise<Uint8Array>): Uint8Array => {
  if (bytes instanceof Uint8Array) return bytes;
  throw new Error('System memory is read at once');
};
