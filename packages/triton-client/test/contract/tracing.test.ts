import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type InferRequest, type TritonClient, tensor } from '../../src/index.js';
import { load } from '../../src/tracing.js';
import type { FaultServer } from '../support/fault-server.js';
import { connect, listen, start } from '../support/for-one-test.js';

const REQUEST: InferRequest = { inputs: { a: tensor('UINT8', [1], [1]) }, id: 'q', version: '3' };

let server: FaultServer;
let client: TritonClient;
let exporter: InMemorySpanExporter;

function register(sampler: Sampler): void {
  exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
}

function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

beforeEach(async () => {
  server = await start();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable();
});

describe('a sampled request', () => {
  beforeEach(() => {
    register(new AlwaysOnSampler());
    client = connect(server.url);
  });

  test('has a span of its own below the caller’s, and carries it to the server', async () => {
    const exchange = server.nextUnary();
    const tracer = trace.getTracer('test');
    const result = tracer.startActiveSpan('caller', async (caller: Span) => {
      const call = client.infer('m', REQUEST);
      const { metadata, answer } = await exchange.then((unary) => ({
        metadata: unary.metadata,
        answer: () => unary.answer(),
      }));
      answer();
      const settled = await call.then(() => call.settled);
      caller.end();
      return { settled, traceparent: metadata.get('traceparent') };
    });
    const { settled, traceparent } = await result;
    const [span, caller] = exporter.getFinishedSpans() as [ReadableSpan, ReadableSpan];
    expect(settled).toBe('answered');
    expect(traceparent).toEqual([traceparentOf(span)]);
    expect(span.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
    expect([span.name, span.kind]).toEqual(['inference.GRPCInferenceService/ModelInfer', SpanKind.CLIENT]);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toEqual({
      'rpc.system': 'grpc',
      'rpc.service': 'inference.GRPCInferenceService',
      'rpc.method': 'ModelInfer',
      'server.address': '127.0.0.1',
      'server.port': server.port,
      'triton.model.name': 'm',
      'triton.model.version': '3',
      'triton.request.id': 'q',
    });
    expect(client.stats.unary.trace).toBe(1);
  });

  test('prepared once has a span for each time', async () => {
    server.autoAnswer = true;
    const prepared = client.prepare('m', REQUEST);
    await Promise.all([prepared.infer(), prepared.infer({ timeoutMs: 5000 })]);
    const spans = exporter.getFinishedSpans();
    expect(new Set(spans.map((span) => span.spanContext().spanId)).size).toBe(2);
    expect(client.stats.unary.trace).toBe(2);
  });

  test('that fails says why', async () => {
    const call = client.infer('m', REQUEST, { timeoutMs: 400 });
    await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
    expect(await call.settled).toBe('lost');
    const [span] = exporter.getFinishedSpans();
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: expect.stringContaining('within 400 ms') });
    expect(span?.attributes['error.type']).toBe('TRITON_TIMEOUT');
    expect(span?.events[0]?.attributes?.['exception.message']).toContain('within 400 ms');
  });

  test('with wrong options throws, and its span ends', () => {
    expect(() => client.infer('m', REQUEST, { timeoutMs: -1 })).toThrow(RangeError);
    expect(exporter.getFinishedSpans().map((span) => span.attributes['error.type'])).toEqual(['RangeError']);
  });

  test('a stream has one span, and carries it', async () => {
    const stream = client.stream('m', [REQUEST]);
    const next = stream.next();
    const exchange = await server.next();
    exchange.answer();
    await next;
    await stream.next();
    expect(await stream.settled).toBe('answered');
    const [span] = exporter.getFinishedSpans() as [ReadableSpan];
    expect(span.name).toBe('inference.GRPCInferenceService/ModelStreamInfer');
    expect(span.attributes).toMatchObject({ 'rpc.method': 'ModelStreamInfer', 'triton.settled': 'answered' });
    expect(exchange.metadata.get('traceparent')).toEqual([traceparentOf(span)]);
  });

  test('over HTTP carries it as a header, raw requests too', async () => {
    const seen: (string | string[] | undefined)[] = [];
    const http = createServer((request, response) => {
      seen.push(request.headers.traceparent);
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"Exceeds maximum queue size"}');
    });
    const overHttp = connect(`http://127.0.0.1:${await listen(http)}`);
    await expect(overHttp.infer('m', REQUEST)).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    await expect(overHttp.inferRaw('m', Uint8Array.of(1))).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE' });
    const spans = exporter.getFinishedSpans();
    expect(seen).toEqual(spans.map(traceparentOf));
    expect(spans.map((span) => span.attributes['error.type'])).toEqual(['TRITON_UNAVAILABLE', 'TRITON_UNAVAILABLE']);
    expect(spans[0]?.attributes['rpc.system']).toBe('kserve');
  });

  test('without a propagator goes on a lane', async () => {
    propagation.disable();
    server.autoAnswer = true;
    await client.infer('m', REQUEST);
    expect(exporter.getFinishedSpans()).toHaveLength(1);
    expect(client.stats).toMatchObject({ lanesOpened: 1, unary: { trace: 0 } });
  });
});

describe('a request that is not sampled goes on a lane, without a header', () => {
  test.each([
    ['by the sampler', () => register(new AlwaysOffSampler()), {}],
    ['since nobody collects spans', () => {}, {}],
    ['since tracing is off', () => register(new AlwaysOnSampler()), { tracing: false }],
  ] as const)('%s', async (_, prepareProcess, options) => {
    exporter = new InMemorySpanExporter();
    prepareProcess();
    client = connect(server.url, options);
    server.autoAnswer = true;
    await client.infer('m', REQUEST);
    expect(server.seen[0]?.metadata.get('traceparent')).toEqual([]);
    expect(client.stats.lanesOpened).toBe(1);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

test('a provider that comes later than the client is used from then on', async () => {
  client = connect(server.url);
  server.autoAnswer = true;
  const prepared = client.prepare('m', REQUEST);
  await prepared.infer();
  register(new AlwaysOnSampler());
  await prepared.infer();
  await client.infer('m', REQUEST);
  expect(exporter.getFinishedSpans()).toHaveLength(2);
});

test('an application without OpenTelemetry has no spans; a broken package is an error', () => {
  client = connect(server.url);
  const require = createRequire(import.meta.url);
  expect(load((name) => require(`${name}-that-nobody-has`))).toBeUndefined();
  const broken = () => {
    throw new SyntaxError('broken');
  };
  expect(() => load(broken)).toThrow('broken');
});
