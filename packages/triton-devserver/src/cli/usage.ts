/** A wrong command line; the text is one sentence. */
export class UsageError extends Error {}

export const USAGE = `Usage: triton-devserver --model-repository DIR [options]

A Triton to develop and test against, with models in JavaScript. Options are the real server's where it has them; each is
given as --option VALUE or --option=VALUE.

  --model-repository DIR         a folder of model folders; may be given several times
  --model-control-mode MODE      none (default): all models are loaded; explicit: those of --load-model
  --load-model NAME              loaded at the start, * for all; may be given several times
  --exit-on-error BOOL           whether a model that can't be loaded ends it; default true
  --strict-readiness BOOL        whether such a model makes it not ready; default true
  --host HOST                    where all ports are; default 127.0.0.1
  --grpc-port N                  default 8001; 0 takes a free one, as for the other ports
  --grpc-address unix:PATH       gRPC on a unix socket at PATH:PORT
  --grpc-use-ssl BOOL            gRPC through TLS; needs the next two
  --grpc-server-cert FILE        PEM
  --grpc-server-key FILE         PEM
  --grpc-use-ssl-mutual BOOL     TLS where clients show a certificate; needs the next one as well
  --grpc-root-cert FILE          PEM of the authority that signed the clients' certificates
  --grpc-restricted-protocol APIS:KEY=VALUE
                                 these APIs, such as shared-memory,trace, only for those who send the metadata
                                 triton-grpc-protocol-KEY with this value; may be given several times
  --grpc-header-forward-pattern REGEX
                                 headers whose name it matches are parameters for the models
  --http-port N                  default 8000
  --http-restricted-api APIS:KEY=VALUE
                                 as --grpc-restricted-protocol, with the header KEY
  --http-header-forward-pattern REGEX
                                 as with gRPC
  --metrics-port N               default 8002
  --allow-metrics BOOL           default true
  --version V                    of Triton, whose ways it has: 2.48, 2.51 (default), 2.53, 2.68
  --allow-client-shm BOOL        whether clients may register shared memory; default true, but not with 2.68
  --exit-timeout-secs N          how long requests in progress are waited for at the end; default 30
  --control-port N               faults by HTTP on this port of 127.0.0.1
  -h, --help

Options of the real server about its logs, threads, pools, backends and caches are taken, and have no effect.
`;
