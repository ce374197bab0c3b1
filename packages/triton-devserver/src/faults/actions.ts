import type { DevServer } from '../dev-server.js';
import {
  AT_LEAST_ONE,
  checkFields,
  type Fields,
  MILLISECONDS,
  oneOf,
  optional,
  PATHS,
  required,
  TEXT,
  TEXTS,
  YES_OR_NO,
} from '../fields.js';
import { VERSIONS } from '../personality.js';

/** A method of the server that has no answer, by the name of its path. */
interface Action {
  readonly fields: Fields;
  readonly run: (server: DevServer, values: Readonly<Record<string, unknown>>) => void | Promise<void>;
}

/** An action whose values are known to be of the type `Values` by its fields. */
function action<Values>(fields: Fields, run: (server: DevServer, values: Values) => void | Promise<void>): Action {
  return { fields, run: (server, values) => run(server, values as Values) };
}

/** How long the endpoint waits for requests unless it is told. */
const WAIT_MS = 30_000;

/** What can be done to a server beside faults of requests. */
const ACTIONS: Readonly<Record<string, Action>> = {
  freeze: action({}, (server) => server.freeze()),
  thaw: action({}, (server) => server.thaw()),
  drop: action({}, (server) => server.dropConnections()),
  goaway: action<{ graceMs?: number }>({ graceMs: optional(MILLISECONDS) }, (server, { graceMs }) =>
    server.goAway(graceMs),
  ),
  refuse: action({}, (server) => server.refuseConnections()),
  accept: action({}, (server) => server.acceptConnections()),
  'slow-reads': action<{ bytesPerSecond?: number }>(
    { bytesPerSecond: optional(AT_LEAST_ONE) },
    (server, { bytesPerSecond }) => server.slowReads(bytesPerSecond),
  ),
  metrics: action<{ open: boolean }>({ open: required(YES_OR_NO) }, (server, { open }) => server.setMetrics(open)),
  restart: action<{ keepRegions?: boolean }>({ keepRegions: optional(YES_OR_NO) }, (server, options) =>
    server.restart(options),
  ),
  'when-in-flight': action<{ count: number; model?: string; timeoutMs?: number }>(
    { count: required(AT_LEAST_ONE), model: optional(TEXT), timeoutMs: optional(MILLISECONDS) },
    (server, { count, model, timeoutMs = WAIT_MS }) =>
      server.whenInFlight(count, { ...(model === undefined ? {} : { model }), signal: AbortSignal.timeout(timeoutMs) }),
  ),
  replace: action<Parameters<DevServer['replace']>[0]>(
    {
      version: optional(oneOf(VERSIONS)),
      modelRepository: optional(PATHS),
      loadModels: optional(TEXTS),
      exitTimeoutMs: optional(MILLISECONDS),
    },
    (server, options) => server.replace(options),
  ),
};

/** The names of all actions. */
export const ACTION_NAMES: readonly string[] = Object.keys(ACTIONS);

/**
 * Does what a name says. Resolves when it is done.
 *
 * @throws TypeError for a name or values that are not known
 */
export async function act(server: DevServer, name: string, values: unknown): Promise<void> {
  const found = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (found === undefined) throw new TypeError(`There is no '${name}': there are ${ACTION_NAMES.join(', ')}`);
  checkFields(`'${name}'`, values, found.fields);
  await found.run(server, values);
}
