const LINE_END = 0x0a;

/** Reads server-sent events as they come: the data of each. Of their other fields Triton sends none. */
export class EventReader {
  #line: Buffer[] = [];
  #data: string[] = [];

  /** The events that `chunk` completes. */
  *read(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      this.#line.push(chunk.subarray(start, end));
      start = end + 1;
      const event = this.#endLine();
      if (event !== undefined) yield event;
    }
    if (start < chunk.byteLength) this.#line.push(chunk.subarray(start));
  }

  /** True when an event has begun and not ended. */
  get within(): boolean {
    return this.#line.length > 0 || this.#data.length > 0;
  }

  #endLine(): string | undefined {
    const line = Buffer.concat(this.#line).toString('utf8').replace(/\r$/, '');
    this.#line = [];
    if (line.startsWith('data:')) this.#data.push(line.slice('data:'.length).replace(/^ /, ''));
    if (line !== '' || this.#data.length === 0) return undefined;
    const event = this.#data.join('\n');
    this.#data = [];
    return event;
  }
}
