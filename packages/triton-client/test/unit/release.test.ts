import { describe, expect, test } from 'vitest';
import { TritonError } from '../../src/index.js';
import { type ReleaseCalls, waitUntilReleased } from '../../src/release.js';

/** A server as its documentation and sources have it, of versions that are not on this machine. */
class Server implements ReleaseCalls {
  readonly log: string[] = [];
  version = '2.53.0';
  connection = 1;
  listed = true;
  /** Looks and unregisters that a request stays in flight. */
  inFlight = 0;
  /** Unregisters that leave no mark, as the race in 2.53 and later does. */
  missed = 0;
  #marked = false;

  epoch(): number {
    return this.connection;
  }

  async serverVersion(): Promise<string> {
    return this.version;
  }

  async isListed(): Promise<boolean> {
    this.log.push('status');
    this.#step();
    return this.listed;
  }

  async unregister(): Promise<void> {
    this.log.push('unregister');
    const inUse = this.inFlight > 0;
    this.#step();
    if (this.version < '2.53') {
      if (!inUse) this.listed = false;
      else throw error('TRITON_INTERNAL', "Cannot unregister shared memory region 'r', it is currently in use.");
    } else if (this.missed > 0) this.missed -= 1;
    else this.#marked = true;
    this.#step();
  }

  #step(): void {
    if (this.inFlight > 0) this.inFlight -= 1;
    if (this.#marked && this.inFlight === 0) this.listed = false;
  }
}

function error(code: 'TRITON_INTERNAL' | 'TRITON_UNAVAILABLE', details: string): TritonError {
  return new TritonError(details, { code, details, method: 'SystemSharedMemoryUnregister' });
}

const never = new AbortController().signal;

describe('waitUntilReleased', () => {
  test.each(['2.50.0', '2.51.0', '2.52.0'])('%s: until unregister is no longer refused', async (version) => {
    const server = Object.assign(new Server(), { version, inFlight: 4 });
    expect(await waitUntilReleased(server, 'r', never)).toBe('released');
    expect(server.log).toEqual(['status', 'unregister', 'unregister', 'unregister', 'unregister', 'status']);
  });

  test.each(['2.53.0', '2.70.1', '3.0.0'])('%s: until the status no longer lists the region', async (version) => {
    const server = Object.assign(new Server(), { version, inFlight: 5 });
    expect(await waitUntilReleased(server, 'r', never)).toBe('released');
    expect(server.log.filter((call) => call === 'unregister')).toHaveLength(1);
  });

  test('an unregister that the server forgot is sent again', async () => {
    const server = Object.assign(new Server(), { missed: 2 });
    expect(await waitUntilReleased(server, 'r', never)).toBe('released');
    expect(server.log.filter((call) => call === 'unregister')).toHaveLength(3);
  });

  test.each(['2.49.0', '2.9.0', '1.99.0', '', 'unknown'])('%s is refused, and nothing is sent', async (version) => {
    const server = Object.assign(new Server(), { version });
    await expect(waitUntilReleased(server, 'r', never)).rejects.toMatchObject({
      code: 'TRITON_UNSAFE_REQUEST',
      region: 'r',
      message: expect.stringContaining('before 2.50'),
    });
    expect(server.log).toEqual([]);
  });

  test('a look that is what connects is made again', async () => {
    const server = Object.assign(new Server(), { inFlight: 3 });
    const look = server.isListed.bind(server);
    server.isListed = async () => {
      if (server.log.length === 0) server.connection += 1;
      return look();
    };
    expect(await waitUntilReleased(server, 'r', never)).toBe('released');
    expect(server.log.slice(0, 3)).toEqual(['status', 'status', 'unregister']);
  });

  test('a region that the server does not list proves nothing', async () => {
    const server = Object.assign(new Server(), { listed: false });
    expect(await waitUntilReleased(server, 'r', never)).toBe('unknown');
    expect(server.log).toEqual(['status']);
  });

  test.each(['2.51.0', '2.53.0'])(
    '%s: another connection proves nothing, and is not told to unregister',
    async (version) => {
      const server = Object.assign(new Server(), { version, inFlight: Number.POSITIVE_INFINITY });
      const waiting = waitUntilReleased(server, 'r', never);
      await expect.poll(() => server.log.length).toBeGreaterThan(4);
      server.connection += 2;
      const sent = server.log.length;
      expect(await waiting).toBe('unknown');
      expect(server.log.length - sent).toBeLessThanOrEqual(1);
    },
  );

  test('another failure of unregister ends it', async () => {
    const server = new Server();
    server.unregister = () => Promise.reject(error('TRITON_UNAVAILABLE', 'gone'));
    await expect(waitUntilReleased(server, 'r', never)).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
  });

  test('an abort ends the wait with its reason', async () => {
    const server = Object.assign(new Server(), { inFlight: Number.POSITIVE_INFINITY });
    const controller = new AbortController();
    const waiting = waitUntilReleased(server, 'r', controller.signal);
    await expect.poll(() => server.log.length).toBeGreaterThan(2);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});
