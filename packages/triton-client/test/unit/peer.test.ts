import type { LookupAddress } from 'node:dns';
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { Peer } from '../../src/peer.js';

const v4 = (...addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: 4 }));

let emitWarning: MockInstance<typeof process.emitWarning>;
beforeEach(() => {
  emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(() => emitWarning.mockRestore());

/** A name whose addresses are the test's, and servers that are up or down. */
function setUp(host: string, addresses: LookupAddress[]) {
  const up = new Set(addresses.map(({ address }) => address));
  const dialled: string[] = [];
  const state = { addresses, up, dialled, lookups: 0 };
  const peer = new Peer(host, 8000, async () => {
    state.lookups += 1;
    return state.addresses;
  });
  const dial = async (address: string) => {
    dialled.push(address);
    if (!up.has(address)) throw new Error(`refused ${address}`);
    return address;
  };
  return { ...state, state, peer, connect: () => peer.connect(dial) };
}

describe('Peer', () => {
  test('connections that are made at once go to one address, after one look-up', async () => {
    const { peer, connect, state } = setUp('triton', v4('10.0.0.1', '10.0.0.2'));
    expect(await Promise.all([connect(), connect(), connect()])).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.1']);
    expect([peer.address, peer.open, state.lookups]).toEqual(['10.0.0.1', 3, 1]);
  });

  test('an address that does not answer is passed over', async () => {
    const { connect, up, dialled } = setUp('localhost', [{ address: '::1', family: 6 }, ...v4('127.0.0.1')]);
    up.delete('::1');
    expect(await connect()).toBe('127.0.0.1');
    expect(await connect()).toBe('127.0.0.1');
    expect(dialled).toEqual(['::1', '127.0.0.1', '127.0.0.1']);
  });

  test('the address stays while a connection to it is open, whatever the name says by then', async () => {
    const { connect, state, up, peer } = setUp('triton', v4('10.0.0.1'));
    await connect();
    state.addresses = v4('10.0.0.2');
    up.delete('10.0.0.1');
    up.add('10.0.0.2');
    await expect(connect()).rejects.toThrow('refused 10.0.0.1');
    peer.closed();
    expect(await connect()).toBe('10.0.0.2');
    expect(state.lookups).toBe(2);
  });

  test('the address stays after all connections were closed, while it answers', async () => {
    const { connect, state, up, peer } = setUp('triton', v4('10.0.0.1'));
    await connect();
    peer.closed();
    state.addresses = v4('10.0.0.2');
    up.add('10.0.0.2');
    expect(await connect()).toBe('10.0.0.1');
    expect(state.lookups).toBe(1);
  });

  test('all that wait for a choice fail with it, and the next tries again', async () => {
    const { connect, up, state } = setUp('triton', v4('10.0.0.1'));
    up.clear();
    const results = await Promise.allSettled([connect(), connect()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(state.dialled).toEqual(['10.0.0.1']);
    up.add('10.0.0.1');
    expect(await connect()).toBe('10.0.0.1');
  });

  test('several addresses of one family are worth one warning', async () => {
    const { connect, peer } = setUp('triton', v4('10.0.0.1', '10.0.0.2'));
    await connect();
    peer.closed();
    await connect();
    expect(emitWarning).toHaveBeenCalledOnce();
    expect(emitWarning).toHaveBeenCalledWith(expect.stringContaining('10.0.0.1, 10.0.0.2'), {
      type: 'ZerohopWarning',
      code: 'ZEROHOP_SEVERAL_ADDRESSES',
    });
  });

  test.each([
    ['localhost', v4('127.0.0.1', '127.0.0.2')],
    ['triton', [...v4('10.0.0.1'), { address: 'fe80::1', family: 6 }]],
    ['triton', v4('10.0.0.1', '10.0.0.1')],
  ])('no warning for %s with %j', async (host, addresses) => {
    await setUp(host, addresses).connect();
    expect(emitWarning).not.toHaveBeenCalled();
  });

  test('an address is not looked up', async () => {
    const { connect, state } = setUp('10.0.0.9', v4('10.0.0.1'));
    state.up.add('10.0.0.9');
    expect(await connect()).toBe('10.0.0.9');
    expect(state.lookups).toBe(0);
  });
});
