/** Options of a real server that say how it works inside: a command line that has them is taken as it is. */
const TAKES_VALUE = [
  '--backend-config',
  '--backend-directory',
  '--buffer-manager-thread-count',
  '--cache-config',
  '--cache-directory',
  '--cuda-memory-pool-byte-size',
  '--cuda-virtual-address-size',
  '--enable-peer-access',
  '--grpc-http2-max-ping-strikes',
  '--grpc-http2-max-pings-without-data',
  '--grpc-http2-min-recv-ping-interval-without-data',
  '--grpc-infer-allocation-pool-size',
  '--grpc-infer-response-compression-level',
  '--grpc-keepalive-permit-without-calls',
  '--grpc-keepalive-time',
  '--grpc-keepalive-timeout',
  '--host-policy',
  '--http-thread-count',
  '--log-error',
  '--log-file',
  '--log-format',
  '--log-info',
  '--log-verbose',
  '--log-warning',
  '--metrics-interval-ms',
  '--min-supported-compute-capability',
  '--model-load-gpu-limit',
  '--model-load-retry-count',
  '--model-load-thread-count',
  '--pinned-memory-pool-byte-size',
  '--repoagent-directory',
  '--response-cache-byte-size',
  '--reuse-grpc-port',
  '--reuse-http-port',
];

const FLAGS = ['--disable-auto-complete-config'];

/** Whether an option is one of those, and whether it has a value. */
export function withoutEffect(name: string): 'value' | 'flag' | undefined {
  if (FLAGS.includes(name)) return 'flag';
  return TAKES_VALUE.includes(name) ? 'value' : undefined;
}
