import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/terminal.js';

class Sink extends Writable {
  text = '';
  readonly fault: Error | undefined;

  constructor(fault?: Error) {
    super();
    this.fault = fault;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.text += chunk.toString();
    done(this.fault);
  }
}

const failed = (code: string): Error => Object.assign(new Error(`${code}: no luck, write`), { code });

function terminal(stdout: Sink, stderr = new Sink()): Terminal {
  return new Terminal(stdout, stderr, { debug: false });
}

describe('Terminal', () => {
  it('has written what was printed when it is flushed', async () => {
    const stdout = new Sink();
    const out = terminal(stdout);
    out.print('one');
    out.print('two');
    await out.flush();
    expect(stdout.text).toBe('onetwo');
  });

  it('tells that results are lost, whichever of them it was', async () => {
    const out = terminal(new Sink(failed('ENOSPC')));
    out.print('one');
    await new Promise((resolve) => setImmediate(resolve));
    out.print('two');
    await expect(out.flush()).rejects.toMatchObject({
      code: 'ERR_OUTPUT',
      message: "The results can't be written to stdout: ENOSPC: no luck, write.",
    });
  });

  it('does not mind a reader that went away, nor a lost stderr', async () => {
    const out = terminal(new Sink(failed('EPIPE')), new Sink(failed('ENOSPC')));
    out.print('one');
    out.progress('two');
    await out.flush();
  });

  it('passes on a warning that has no code without calling it a fault', () => {
    const stderr = new Sink();
    terminal(new Sink(), stderr).notice(new Error('SQLite is an experimental feature'));
    expect(stderr.text).toBe('zerohop: warning: SQLite is an experimental feature.\n');
  });
});
