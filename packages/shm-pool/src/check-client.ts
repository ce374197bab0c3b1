/** Checks that a client has what a pool asks of it, before the lack shows in the middle of a repair. */
import type { RegionClient, TensorClient } from './client.js';
import { wrongType } from './errors.js';

type Members = Readonly<Record<string, unknown>>;

const REGION_CALLS = ['register', 'unregister', 'status'] as const;

/** @throws TypeError */
export function checkRegionClient(client: RegionClient): void {
  const members = membersOf('client', client);
  checkCalls('client', members, ['serverMetadata']);
  // Without it, two connections would pass for one, and prove what they do not.
  if (typeof members.connectionEpoch !== 'number') {
    throw wrongType('client.connectionEpoch', 'number', members.connectionEpoch);
  }
  for (const kind of ['systemSharedMemory', 'cudaSharedMemory'] as const) {
    checkCalls(`client.${kind}`, membersOf(`client.${kind}`, members[kind]), REGION_CALLS);
  }
}

/** @throws TypeError */
export function checkTensorClient(client: TensorClient): void {
  checkRegionClient(client);
  checkCalls('client', membersOf('client', client), ['modelMetadata', 'modelConfig', 'infer', 'prepare']);
}

function membersOf(name: string, value: unknown): Members {
  if (typeof value !== 'object' || value === null) throw wrongType(name, 'object', value);
  return value as Members;
}

function checkCalls(name: string, members: Members, calls: readonly string[]): void {
  for (const call of calls) {
    if (typeof members[call] !== 'function') throw wrongType(`${name}.${call}`, 'function', members[call]);
  }
}
