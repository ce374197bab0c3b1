import { readFileSync } from 'node:fs';
import { CommanderError } from '@commander-js/extra-typings';
import { createProgram, spellOutJson } from './cli.js';
import { detect } from './detect.js';
import { codeOf } from './errors.js';
import { ExitCode } from './exit-codes.js';
import { Interrupt } from './interrupt.js';
import { Terminal } from './terminal.js';

/** Warnings of the pool that are in the results as `reason`, and in what closing reports. */
const toldElsewhere: ReadonlySet<string> = new Set(['ZEROHOP_TRANSPORT', 'ZEROHOP_RETIRED']);

/** How long closing may take after a signal: a little more than a request that the server is still at is waited for. */
const closingLimitMs = 15_000;

/**
 * The whole program: parses `words`, does it, closes everything.
 * @returns what the process should end with
 */
export async function run(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const terminal = new Terminal(process.stdout, process.stderr, { debug: env.ZEROHOP_DEBUG === '1' });
  const interrupt = new Interrupt({
    onFirst: (name) => {
      terminal.progress(`zerohop: ${name} received, closing everything; once more ends it at once`);
    },
    limitMs: closingLimitMs,
    onLate: () => {
      terminal.progress(
        `zerohop: closing took longer than ${closingLimitMs / 1000} s and is given up; a server elsewhere may still have memory of this run registered, which the next run removes`,
      );
    },
  });
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (!toldElsewhere.has(codeOf(warning) ?? '')) terminal.notice(warning);
  });
  let exitCode: number = ExitCode.ok;
  const program = createProgram(
    version(),
    {
      detect: async (images, options) => {
        exitCode = await detect(images, options, interrupt.signal, terminal);
      },
    },
    { out: (text) => terminal.print(text), err: (text) => process.stderr.write(text) },
  );
  try {
    await program.parseAsync(spellOutJson(words), { from: 'user' }).catch((error: unknown) => {
      // Commander ends --help and --version with 0, and has said itself what is wrong with a command line.
      if (!(error instanceof CommanderError)) throw error;
      exitCode = error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    });
    await terminal.flush();
    return interrupt.exitCode ?? exitCode;
  } catch (error) {
    return interrupt.exitCode ?? terminal.fail(error);
  } finally {
    interrupt[Symbol.dispose]();
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
