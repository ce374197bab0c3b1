import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { Valve } from '../../src/faults/valve.js';
import { Wire } from '../../src/faults/wire.js';

test.for([true, false])('a peer that ends its side, half-closed: %s', async (mayHalfClose) => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = await once(server, 'connection');
  const valve = new Valve(socket, new Wire(), mayHalfClose);
  const events: string[] = [];
  for (const event of ['end', 'close']) valve.on(event, () => events.push(event));
  valve.resume();
  peer.end('all');
  if (mayHalfClose) {
    await once(valve, 'end');
    valve.end('answer');
  }
  await once(valve, 'close');
  expect(events).toEqual(mayHalfClose ? ['end', 'close'] : ['close']);
  server.close();
});
