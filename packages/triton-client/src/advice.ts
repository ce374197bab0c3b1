/** What to do about a server's refusal, where its own text does not say it. The first match decides. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  // Servers name the flag from 26.04 on; one that does not is as hard to guess without it.
  [/^Client shared memory is disabled(?!.*--allow-client-shm)/s, 'start the server with --allow-client-shm=true'],
  [/^explicit model load \/ unload is not allowed /, 'start the server with --model-control-mode=explicit'],
  [
    /^HTTP end point doesn't support models with decoupled transaction policy/,
    'use stream() of a client with a grpc:// address, or generateStream()',
  ],
  [/^ModelInfer RPC doesn't support models with decoupled transaction policy/, 'use stream()'],
];

/** A server's text, with what to do where that is known. */
export function withAdvice(details: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(details))?.[1];
  return advice === undefined ? details : `${details.replace(/\.$/, '')}: ${advice}`;
}
