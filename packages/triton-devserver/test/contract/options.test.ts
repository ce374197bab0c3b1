import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Certificates } from '../../../triton-client/test/support/certificates.js';
import { DevServer, type DevServerOptions } from '../../src/index.js';
import { clientOf, faultServer, ints } from '../support/fault-server.js';

const start = (options: unknown) => DevServer.start(options as DevServerOptions);
const model = (definition: unknown) => ({ models: { m: definition } });
const rules = (...restricted: object[]) => ({ restricted });

describe('what is no option is refused in a sentence', () => {
  test.each<[unknown, string]>([
    [null, 'DevServer.start has to be an object'],
    ['x', 'DevServer.start has to be an object'],
    [{ model: {} }, "DevServer.start has no field 'model': did you mean 'models'?"],
    [{ nonsense: 1 }, /^DevServer\.start has no field 'nonsense': it has host, grpcPort, .*, models, /],
    [{ version: '2.5' }, "DevServer.start: 'version' has to be one of 2.48, 2.51, 2.53, 2.68"],
    [{ version: 2.51 }, "DevServer.start: 'version' has to be one of 2.48, 2.51, 2.53, 2.68"],
    [{ grpcPort: '8001' }, "DevServer.start: 'grpcPort' has to be a port: a whole number from 0 to 65535"],
    [{ httpPort: 70_000 }, "DevServer.start: 'httpPort' has to be a port: a whole number from 0 to 65535"],
    [{ metricsPort: -1 }, "DevServer.start: 'metricsPort' has to be a port: a whole number from 0 to 65535"],
    [{ controlPort: 'a' }, "DevServer.start: 'controlPort' has to be a port: a whole number from 0 to 65535"],
    [{ modelRepository: '/nope' }, "DevServer.start: 'modelRepository' takes folders, and '/nope' is none"],
    [{ modelRepository: [5] }, "DevServer.start: 'modelRepository' has to be a path or a list of paths"],
    [{ modelControl: 'poll' }, "DevServer.start: 'modelControl' has to be one of none, explicit"],
    [{ loadModels: 'a' }, "DevServer.start: 'loadModels' has to be a list of strings"],
    [{ loadModels: ['a'] }, "DevServer.start: 'loadModels' needs modelControl: 'explicit'"],
    [{ metrics: 'no' }, "DevServer.start: 'metrics' has to be true or false"],
    [{ exitTimeoutMs: '5' }, "DevServer.start: 'exitTimeoutMs' has to be a number of milliseconds from 0"],
    [{ gpuUuids: 'GPU-1' }, "DevServer.start: 'gpuUuids' has to be a list of strings"],
    [{ forwardHeaders: 'x-.*' }, "DevServer.start: 'forwardHeaders' has to be a RegExp, or one for each protocol"],
    [{ forwardHeaders: { grcp: /x/ } }, "The option 'forwardHeaders' has no field 'grcp': did you mean 'grpc'?"],
    [{ tls: true }, "DevServer.start: 'tls' has to be an object"],
    [{ tls: { cert: 'x', key: 5 } }, "The option 'tls': 'key' has to be PEM, as a string or a Buffer"],
    [{ tls: { cert: 'x', key: 'y' } }, /^The option 'tls' can't be used: /],
    [{ restricted: {} }, "DevServer.start: 'restricted' has to be a list of rules"],
    [rules({ apis: ['trace'], header: 'k' }), "A rule of 'restricted': 'value' has to be a string"],
    [rules({ apis: ['inferenc'], header: 'k', value: 'v' }), /'apis' has 'inferenc', and takes one of health, /],
    [
      rules({ apis: ['trace', 'health'], header: 'k', value: 'v' }, { apis: ['health'], header: 'l', value: 'v' }),
      "'health' is in two rules of 'restricted'",
    ],
    [{ models: [] }, "DevServer.start: 'models' has to be an object"],
    [model(() => ({})), "The model 'm' has to be an object"],
    [model({ config: '{}' }), "The model 'm': 'config' has to be an object"],
    [model({ execute: 'x' }), "The model 'm': 'execute' has to be a function"],
    [model({ versions: [0] }), "The model 'm': 'versions' has to be a list of whole numbers from 1"],
  ] as [unknown, string][])('%j', async (options, text) => {
    await expect(start(options)).rejects.toThrow(TypeError);
    await expect(start(options)).rejects.toThrow(text);
  });

  test('a replacement is checked too, and what it takes the place of goes on', async () => {
    const { server } = await faultServer();
    await expect(server.replace({ version: '1' } as never)).rejects.toThrow("'version' has to be one of");
    await expect(server.replace({ grpcPort: 1 } as never)).rejects.toThrow("replace has no field 'grpcPort'");
    expect((await clientOf(server.grpcUrl).infer('same', ints(5))).output('Y').data).toEqual(Int32Array.of(5));
  });
});

test('rules and headers for one protocol leave the other alone', async () => {
  const server = await DevServer.start({
    restricted: [{ apis: ['metadata'], header: 'k', value: 'v', protocol: 'http' }],
  });
  onTestFinished(() => server.kill());
  expect((await fetch(`${server.httpUrl}/v2`)).status).toBe(403);
  expect((await clientOf(server.grpcUrl).serverMetadata()).name).toBe('triton');
});

test('certificates may be text', async () => {
  const certificates = new Certificates();
  onTestFinished(() => certificates.remove());
  const { server: pem } = certificates;
  const server = await DevServer.start({ tls: { cert: String(pem.cert), key: String(pem.key) } });
  onTestFinished(() => server.kill());
  expect(server.grpcUrl).toMatch(/^grpcs:/);
});

/** A port that is taken until `free` is called. */
async function taken(port = 0) {
  const blocker = createServer().listen(port, '127.0.0.1');
  await once(blocker, 'listening');
  const free = async () => {
    if (!blocker.listening) return;
    blocker.close();
    await once(blocker, 'close');
  };
  onTestFinished(free);
  return { port: (blocker.address() as { port: number }).port, free };
}

test('where one port is taken, none stays open', async () => {
  const blocked = await taken();
  const other = await taken();
  await other.free();
  const ports = { grpcPort: other.port, httpPort: other.port, metricsPort: blocked.port };
  await expect(DevServer.start(ports)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await (await taken(other.port)).free();
});

test('a server whose port was taken meanwhile takes connections once it is free', async () => {
  const { server } = await faultServer({ httpPort: 0 });
  await server.refuseConnections();
  const blocked = await taken(server.ports.http);
  await expect(server.acceptConnections()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await blocked.free();
  await server.acceptConnections();
  expect((await fetch(`${server.httpUrl}/v2/health/live`)).status).toBe(200);
});

test.each([0, -1, 0.5, Number.NaN, '5'])('no rate of reads: %j', async (rate) => {
  const { server } = await faultServer();
  expect(() => server.slowReads(rate as number)).toThrow(
    "'slowReads': 'bytesPerSecond' has to be a whole number from 1",
  );
});

test.each([-1, Number.NaN, 2 ** 31])('no grace of a GOAWAY: %d', async (ms) => {
  const { server } = await faultServer();
  expect(() => server.goAway(ms)).toThrow("'goAway': 'graceMs' has to be a number of milliseconds from 0");
});
