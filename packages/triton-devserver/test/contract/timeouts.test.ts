import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';
import { TELLING_MODEL, toldTimeouts } from '../support/timeouts.js';
import { TwinRepository } from '../support/twin-repository.js';

test('the timeout of a request is unsigned: a negative one over gRPC is a very long one, and HTTP refuses it', async () => {
  const twins = new TwinRepository([TELLING_MODEL]);
  onTestFinished(() => twins.remove());
  const server = await DevServer.start({ modelRepository: twins.path });
  onTestFinished(() => server.stop());
  expect(await toldTimeouts(server)).toMatchObject({
    'gRPC 0': '0',
    'gRPC -1': String(2n ** 64n - 1n),
    'gRPC -5': String(2n ** 64n - 5n),
    'gRPC -9223372036854775808': String(2n ** 63n),
    'HTTP 18446744073709551615': String(2n ** 64n - 1n),
    'HTTP -1': expect.stringMatching(/^500 /),
    'HTTP 1.5': expect.stringMatching(/^500 /),
    'HTTP "5"': expect.stringMatching(/^500 /),
  });
});
