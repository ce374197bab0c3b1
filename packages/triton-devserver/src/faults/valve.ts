import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Wire } from './wire.js';

/** So much at once is written: what a freeze finds in the socket's queue still goes out. */
const PIECE_BYTES = 256 * 1024;
/** How often a second a slow connection reads. */
const TICKS = 20;
/** Pieces that are together no larger go out as one: cheaper than a list of them for the socket. */
const JOINED_BYTES = 16 * 1024;

type Done = (error?: Error | null) => void;

/**
 * A connection as a front end gets it: http and http2 take a socket's handle for themselves, behind which nothing can stop
 * them; with this between they do what the wire says.
 */
export class Valve extends Duplex {
  readonly #socket: Socket;
  readonly #wire: Wire;
  readonly #unwatch: () => void;
  readonly #mayHalfClose: boolean;
  /** Read and not handed on; null is the end. */
  readonly #waiting: (Buffer | null)[] = [];
  #writing: (() => void) | undefined;
  #tick: NodeJS.Timeout | undefined;

  /**
   * @param mayHalfClose whether a peer that has ended its side still gets answers; else its end is the connection's: Node's
   * http2 fails an assertion when it writes to a stream of ours that it has begun to end
   */
  constructor(socket: Socket, wire: Wire, mayHalfClose = true) {
    super({ allowHalfOpen: true });
    this.#mayHalfClose = mayHalfClose;
    this.#socket = socket;
    this.#wire = wire;
    this.#unwatch = wire.watch(() => this.#changed());
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('end', () => this.#take(null));
    socket.on('close', () => this.destroy());
    socket.pause();
  }

  // What http and grpc-js ask a connection for.
  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  get localAddress(): string | undefined {
    return this.#socket.localAddress;
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  override _read(): void {
    if (this.#waiting.length > 0) this.#pump();
    else if (!this.#wire.frozen) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    if (this.#wire.frozen || chunk.byteLength > PIECE_BYTES) this.#send([chunk], done);
    else this.#socket.write(chunk, done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: Done): void {
    const buffers = chunks.map(({ chunk }) => chunk);
    const byteLength = buffers.reduce((sum, each) => sum + each.byteLength, 0);
    if (byteLength <= JOINED_BYTES) this._write(Buffer.concat(buffers, byteLength), 'binary', done);
    else this.#send(buffers, done);
  }

  override _final(done: Done): void {
    this.#whenThawed(() => this.#socket.end(() => done()));
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#unwatch();
    clearTimeout(this.#tick);
    this.#socket.destroy();
    done(error);
  }

  #changed(): void {
    if (this.#wire.frozen) {
      this.#socket.pause();
      return;
    }
    const writing = this.#writing;
    this.#writing = undefined;
    writing?.();
    // It was as long as the rate of before made it.
    clearTimeout(this.#tick);
    this.#tick = undefined;
    this.#pump();
  }

  #take(chunk: Buffer | null): void {
    if (this.#waiting.length === 0 && !this.#wire.frozen && this.#wire.bytesPerSecond === undefined) {
      if (!this.#handOn(chunk)) this.#socket.pause();
      return;
    }
    this.#waiting.push(chunk);
    this.#socket.pause();
    this.#pump();
  }

  #handOn(piece: Buffer | null): boolean {
    if (piece !== null || this.#mayHalfClose) return this.push(piece);
    this.destroy();
    return false;
  }

  /** Hands on what waits, as fast as it may; reads on when nothing is left. */
  #pump(): void {
    if (this.#tick !== undefined) return;
    while (!this.#wire.frozen) {
      const chunk = this.#waiting.shift();
      if (chunk === undefined) {
        this.#socket.resume();
        return;
      }
      const rate = this.#wire.bytesPerSecond;
      const length = Math.max(1, Math.floor((rate ?? Number.POSITIVE_INFINITY) / TICKS));
      if (chunk !== null && chunk.byteLength > length) this.#waiting.unshift(chunk.subarray(length));
      const piece = chunk === null ? null : chunk.subarray(0, length);
      const wanted = this.#handOn(piece);
      if (rate !== undefined && piece !== null) {
        const ms = (1000 * piece.byteLength) / rate;
        this.#tick = setTimeout(() => {
          this.#tick = undefined;
          this.#pump();
        }, ms);
        return;
      }
      if (!wanted) return;
    }
  }

  #send(chunks: readonly Buffer[], done: Done, from = 0, at = 0): void {
    this.#whenThawed(() => {
      const socket = this.#socket;
      let [index, offset, room] = [from, at, PIECE_BYTES];
      const pieces: Buffer[] = [];
      for (let chunk = chunks[index]; chunk !== undefined && room > 0; chunk = chunks[index]) {
        const piece = chunk.subarray(offset, offset + room);
        pieces.push(piece);
        room -= piece.byteLength;
        offset += piece.byteLength;
        if (offset === chunk.byteLength) [index, offset] = [index + 1, 0];
      }
      const next = index === chunks.length ? done : () => this.#send(chunks, done, index, offset);
      if (pieces.length === 1) {
        socket.write(pieces[0] as Buffer, next);
        return;
      }
      socket.cork();
      pieces.forEach((piece, number) => {
        socket.write(piece, number === pieces.length - 1 ? next : undefined);
      });
      socket.uncork();
    });
  }

  #whenThawed(write: () => void): void {
    if (this.#wire.frozen) this.#writing = write;
    else write();
  }
}
