/**
 * What has to be true of every slot's memory, kept from the calls that pass between the pool and its client and from what
 * the callers do: a second account that knows nothing of the pool's own. What breaks a rule is a sentence in `violations`.
 */
import { existsSync } from 'node:fs';
import type { ClientRequest, Lease, Settlement } from '../../../src/index.js';
import { isAlive, viewsOf } from '../views.js';
import { type CallerRequest, newPlace, type Place, type Registration, type WatchedCall } from './place.js';

/** How a server says that an output needs more than its block has. */
export const TOO_SMALL = /should be at least \d+ bytes/;
const UNKNOWN_REGION = /Unable to find shared memory region/;

export class Ledger {
  readonly violations: string[] = [];
  readonly counts = { registers: 0, unregisters: 0, calls: 0, retries: 0, lateWrites: 0, lost: 0, proofs: 0 };
  readonly #places = new Map<string, Place>();
  readonly #registrations = new Map<string, Registration>();
  readonly #buffers = new WeakMap<object, string>();
  readonly #streams = new WeakMap<object, Place>();
  readonly #countsUsers: boolean;
  readonly #strictViews: boolean;
  /** Called with each request that goes out. */
  onSent: () => void = () => undefined;
  #nextBuffer = 0;

  /**
   * @param countsUsers - whether the server counts a region's users, so that an accepted unregister proves something
   * @param strictViews - whether views of a lease end with it
   */
  constructor(countsUsers: boolean, strictViews: boolean) {
    this.#countsUsers = countsUsers;
    this.#strictViews = strictViews;
  }

  violated(text: string): void {
    // Whatever follows from the first ones says nothing more.
    if (this.violations.length < 20) this.violations.push(text);
  }

  #place(id: string, kind: Place['kind']): Place {
    let place = this.#places.get(id);
    if (place === undefined) {
      place = newPlace(id, kind);
      this.#places.set(id, place);
    }
    return place;
  }

  #bufferPlace(bytes: Uint8Array): Place {
    const { buffer } = bytes;
    let id = this.#buffers.get(buffer);
    if (id === undefined) {
      id = `buffer ${this.#nextBuffer++}`;
      this.#buffers.set(buffer, id);
    }
    return this.#place(id, 'message');
  }

  /** The memory behind a lease; undefined for device memory that no request has used yet. */
  placeOf(lease: Lease, input: string): Place | undefined {
    const block = lease.input(input);
    if (block.shm !== undefined) return this.#place(block.shm.key, 'system');
    if (lease.stream !== undefined) return this.#streams.get(lease.stream);
    return block.memory instanceof Uint8Array ? this.#bufferPlace(block.memory) : undefined;
  }

  lent(lease: Lease, input: string): void {
    if (lease.stream?.query() === false) this.violated('a slot was lent before its stream was done');
    const place = this.placeOf(lease, input);
    if (place === undefined) return;
    const before = place.lease;
    if (before !== undefined && isUsable(before, input)) this.violated(`${place.id} was lent twice`);
    if (place.holds > 0) this.violated(`${place.id} was lent while work on it was under way`);
    this.#mustBeAnswered(place, 'lent');
    if (place.views.some(isAlive)) this.violated(`${place.id} was lent while a view of the lease before reached it`);
    place.lease = lease;
    if (this.#strictViews) place.views = viewsOf(lease.input(input));
  }

  /** Counts work of a caller on a lease's blocks. To be told before the pool is. */
  hold(lease: Lease, input: string, work: Promise<unknown>): void {
    const place = this.placeOf(lease, input);
    if (place === undefined) return;
    place.holds += 1;
    const ended = () => {
      place.holds -= 1;
    };
    work.then(ended, ended);
  }

  #mustBeAnswered(place: Place, what: string): void {
    if (place.open.size > 0) this.violated(`${place.id} was ${what} with a request unanswered`);
    else if (place.lostAt !== undefined && place.kind !== 'message') {
      this.violated(`${place.id} was ${what} after the connection of its request was lost`);
    }
  }

  registering(kind: 'system' | 'cuda', name: string, key: string): void {
    this.counts.registers += 1;
    const place = this.#place(key, kind);
    if (this.#registrations.get(name)?.sent)
      this.violated(`${name} was registered again after requests had carried it`);
    this.#mustBeAnswered(place, 'registered anew');
    this.#registrations.set(name, { place, sent: false, proof: undefined });
  }

  unregistering(name: string): void {
    this.counts.unregisters += 1;
    const place = this.#registrations.get(name)?.place;
    if (place === undefined || this.#countsUsers) return;
    if (isUnanswered(place))
      this.violated(`${name} was unregistered with a request unanswered, which kills such a server`);
  }

  unregistered(name: string, epochs: readonly [before: number, after: number]): void {
    const registration = this.#registrations.get(name);
    if (registration?.proof === undefined) return;
    const sameConnection = epochs[0] === epochs[1] && registration.proof.epoch === epochs[0];
    registration.proof = sameConnection ? { epoch: epochs[0], step: 'unregistered' } : undefined;
  }

  listed(name: string, isListed: boolean, epochs: readonly [before: number, after: number]): void {
    const registration = this.#registrations.get(name);
    if (registration === undefined || !isUnanswered(registration.place)) return;
    const { proof, place } = registration;
    const sameConnection = epochs[0] === epochs[1] && (proof === undefined || proof.epoch === epochs[0]);
    if (!sameConnection) registration.proof = undefined;
    if (!isListed && epochs[0] === epochs[1]) place.forgotten = true;
    if (isListed) {
      if (epochs[0] !== epochs[1]) return;
      // Listed still, from 2.53 on: the unregister that was accepted counts.
      if (registration.proof === undefined) registration.proof = { epoch: epochs[0], step: 'listed' };
    } else if (sameConnection && proof?.step === 'unregistered' && this.#countsUsers && !place.proven) {
      place.proven = true;
      this.counts.proofs += 1;
    }
  }

  /** The pool says that it has given up the memory of that region. Whether a request on it had no answer. */
  retired(name: string): boolean {
    const place = this.#registrations.get(name)?.place;
    if (place === undefined) return false;
    place.retired = true;
    return isUnanswered(place) && !place.proven;
  }

  /** A call that is about to go out, for a caller's request if it is one. */
  sending(request: ClientRequest, by: CallerRequest | undefined): WatchedCall {
    this.counts.calls += 1;
    const region = regionOf(request);
    const call: WatchedCall = { region, error: undefined, settlement: undefined, told: false };
    const place = this.#requestPlace(request, region);
    if (place !== undefined) {
      this.#mustBeAnswered(place, 'sent');
      if (place.holds > 0) this.violated(`a request on ${place.id} left while work on it was under way`);
      if (by?.lease.stream !== undefined) this.#streams.set(by.lease.stream, place);
      place.open.add(call);
    }
    this.onSent();
    if (by !== undefined) this.#checkRepetition(by);
    if (by?.lease.stream?.query() === false) this.violated(`request ${by.id} left before its stream was done`);
    by?.calls.push(call);
    return call;
  }

  #requestPlace(request: ClientRequest, region: string | undefined): Place | undefined {
    if (region === undefined) {
      const [input] = Object.values(request.inputs);
      return input !== undefined && 'data' in input ? this.#bufferPlace(input.data) : undefined;
    }
    const registration = this.#registrations.get(region);
    if (registration === undefined) {
      this.violated(`a request names ${region}, which was never registered`);
      return undefined;
    }
    registration.sent = true;
    return registration.place;
  }

  /** A request goes out again when the server did not know its region, and when its answer did not fit; for each once. */
  #checkRepetition({ id, calls }: CallerRequest): void {
    const before = calls.at(-1);
    if (before === undefined) return;
    this.counts.retries += 1;
    const answers = calls.map(({ error }) => String(error));
    const isAllowed = [UNKNOWN_REGION, TOO_SMALL].some(
      (reason) => reason.test(answers.at(-1) ?? '') && answers.filter((answer) => reason.test(answer)).length === 1,
    );
    if (before.settlement !== 'answered' || !isAllowed)
      this.violated(`request ${id} was sent again after ${answers.join(', then ')}`);
  }

  settled(request: ClientRequest, call: WatchedCall, settlement: Settlement): void {
    // An answer settles a call, whether the client says so before or after.
    if (call.settlement !== undefined) return;
    call.settlement = settlement;
    if (settlement === 'answered' && call.told) this.counts.lateWrites += 1;
    if (settlement === 'lost') this.counts.lost += 1;
    const place = this.#requestPlace(request, call.region);
    if (place === undefined) return;
    place.open.delete(call);
    if (settlement === 'lost') place.lostAt = performance.now();
  }

  /** Memory that the server may still use, and no proof that it does not. */
  unproven(): Place[] {
    return [...this.#places.values()].filter(
      (place) => place.kind !== 'message' && place.lostAt !== undefined && !place.proven,
    );
  }

  /** How many places have a request without an answer, unless they were given up. */
  get unanswered(): number {
    let count = 0;
    for (const place of this.#places.values()) {
      const isLost = place.lostAt !== undefined && !place.proven && !place.retired;
      if (place.kind !== 'message' && (place.open.size > 0 || isLost)) count += 1;
    }
    return count;
  }

  /** How many of them were lost more than `ageMs` ago. */
  lostFor(ageMs: number): number {
    const before = performance.now() - ageMs;
    return this.unproven().filter(({ lostAt }) => lostAt !== undefined && lostAt < before).length;
  }

  /**
   * Memory that was given away although the server may still use it is one that has no entry any more. An object that the
   * answering server does not know may go, if the pool says so: a fresh one shares nothing with it.
   */
  checkEntries(): void {
    for (const place of this.#places.values()) {
      if (place.kind !== 'system' || place.proven || !isUnanswered(place)) continue;
      if (place.forgotten && place.retired) continue;
      if (!existsSync(`/dev/shm${place.id}`)) this.violated(`${place.id} was freed without a proof`);
    }
  }

  /** How many of the shm objects have an entry. */
  get entries(): number {
    let count = 0;
    for (const { kind, id } of this.#places.values()) if (kind === 'system' && existsSync(`/dev/shm${id}`)) count += 1;
    return count;
  }

  /** Forgets the memory of a closed pool, but for what it had to keep, so that a long run holds no more than a short one. */
  forget(): void {
    for (const [id, place] of this.#places) {
      const kept = place.kind === 'system' ? existsSync(`/dev/shm${id}`) : place.lostAt !== undefined && !place.proven;
      if (!kept && place.open.size === 0 && place.holds === 0) this.#places.delete(id);
    }
    for (const [name, { place }] of this.#registrations) {
      if (this.#places.get(place.id) !== place) this.#registrations.delete(name);
    }
  }
}

const isUnanswered = (place: Place) => place.open.size > 0 || place.lostAt !== undefined;

function isUsable(lease: Lease, input: string): boolean {
  try {
    lease.input(input);
    return true;
  } catch {
    return false;
  }
}

function regionOf({ inputs }: ClientRequest): string | undefined {
  for (const input of Object.values(inputs)) if ('region' in input) return input.region;
  return undefined;
}
