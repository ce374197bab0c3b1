import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton, type Snapshot, sharedTriton, takeSnapshot } from '@zerohop/test-support';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { expectNothingLeftOfCli, runCli, startCli } from '../support/cli.js';
import { samplePaths } from '../support/samples.js';

const sample = samplePaths[0] as string;

/** A detector [1, 3, 32, 32] → [1, 5, 20]: right in its answer to the self-check, and then as its parameters say. */
const modelPy = `
import json

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self._how = parameters["how"]["string_value"]
        self._asked = 0

    def answer(self):
        answer = numpy.zeros((1, 5, 20), numpy.float32)
        answer[0, :, 7] = [16, 16, 8, 16, 0.75]
        if self._how == "half":
            return answer.astype(numpy.float16)
        if self._how == "rank":
            return answer.reshape(1, 1, 5, 20)
        if self._how == "rows":
            return answer[:, :4].copy()
        if self._how == "larger":
            return numpy.zeros((1, 5, 21), numpy.float32)
        if self._asked > 1 and self._how == "nan":
            answer[0, 4, 7] = numpy.nan
        if self._asked > 1 and self._how == "score":
            answer[0, 4, 7] = 5
        if self._asked > 1 and self._how == "negative":
            answer[0, 2, 7] = -8
        return answer

    def execute(self, requests):
        if int(numpy.__version__.split(".")[0]) >= 2:
            make = pb_utils.Tensor.from_dlpack
        else:
            make = pb_utils.Tensor
        self._asked += 1
        name = "other" if self._how == "missing" else "out"
        return [pb_utils.InferenceResponse([make(name, self.answer())]) for _ in requests]
`;

const models = ['right', 'half', 'rank', 'rows', 'larger', 'missing', 'nan', 'score', 'negative'] as const;

let repository: string;
let server: LocalTriton;
let folder: string;
let before: Snapshot;

describeTier('triton', 'hostile input', () => {
  beforeAll(async () => {
    repository = mkdtempSync(join(tmpdir(), 'zerohop-hostile-models-'));
    for (const name of models) {
      mkdirSync(join(repository, name, '1'), { recursive: true });
      writeFileSync(join(repository, name, '1', 'model.py'), modelPy);
      const config = [
        'backend: "python"',
        'input [ { name: "in" data_type: TYPE_FP32 dims: [ 1, 3, 32, 32 ] } ]',
        'output [ { name: "out" data_type: TYPE_FP32 dims: [ 1, 5, 20 ] } ]',
        'instance_group [ { kind: KIND_CPU } ]',
        `parameters: { key: "how" value: { string_value: "${name}" } }`,
      ];
      writeFileSync(join(repository, name, 'config.pbtxt'), `${config.join('\n')}\n`);
    }
    server = await privateTriton({ modelRepository: repository, models });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(repository, { recursive: true });
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-hostile-'));
    before = takeSnapshot();
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await expectNothingLeftOfCli(before);
  });

  const detect = (model: string, ...words: string[]): string[] => [
    ...['detect', sample, '--url', server.grpcUrl, '--model', model],
    ...words,
  ];

  it.each([
    ['half', 'system', /answers otherwise than it declares \(Output 'out' came as FP16/],
    ['half', 'bytes', /answers otherwise than it declares \(Output 'out' came as FP16/],
    ['rank', 'system', /answers otherwise than it declares \(Output 'out' came as FP32 \[1, 1, 5, 20\]/],
    ['rows', 'system', /self-check \(its output came as \[1, 4, 20\] and is declared as \[1, 5, 20\]\)/],
    ['larger', 'bytes', /answers otherwise than it declares \(an output is larger\); correct its configuration/],
    ['larger', 'system', /answers otherwise than it declares \(an output is larger\); correct its configuration/],
    ['missing', 'system', /answers otherwise than it declares \(The answer has no output 'out'\)/],
    [
      'nan',
      'system',
      /gave an answer that can't be right \(1 of 20 anchors hold no number\); look at the server's log/,
    ],
    ['score', 'bytes', /gave an answer that can't be right \(a score of 5, and scores go from 0 to 1\)/],
    ['negative', 'system', /gave an answer that can't be right \(a box of negative size, \[/],
  ])('a model whose answer is wrong: %s by %s', async (model, transport, sentence) => {
    const { code, stdout, stderr } = await runCli(detect(model, '--transport', transport, '--json'));
    expect(stderr).toMatch(/^Checking the pipeline with a known picture\nzerohop: \S[^\n]*\.\n$/);
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/open the pool|fault of zerohop/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it('a pipe and a device as picture and as labels', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    for (const words of [
      ['detect', 'pipe'],
      ['detect', '/dev/zero'],
      ['detect', sample, '--labels', 'pipe'],
    ]) {
      const { code, stderr } = await runCli(words, { cwd: folder });
      expect({ code, stderr }).toEqual({ code: 1, stderr: `zerohop: ${words.at(-1)} is no regular file; name one.\n` });
    }
  });

  it('the second signal, also while a file operation never comes back', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const { child, ended, said } = startCli(detect('right', '--json=pipe'), { cwd: folder });
    await said(/Checking the pipeline/);
    await until(() => isOpening(child.pid as number));
    child.kill('SIGTERM');
    await said(/SIGTERM received/);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ signal: 'SIGINT' });
  });

  it.each([
    ['answers 404', (stream: ServerHttp2Stream) => stream.respond({ ':status': 404 }, { endStream: true })],
    [
      'sends what is no message',
      (stream: ServerHttp2Stream) => reply(stream, Buffer.from('\n\xff\xff\xff junk', 'latin1')),
    ],
    ['sends empty messages', (stream: ServerHttp2Stream) => reply(stream, Buffer.alloc(0))],
  ])('a server that %s', async (_, answer) => {
    const other = createServer().listen(0, '127.0.0.1');
    other.on('stream', answer);
    other.on('sessionError', () => undefined);
    await once(other, 'listening');
    try {
      const url = `grpc://127.0.0.1:${(other.address() as AddressInfo).port}`;
      expect(await runCli(['detect', sample, '--url', url])).toMatchObject({
        code: 3,
        stdout: '',
        stderr: `zerohop: No Triton server answers at ${url}; start it or correct --url, or leave --url out to have one started here.\n`,
      });
    } finally {
      other.close();
    }
  });

  it('keeps the log of its own server when that is killed, and names it', async () => {
    const { ended, said, child } = startCli(['detect', sample], { cwd: folder, env: { TMPDIR: folder } });
    let told = '';
    child.stderr?.on('data', (text: string) => {
      told += text;
    });
    await said(/Checking the pipeline/);
    const pid = Number(/Triton server \(pid (\d+)\)/.exec(told)?.[1]);
    // Stopped, it can't answer before it is killed; the request is sent meanwhile.
    process.kill(pid, 'SIGSTOP');
    await delay(1000);
    process.kill(pid, 'SIGKILL');
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    const log = /went away during a request; look at the server's log \(kept as (\S+)\) and run again\.\n$/.exec(
      stderr,
    )?.[1];
    expect(readFileSync(log ?? '', 'utf8')).toMatch(/Started GRPCInferenceService/);
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([log]);
  });
});

describeTier(
  'triton',
  'a /dev/shm that may not be written',
  () => {
    it.each([
      ['by a server of its own', []],
      ['by the slot', ['--transport', 'system', '--url']],
    ])('%s', async (_, words) => {
      const url = words.length === 0 ? [] : [sharedTriton().grpcUrl];
      const script = 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"';
      const { code, stderr } = await runCli(['detect', sample, ...words, ...url], {
        through: ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, 'sh'],
      });
      expect(stderr).toMatch(
        /^zerohop: This user can't make shared memory in \/dev\/shm \(.*EROFS.*\); give it write permission there .*\.\n$/,
      );
      expect(code).toBe(3);
    });
  },
  { needs: ['mount'] },
);

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([head, message]));
}

/** Whether a thread of the process is at the system call openat, which waits for the other end of a pipe. */
function isOpening(pid: number): boolean {
  const openat = process.arch === 'x64' ? '257' : '56';
  return readdirSync(`/proc/${pid}/task`).some(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/syscall`, 'utf8').split(' ')[0] === openat,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(50);
}
