import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { runProgram } from './child.js';

export interface Machine {
  /** Short, for file names: the GPU's model in lower case, or `cpu`. */
  readonly name: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly gpus: readonly { readonly name: string; readonly uuid: string; readonly driver: string }[];
}

export async function describeMachine(): Promise<Machine> {
  const gpus = await listGpus();
  const first = gpus[0];
  return {
    name: first === undefined ? 'cpu' : (first.name.toLowerCase().match(/[a-z]+\d+\w*/)?.[0] ?? 'gpu'),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    gpus,
  };
}

async function listGpus(): Promise<Machine['gpus']> {
  let text: string;
  try {
    text = await runProgram('nvidia-smi', ['--query-gpu=name,uuid,driver_version', '--format=csv,noheader'], {
      timeoutMs: 20_000,
    });
  } catch {
    return []; // No driver, no GPU: the tables then have no CUDA rows, and say so.
  }
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', uuid = '', driver = ''] = line.split(',').map((field) => field.trim());
      return { name, uuid, driver };
    });
}

/** The commit the code was built from: a bundle carries it in build.json, a clone has it in git. */
export async function describeCommit(root: string): Promise<string> {
  try {
    const { commit, dirty } = JSON.parse(readFileSync(`${root}/build.json`, 'utf8')) as {
      commit: string;
      dirty: boolean;
    };
    return dirty ? `${commit}+changes` : commit;
  } catch {
    try {
      return (
        await runProgram('git', ['-C', root, 'describe', '--always', '--dirty=+changes', '--abbrev=40'], {
          timeoutMs: 20_000,
        })
      ).trim();
    } catch {
      return 'unknown';
    }
  }
}
