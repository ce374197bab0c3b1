/** Bugs that a pool must not have, each put into a copy of the sources, to see that the schedules notice it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as shmPool from '../../src/index.js';
import type { ScheduleOptions } from './schedule/options.js';

interface Edit {
  /** In src. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly put: string;
}

export interface SeededBug {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** What a schedule says of it. */
  readonly caughtBy: RegExp;
  /** Of the server; by default 2.51.0. */
  readonly version?: string;
  readonly transport?: 'system' | 'cuda';
  /** What else it takes to meet it. */
  readonly schedule?: Partial<ScheduleOptions>;
}

const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

export const SEEDED_BUGS: readonly SeededBug[] = [
  {
    name: 'a slot comes back on the time-out',
    edits: [
      {
        file: 'sender.ts',
        find: 'void settlementOf(call).then((later) => this.#host.ended(lease, later));',
        put: "this.#host.ended(lease, 'not-sent');",
      },
    ],
    caughtBy: /with a request unanswered/,
  },
  {
    name: 'a lost connection is taken for an answer',
    edits: [
      {
        file: 'slot.ts',
        find: "if (settlement === 'lost' && this.memory.region !== undefined) {",
        put: 'if (this.memory.region === null) {',
      },
    ],
    caughtBy: /after the connection of its request was lost/,
  },
  {
    name: 'a name is registered again',
    edits: [{ file: 'region.ts', find: 'this.#registration += 1;', put: '' }],
    caughtBy: /registered again after requests had carried it/,
  },
  {
    name: 'the second proof is skipped',
    edits: [
      {
        file: 'slot-release.ts',
        find: 'const proof = await region.proveReleased(signal);',
        put: 'const proof = { proven: true } as { proven: true } & { reason: string; forgotten?: true };',
      },
    ],
    caughtBy: /freed without a proof/,
  },
  {
    name: 'an unregister that is accepted is a proof although the server did not list the name',
    edits: [
      {
        file: 'region.ts',
        find: "if (!listed) return { ...unproven('the server that answers now does not know the region'), forgotten: true };",
        put: '',
      },
    ],
    caughtBy: /freed without a proof/,
  },
  {
    name: 'a proof may be spread over two connections',
    edits: [
      {
        file: 'region.ts',
        find: `const listed = await within(this.isListed(), { signal });
        if (this.#client.connectionEpoch === epoch) {`,
        put: `const listed = await within(this.isListed(), { signal });
        if (epoch) {`,
      },
      {
        file: 'region.ts',
        find: `await this.#unregister(signal);
          if (this.#client.connectionEpoch === epoch) {`,
        put: `await this.#unregister(signal);
          if (epoch) {`,
      },
    ],
    caughtBy: /freed without a proof/,
  },
  {
    name: 'a deferred unregister is taken for done',
    edits: [{ file: 'region.ts', find: 'return !listed;', put: 'return true;' }],
    caughtBy: /freed without a proof/,
    version: '2.53.0',
  },
  {
    name: 'a region in use is unregistered on a server that crashes of it',
    edits: [{ file: 'region.ts', find: 'if (!countsRegionUsers(version))', put: 'if (version === undefined)' }],
    caughtBy: /which kills such a server/,
    version: '2.48.0',
  },
  {
    name: 'a request leaves before the work on its blocks has ended',
    edits: [{ file: 'slot.ts', find: 'return this.#isQuiet();', put: 'return true;' }],
    caughtBy: /left while work on it was under way/,
  },
  {
    name: 'a slot is lent before the work on its blocks has ended',
    edits: [
      {
        file: 'slot.ts',
        find: "if (this.#inFlight || !this.#holds.none || this.state === 'idle'",
        put: "if (this.#inFlight || this.state === 'idle'",
      },
      { file: 'slot.ts', find: 'quiet = this.#isQuiet();', put: 'quiet = true;' },
    ],
    caughtBy: /lent while work on it was under way/,
  },
  {
    name: "a request does not wait for its slot's stream",
    edits: [
      {
        file: 'slot.ts',
        find: 'return this.#holds.none && (this.stream === undefined || this.stream.query());',
        put: 'return this.#holds.none;',
      },
    ],
    caughtBy: /before (its|the) stream was done/,
    transport: 'cuda',
  },
  {
    name: 'a slot in quarantine is lent',
    edits: [
      {
        file: 'slot-keeper.ts',
        find: "if (this.#state !== 'finishing') this.#repair(this.#quarantine(slot));",
        put: "slot.state = 'idle'; this.slotFree(slot);",
      },
    ],
    caughtBy: /after the connection of its request was lost/,
  },
  {
    name: 'retired memory is used again',
    edits: [
      {
        file: 'slot-keeper.ts',
        find: 'await this.#freshMemory(slot.memory.region)',
        put: 'slot.memory',
      },
    ],
    caughtBy: /after the connection of its request was lost|with a request unanswered/,
    version: '2.48.0',
  },
  {
    name: 'retired memory is freed',
    edits: [
      {
        file: 'region.ts',
        find: 'retire(): void {\n    kept.add(this.#memory);',
        put: 'retire(): void {\n    void this.#memory.free();',
      },
    ],
    caughtBy: /freed without a proof/,
    version: '2.48.0',
  },
  {
    name: 'a request that was not answered is sent again',
    edits: [
      {
        file: 'sender.ts',
        find: "if (settlement === 'answered' && !this.#host.isRevoked()) remedy",
        put: "if (settlement === 'lost' && attempt.mayRestore) remedy = { apply: async () => {}, next: { ...attempt, mayRestore: false } };\n      else if (settlement === 'answered') remedy",
      },
    ],
    caughtBy: /sent again after|after the connection of its request was lost|freed without a proof/,
  },
  {
    name: 'a caller that was served stays in the queue',
    edits: [{ file: 'dispenser.ts', find: 'this.#waiters.delete(waiter);', put: '' }],
    caughtBy: /wait beside idle slots|no request ended|not all came back|cannot be lent/,
  },
  {
    name: 'a registration is not counted',
    edits: [{ file: 'region.ts', find: 'this.#counters.registerCalls += 1;', put: '' }],
    caughtBy: /register calls of/,
  },
  {
    name: 'a resize is over before the slots have left',
    edits: [
      {
        file: 'resizer.ts',
        find: 'if (this.#growth !== undefined || this.surplus > 0) return;',
        put: 'if (this.#growth !== undefined) return;',
      },
    ],
    caughtBy: /more slots than the \d+ asked for/,
    schedule: { resizeEvery: 10 },
  },
  {
    name: 'a slot that leaves is lent all the same',
    edits: [
      {
        file: 'slot-keeper.ts',
        find: 'for (const slot of this.dispenser.drain(count)) this.#leave(slot);',
        put: 'for (const slot of this.dispenser.drain(count)) {\n      this.#leave(slot);\n      this.dispenser.put(slot);\n    }',
      },
    ],
    caughtBy: /do not add up|has no memory|cannot be lent|unexpected/,
    schedule: { resizeEvery: 10 },
  },
  {
    name: 'a request goes out with the shapes of another',
    edits: [
      {
        file: 'slot-request.ts',
        find: 'shape.join()',
        put: 'shape.length',
      },
    ],
    caughtBy: /the answer of request/,
  },
  {
    name: 'a larger slot has not the inputs of the request that is repeated',
    edits: [
      {
        file: 'slot-place.ts',
        find: 'await within(copyBytes(old, fresh, plan.inputByteLength), { signal: lastCall });',
        put: '',
      },
    ],
    caughtBy: /the answer of request/,
    schedule: { growing: true },
  },
  {
    name: 'views do not end with their lease',
    edits: [{ file: 'slot.ts', find: 'if (this.#strictViews) this.#endViews();', put: '' }],
    caughtBy: /a view outlived its lease|while a view of the lease before reached it/,
    schedule: { poolOptions: { strictViews: true } },
  },
  {
    name: 'views of work that is left behind do not end with it',
    edits: [{ file: 'slot.ts', find: 'if (this.#viewsOut) this.#endViews();', put: '' }],
    caughtBy: /while a view of the lease before reached it/,
    schedule: { poolOptions: { strictViews: true } },
  },
  {
    name: 'a late answer is taken for a lost connection',
    edits: [
      {
        file: 'sender.ts',
        find: 'void settlementOf(call).then((later) => this.#host.ended(lease, later));',
        put: "void settlementOf(call).then(() => this.#host.ended(lease, 'lost'));",
      },
    ],
    caughtBy: /was given up, and no request on it was without an answer/,
    version: '2.48.0',
  },
];

/** @returns the package with the bug, and what removes it again */
export async function packageWith({ name, edits }: SeededBug): Promise<{ pool: typeof shmPool; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-seeded-bug-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    cpSync(join(packageFolder, 'src'), join(folder, 'src'), { recursive: true });
    cpSync(join(packageFolder, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(packageFolder, 'node_modules'), join(folder, 'node_modules'));
    for (const { file, find, put } of edits) {
      const path = join(folder, 'src', file);
      const source = readFileSync(path, 'utf8');
      const found = source.split(find).length - 1;
      if (found !== 1) throw new Error(`'${name}': src/${file} has ${found} times what stands there once: ${find}`);
      writeFileSync(
        path,
        source.replace(find, () => put),
      );
    }
    return { pool: (await import(join(folder, 'src', 'index.ts'))) as typeof shmPool, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
