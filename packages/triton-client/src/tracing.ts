import { createRequire } from 'node:module';
import type * as OpenTelemetry from '@opentelemetry/api';
import { type Address, isHttp } from './address.js';
import { TritonError } from './errors.js';
import { checkHeaders } from './headers.js';
import type { CheckedRequest } from './request.js';
import type { SubmitOptions } from './transport.js';
import type { CallHeaders } from './types/request.js';
import type { InferCall, InferStream, PreparedRequest } from './types/result.js';

type Api = typeof OpenTelemetry;
type Span = OpenTelemetry.Span;

const NAME = '@zerohop/triton-client';
const SERVICE = 'inference.GRPCInferenceService';

let found: { readonly api: Api | undefined } | undefined;

/**
 * OpenTelemetry's API where the application has it; it keeps its state outside of the module, so that any copy will do.
 * Looked for once in a process.
 */
function openTelemetry(): Api | undefined {
  found ??= { api: load(createRequire(import.meta.url)) };
  return found.api;
}

/** Undefined where the package is not there; a broken one is an error. */
export function load(require: (id: string) => unknown): Api | undefined {
  try {
    return require('@opentelemetry/api') as Api;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * Client spans by OpenTelemetry's conventions for RPC. A request whose span is sampled carries `traceparent`, so that
 * Triton's own spans (`--trace-config mode=opentelemetry`) become its children.
 */
export class Tracing {
  readonly #api: Api;
  #tracer: OpenTelemetry.Tracer | undefined;
  readonly #attributes: OpenTelemetry.Attributes;

  /** Undefined where the application has no OpenTelemetry. */
  static of(address: Address): Tracing | undefined {
    const api = openTelemetry();
    return api === undefined ? undefined : new Tracing(api, address);
  }

  private constructor(api: Api, address: Address) {
    this.#api = api;
    this.#attributes = {
      'rpc.system': isHttp(address) ? 'kserve' : 'grpc',
      'rpc.service': SERVICE,
      'server.address': address.host,
      ...(address.scheme !== 'unix' && { 'server.port': address.port }),
    };
  }

  /** `send` under a span that ends when the caller has the answer or the error. */
  infer<Options extends SubmitOptions>(
    request: Pick<CheckedRequest, 'model' | 'version' | 'id'>,
    options: Options | undefined,
    send: (options: SubmitOptions | undefined) => InferCall,
  ): InferCall {
    const tracer = this.#collected();
    if (tracer === undefined) return send(options);
    const span = this.#start(tracer, 'ModelInfer', request.model, {
      ...(request.version !== '' && { 'triton.model.version': request.version }),
      ...(request.id !== '' && { 'triton.request.id': request.id }),
    });
    const call = this.#within(span, () => send(this.#withTrace(span, options)));
    // Not this one.
    if (!span.isRecording()) return call;
    const answer = call.then(
      (result) => {
        span.end();
        return result;
      },
      (error: unknown) => {
        this.#fail(span, error);
        throw error;
      },
    );
    return Object.assign(answer, { settled: call.settled });
  }

  prepare(request: CheckedRequest, prepared: PreparedRequest): PreparedRequest {
    return {
      byteLength: prepared.byteLength,
      infer: (options) => this.infer(request, options, (traced) => prepared.infer(traced)),
    };
  }

  /** One span for the whole stream, until the server is done with it. */
  stream<Options extends SubmitOptions>(
    model: string,
    options: Options | undefined,
    open: (options: (Options & SubmitOptions) | undefined) => InferStream,
  ): InferStream {
    const tracer = this.#collected();
    if (tracer === undefined) return open(options);
    const span = this.#start(tracer, 'ModelStreamInfer', model, {});
    const stream = this.#within(span, () => open(this.#withTrace(span, options) as Options & SubmitOptions));
    void stream.settled.then((settlement) => {
      span.setAttribute('triton.settled', settlement);
      span.end();
    });
    return stream;
  }

  /**
   * Undefined while nobody collects spans: the API is often there as some package's dependency, and a span that goes
   * nowhere costs a tenth of a small request. The provider may come later than the client.
   */
  #collected(): OpenTelemetry.Tracer | undefined {
    if (this.#tracer !== undefined) return this.#tracer;
    // The API's own provider, which passes on to the one that was registered.
    const provider = this.#api.trace.getTracerProvider() as Partial<OpenTelemetry.ProxyTracerProvider>;
    this.#tracer = provider.getDelegateTracer?.(NAME);
    return this.#tracer;
  }

  #start(tracer: OpenTelemetry.Tracer, method: string, model: string, attributes: OpenTelemetry.Attributes): Span {
    return tracer.startSpan(`${SERVICE}/${method}`, {
      kind: this.#api.SpanKind.CLIENT,
      attributes: { ...this.#attributes, 'rpc.method': method, 'triton.model.name': model, ...attributes },
    });
  }

  /** Wrong options throw. */
  #within<T>(span: Span, run: () => T): T {
    try {
      return run();
    } catch (error) {
      this.#fail(span, error);
      throw error;
    }
  }

  #fail(span: Span, error: unknown): void {
    const { name, message } = error instanceof Error ? error : { name: typeof error, message: String(error) };
    span.recordException({ name, message });
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
    span.setAttribute('error.type', error instanceof TritonError ? error.code : name);
    if (error instanceof TritonError && error.grpcStatus !== undefined) {
      span.setAttribute('rpc.grpc.status_code', error.grpcStatus);
    }
    span.end();
  }

  #withTrace<Options extends SubmitOptions>(span: Span, options: Options | undefined): SubmitOptions | undefined {
    const { trace, propagation, context, TraceFlags } = this.#api;
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return options;
    const carrier: Record<string, string> = {};
    propagation.inject(trace.setSpan(context.active(), span), carrier);
    const traceHeaders = sendable(carrier);
    return Object.keys(traceHeaders).length === 0 ? options : { ...options, traceHeaders };
  }
}

/** Baggage may hold what no header can. */
function sendable(carrier: CallHeaders): CallHeaders {
  return Object.fromEntries(
    Object.entries(carrier).filter(([name, value]) => {
      try {
        checkHeaders({ [name]: value }, 'trace');
        return true;
      } catch {
        return false;
      }
    }),
  );
}
