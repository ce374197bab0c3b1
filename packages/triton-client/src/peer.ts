import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { Address } from './address.js';

/** Every address of a name, in the resolver's order. */
type Lookup = (host: string) => Promise<readonly LookupAddress[]>;

const lookupAll: Lookup = (host) => dns.lookup(host, { all: true });

/**
 * Warns when a name has several addresses of one family, so perhaps several servers: regions and models of one are not
 * the other's. Not for `localhost`, whose addresses are one host's.
 */
function warnOfSeveralAddresses(host: string, port: number, addresses: readonly LookupAddress[]): void {
  if (/^localhost$/i.test(host)) return;
  const one = [4, 6]
    .map((family) => addresses.filter((address) => address.family === family))
    .find((list) => new Set(list.map(({ address }) => address)).size > 1);
  if (one === undefined) return;
  const list = one.map(({ address }) => address).join(', ');
  process.emitWarning(
    `'${host}:${port}' has several addresses (${list}). This client keeps to the one that it is connected to; if they ` +
      'are several servers, name one of them: regions and loaded models belong to one server.',
    { type: 'ZerohopWarning', code: 'ZEROHOP_SEVERAL_ADDRESSES' },
  );
}

const looked = new Set<string>();

/** Looks a name up, once in a process, and warns as above; for connections whose addresses others choose. Returns at once. */
export function warnIfSeveralAddresses({ scheme, host, port }: Address): void {
  if (scheme === 'unix' || isIP(host) !== 0 || looked.has(host)) return;
  looked.add(host);
  lookupAll(host).then(
    (addresses) => warnOfSeveralAddresses(host, port, addresses),
    // Whoever connects says what is wrong with the name.
    () => looked.delete(host),
  );
}

/**
 * The one address of a name that a client's connections go to. It is chosen by the first that connects, and kept until
 * connecting to it fails while no connection to it is open; then the name is looked up again.
 */
export class Peer {
  readonly #host: string;
  readonly #port: number;
  readonly #lookup: Lookup;
  #address: string | undefined;
  #open = 0;
  #choosing: Promise<unknown> | undefined;
  #warned = false;

  constructor(host: string, port: number, lookup: Lookup = lookupAll) {
    this.#host = host;
    this.#port = port;
    this.#lookup = lookup;
  }

  /** The address in use, once something connected to it. */
  get address(): string | undefined {
    return this.#address;
  }

  /** The connections that are open now. */
  get open(): number {
    return this.#open;
  }

  /**
   * Connects by `dial`, which tries one address. What it gives counts as open until `closed` is called.
   *
   * @throws what `dial` throws for the last address tried, or the lookup's error
   */
  async connect<T>(dial: (address: string) => Promise<T>): Promise<T> {
    // Who comes while another chooses goes where it went, and fails as it fails.
    while (this.#choosing !== undefined) await this.#choosing;
    const address = this.#address;
    if (address !== undefined) {
      try {
        return this.#opened(address, await dial(address));
      } catch (error) {
        if (this.#open > 0) throw error;
      }
    }
    if (this.#choosing !== undefined) return this.connect(dial);
    const choosing = this.#choose(dial);
    this.#choosing = choosing;
    try {
      return await choosing;
    } finally {
      this.#choosing = undefined;
    }
  }

  /** A connection that `connect` gave is gone. */
  closed(): void {
    this.#open -= 1;
  }

  async #choose<T>(dial: (address: string) => Promise<T>): Promise<T> {
    let failure: unknown;
    for (const address of await this.#addresses()) {
      try {
        return this.#opened(address, await dial(address));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #addresses(): Promise<string[]> {
    if (isIP(this.#host) !== 0) return [this.#host];
    const found = await this.#lookup(this.#host);
    if (!this.#warned) {
      this.#warned = true;
      warnOfSeveralAddresses(this.#host, this.#port, found);
    }
    return found.map(({ address }) => address);
  }

  #opened<T>(address: string, connection: T): T {
    this.#address = address;
    this.#open += 1;
    return connection;
  }
}
