import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TritonClient } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { Certificates } from '../../../triton-client/test/support/certificates.js';
import { DevServer } from '../../src/index.js';
import { clientOf, ints } from '../support/fault-server.js';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
const CONFIG = `input [ { name: "X" data_type: TYPE_INT32 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_INT32 dims: [ -1 ] } ]`;
const PORTS = ['--grpc-port', '0', '--http-port=0', '--metrics-port', '0'];

function repository(models: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'zerohop-cli-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const [name, code] of Object.entries(models)) {
    mkdirSync(join(path, name, '1'), { recursive: true });
    writeFileSync(join(path, name, 'config.pbtxt'), CONFIG);
    writeFileSync(join(path, name, '1', 'model.mjs'), code);
  }
  return path;
}

const same = () => repository({ same: 'export default ({ inputs: { X } }) => ({ Y: X });' });

function start(...args: string[]) {
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => (said.out += String(chunk)));
  child.stderr?.on('data', (chunk) => (said.err += String(chunk)));
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, ...said }));
  return { child, said, ended };
}

test.each(['SIGTERM', 'SIGINT'] as const)('serves until %s', async (signal) => {
  const { child, said, ended } = start('--model-repository', same(), ...PORTS, '--control-port', '0');
  await expect.poll(() => said.out, { timeout: 20_000 }).toMatch(/^model +same 1 READY\nready\n/m);
  const url = (what: string) => new RegExp(`^${what} +(\\S+)$`, 'm').exec(said.out)?.[1] ?? '';
  expect((await clientOf(url('grpc')).infer('same', ints(5))).output('Y').data).toEqual(Int32Array.of(5));
  expect((await fetch(`${url('http')}/v2/health/ready`)).status).toBe(200);
  expect((await fetch(url('metrics'))).status).toBe(200);
  expect((await fetch(`${url('control')}/faults`)).status).toBe(200);
  child.kill(signal);
  const { status, out, err } = await ended;
  expect([status, err]).toEqual([0, '']);
  expect(out).toMatch(/Signal \(\d+\) received\.\n$/);
});

test('several folders, explicit control, a version', async () => {
  const two = same();
  cpSync(join(two, 'same'), join(two, 'other'), { recursive: true });
  rmSync(join(two, 'same'), { recursive: true });
  const args = ['--model-control-mode=explicit', '--load-model=other', '--version', '2.48', '--allow-metrics=false'];
  const { said } = start('--model-repository', same(), '--model-repository', two, ...PORTS, ...args);
  await expect.poll(() => said.out, { timeout: 20_000 }).toMatch(/ready\n$/);
  expect(said.out).toMatch(/^grpc .*\nhttp .*\nmodel +other 1 READY\nready\n$/);
});

test('a model that fails ends it, unless told not to', async () => {
  const path = repository({ broken: "throw new Error('broken');" });
  const { status, err } = await start('--model-repository', path, ...PORTS).ended;
  expect(status).toBe(1);
  expect(err).toMatch(/^triton-devserver: These models can't be loaded: 'broken': .*broken/);
  const { said } = start('--model-repository', path, ...PORTS, '--exit-on-error=false');
  await expect.poll(() => said.out, { timeout: 20_000 }).toMatch(/^model +broken 1 UNAVAILABLE .*\nready\n$/m);
});

test.each([
  ['model.mjs', 'export default () => {\n  return {\n};\n', /SyntaxError: .*, at .*\/m\/1\/model\.mjs\(4\)$/m],
  ['model.cjs', '\nmodule.exports = ;\n', /SyntaxError: .*, at .*\/m\/1\/model\.cjs\(2\)$/m],
  ['model.mjs', "import './part.mjs';\n", /SyntaxError: .*, at .*\/m\/1\/model\.mjs$/m],
  ['model.mjs', "import { nope } from 'node:fs';\n", /SyntaxError: .*nope.*, at .*\/m\/1\/model\.mjs\(1\)$/m],
  ['model.mjs', '\n\nnope();\n', /ReferenceError: nope is .*\s+At:\s+\/.*\/m\/1\/model\.mjs\(3\): <module>\s+$/],
])('%s with a mistake in it (%j): its file and line are told', async (name, code, text) => {
  const path = repository({ m: '' });
  rmSync(join(path, 'm/1/model.mjs'));
  writeFileSync(join(path, 'm/1', name), code);
  writeFileSync(join(path, 'm/1/part.mjs'), 'export const = 1;');
  const { status, err } = await start('--model-repository', path, ...PORTS).ended;
  expect(status).toBe(1);
  expect(err).toMatch(text);
});

/** What the program said of where it is, by name. */
async function running(...args: string[]) {
  const { said } = start('--model-repository', same(), ...PORTS, ...args);
  await expect.poll(() => said.out, { timeout: 20_000 }).toMatch(/ready\n$/);
  return { said, url: (what: string) => new RegExp(`^${what} +(\\S+)$`, 'm').exec(said.out)?.[1] ?? '' };
}

test('TLS, one-sided and mutual', async () => {
  const certificates = new Certificates();
  onTestFinished(() => certificates.remove());
  const { authority, server, client } = certificates;
  const files = ['--grpc-server-cert', server.certFile, `--grpc-server-key=${server.keyFile}`];
  const one = await running('--grpc-use-ssl=true', ...files);
  const mutual = await running('--grpc-use-ssl-mutual', '1', ...files, '--grpc-root-cert', authority.certFile);
  const own = { cert: client.cert, key: client.key };
  for (const [{ url }, shown] of [
    [one, {}],
    [mutual, own],
  ] as const) {
    await using caller = new TritonClient(url('grpc'), { tls: { ca: authority.cert, ...shown } });
    expect(await caller.isLive()).toBe(true);
  }
  await using stranger = new TritonClient(mutual.url('grpc'), { tls: { ca: authority.cert } });
  await expect(stranger.serverMetadata()).rejects.toThrow();
  const plain = await running(...files);
  expect(plain.url('grpc')).toMatch(/^grpc:/);
});

test('restricted APIs and forwarded headers, by protocol', async () => {
  const { url } = await running(
    '--grpc-restricted-protocol=trace,logging:admin-key=a=b',
    '--http-restricted-api',
    'metadata:web-key=secret',
    '--http-header-forward-pattern=(?i)^X-Who$',
  );
  const client = clientOf(url('grpc'));
  await expect(client.logSettings()).rejects.toThrow("expecting header 'triton-grpc-protocol-admin-key'");
  const headers = { 'triton-grpc-protocol-admin-key': 'a=b' };
  expect(await client.logSettings({}, { headers })).toHaveProperty('info');
  expect((await client.serverMetadata()).name).toBe('triton');
  expect((await fetch(`${url('http')}/v2`)).status).toBe(403);
  expect((await fetch(`${url('http')}/v2`, { headers: { 'web-key': 'secret' } })).status).toBe(200);
  expect((await fetch(`${url('http')}/v2/logging`)).status).toBe(200);
});

test("a model's own folder is no repository, and one without models is one", async () => {
  const path = join(same(), 'same');
  const { status, err } = await start('--model-repository', path, ...PORTS).ended;
  expect([status, err]).toEqual([
    2,
    'triton-devserver: --model-repository takes a folder of model folders, ' +
      `and '${path}' is a model's own: give the one above it\n`,
  ]);
  await expect(DevServer.start({ modelRepository: path })).rejects.toThrow("is a model's own");
  const { said } = start('--model-repository', repository({}), ...PORTS);
  await expect.poll(() => said.out, { timeout: 20_000 }).toMatch(/^model +none is loaded\nready\n/m);
});

test('what a real server is told of its inside is taken, and named', async () => {
  const { said } = await running('--log-verbose=1', '--disable-auto-complete-config', '--backend-config', 'python,x=1');
  expect(said.err).toBe(
    'triton-devserver: without effect here: --log-verbose, --disable-auto-complete-config, --backend-config\n',
  );
});

test.each(['-h', '--help'])('%s', async (help) => {
  const { status, out, err } = await start(help).ended;
  expect([status, err]).toEqual([0, '']);
  expect(out).toMatch(/^Usage: triton-devserver --model-repository DIR/);
});

test.each([
  [[], /^triton-devserver: --model-repository is needed: a folder of model folders\n$/],
  [['--model-repository', '/nope'], /^triton-devserver: --model-repository takes a folder, and '\/nope' is none\n$/],
  [['--nope'], /^triton-devserver: There is no option '--nope', see --help\n$/],
  [['--model-repositry', 'x'], /There is no option '--model-repositry', did you mean '--model-repository'\?/],
  [['--model-repository', '/', '--grpc-use-ssl=1'], /--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key\n$/],
  [['--grpc-server-cert=/nope'], /^triton-devserver: --grpc-server-cert: '\/nope' can't be read: /],
  [['--http-restricted-api=health'], /--http-restricted-api takes APIS:KEY=VALUE, such as .*, not 'health'\n$/],
  [['--http-restricted-api=helth:k=v'], /--http-restricted-api takes one of health, .*, not 'helth'\n$/],
  [['--grpc-header-forward-pattern=('], /--grpc-header-forward-pattern takes a regular expression: /],
  [['--grpc-port'], /^triton-devserver: --grpc-port needs a value\n$/],
  [['--grpc-port', '65536'], /^triton-devserver: --grpc-port takes a whole number up to 65535, not '65536'\n$/],
  [['--version=1'], /^triton-devserver: --version takes one of 2\.48, 2\.51, 2\.53, 2\.68, not '1'\n$/],
  [['--model-repository', '/', '--load-model', 'x'], /^triton-devserver: --load-model needs --model-control-mode /],
])('%j is refused with a sentence and status 2', async (args, text) => {
  const { status, out, err } = await start(...args).ended;
  expect([status, out]).toEqual([2, '']);
  expect(err).toMatch(text);
});

test('a model that still has something to do does not keep it from ending', async () => {
  const busy = repository({ busy: 'setInterval(() => {}, 1000); export default () => ({});' });
  const { child, said, ended } = start('--model-repository', busy, ...PORTS);
  await expect.poll(() => said.out).toMatch(/ready\n$/);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ status: 0, err: '' });
});

test('a port that is taken is said in a sentence', async () => {
  const first = start('--model-repository', same(), ...PORTS);
  await expect.poll(() => first.said.out, { timeout: 20_000 }).toMatch(/ready\n$/);
  const port = /^grpc .*:(\d+)$/m.exec(first.said.out)?.[1] ?? '';
  const { status, err } = await start('--model-repository', same(), ...PORTS, '--grpc-port', port).ended;
  expect([status, err]).toEqual([1, `triton-devserver: Port ${port} of 127.0.0.1 is taken\n`]);
});
