import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The log of a server that this command started. It goes with the server, unless a sentence has sent the user there. */
export class ServerLog {
  readonly #path = join(tmpdir(), `zerohop-server-${process.pid}-${randomBytes(4).toString('hex')}.log`);
  #named = false;

  /** For a sentence that says where to look. */
  readonly name = (): string => {
    this.#named = true;
    return `the server's log (kept as ${this.#path})`;
  };

  /** Writes down what a sentence has named, and nothing else. */
  keep(text: string): void {
    if (this.#named) writeFileSync(this.#path, `${text}\n`, { flag: 'wx', mode: 0o600 });
  }
}
