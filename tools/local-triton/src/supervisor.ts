/** First line the supervisor reads from its standard input. */
export interface SupervisorConfig {
  binary: string;
  args: string[];
  /** Replaces the supervisor's own environment for the server. */
  env: Record<string, string>;
  logFile: string;
  /** Unique to this server; its /dev/shm files begin with it. */
  shmPrefix: string;
  /** Removed by the supervisor only when the process that started it is gone. */
  runDirectory: string;
}

/** One line of the supervisor's standard output. */
export type SupervisorReport =
  | { type: 'started'; pid: number }
  | { type: 'failed'; message: string }
  /** The answer to `note`. */
  | { type: 'noted' }
  | { type: 'ended'; exitCode: number | null; signal: string | null };

/**
 * Runs in a small process of its own, in its own session, between us and the server: its standard input is a pipe from
 * us, so that the server ends whatever way we do, `kill -9` included (it is then killed at once: nobody waits for its
 * answers). Where util-linux is, the kernel kills the server when this process is killed itself.
 * Reads the config as one JSON line, then `note` when the server has come up or is given up, and
 * `stop N` (N: milliseconds from SIGTERM to SIGKILL).
 *
 * Triton's Python backend makes a folder /tmp/python_env_XXXXXX, wherever TMPDIR points, and removes it only when it is
 * not killed. The one that appeared while the server started is its own, if there was no other; then it is removed here.
 *
 * The function is sent as source text to `node -e`, which works from sources, from dist and from a bundle; it must use
 * nothing but its arguments and globals.
 */
export function supervise(childProcess: typeof import('node:child_process'), fs: typeof import('node:fs')): void {
  const setpriv = '/usr/bin/setpriv';
  let config: SupervisorConfig | undefined;
  let server: import('node:child_process').ChildProcess | undefined;
  let ended = false;
  let parentGone = false;
  let timer: NodeJS.Timeout | undefined;
  let input = '';
  let foldersBefore: string[] = [];
  let folder: string | undefined;

  const backendFolders = (): string[] =>
    fs
      .readdirSync('/tmp')
      .filter((name) => /^python_env_\w{6}$/.test(name))
      .map((name) => `/tmp/${name}`);
  const noteFolder = (): void => {
    try {
      if (!fs.readFileSync(`/proc/${server?.pid}/maps`, 'latin1').includes('/libtriton_python.so')) return;
    } catch {
      // It has just ended.
      return;
    }
    const made = backendFolders().filter((path) => !foldersBefore.includes(path));
    if (made.length === 1) folder = made[0];
  };
  const report = (message: SupervisorReport): void => {
    try {
      fs.writeSync(1, `${JSON.stringify(message)}\n`);
    } catch {
      // Whoever started us is gone; there is nobody left to tell.
    }
  };
  // The server leads a process group of its own; its Python stubs are in it.
  const killGroup = (): void => {
    try {
      if (server?.pid !== undefined) process.kill(-server.pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  };
  // By /proc, since kill(0) counts zombies too, which stay until whoever inherited them looks.
  const groupRuns = (): boolean =>
    fs.readdirSync('/proc').some((entry) => {
      if (!/^\d+$/.test(entry)) return false;
      try {
        const stat = fs.readFileSync(`/proc/${entry}/stat`, 'latin1');
        const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return Number(group) === server?.pid && state !== 'Z' && state !== 'X';
      } catch {
        return false;
      }
    });
  const cleanUp = (): void => {
    if (config === undefined) return;
    for (const name of fs.readdirSync('/dev/shm')) {
      if (name.startsWith(config.shmPrefix)) fs.rmSync(`/dev/shm/${name}`, { force: true });
    }
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
    if (parentGone) fs.rmSync(config.runDirectory, { recursive: true, force: true });
  };
  const finish = (exitCode: number | null, signal: string | null): void => {
    ended = true;
    clearTimeout(timer);
    killGroup();
    const deadline = Date.now() + 5000;
    const wait = (): void => {
      if (groupRuns() && Date.now() < deadline) {
        setTimeout(wait, 10);
        return;
      }
      cleanUp();
      report({ type: 'ended', exitCode, signal });
      process.exit(0);
    };
    wait();
  };
  const stop = (graceMs: number): void => {
    if (server === undefined) process.exit(0);
    if (ended) return;
    server.kill('SIGTERM');
    clearTimeout(timer);
    timer = setTimeout(killGroup, graceMs);
  };
  const start = (line: string): void => {
    config = JSON.parse(line) as SupervisorConfig;
    const fail = (error: Error): void => {
      report({ type: 'failed', message: error.message });
      cleanUp();
      process.exit(1);
    };
    let command = [config.binary, ...config.args];
    try {
      // Told by us, since setpriv's words would stand for its own.
      fs.accessSync(config.binary, fs.constants.X_OK);
      // Nobody sends the signal for a parent that ended before it was asked for (prctl(2), PR_SET_PDEATHSIG).
      const ifStillAChild = '[ "$PPID" = "$0" ] || kill -KILL $$; exec "$@"';
      const tie = [setpriv, '--pdeathsig', 'KILL', 'sh', '-c', ifStillAChild, String(process.pid)];
      if (fs.existsSync(setpriv)) command = [...tie, ...command];
    } catch (error) {
      fail(error as Error);
    }
    foldersBefore = backendFolders();
    const log = fs.openSync(config.logFile, 'a');
    const [program = '', ...args] = command;
    server = childProcess.spawn(program, args, { env: config.env, detached: true, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    server.once('error', fail);
    server.once('spawn', () => report({ type: 'started', pid: server?.pid ?? 0 }));
    server.once('exit', finish);
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  process.stdin.on('data', (chunk: Buffer) => {
    input += chunk.toString();
    for (let end = input.indexOf('\n'); end >= 0; end = input.indexOf('\n')) {
      const line = input.slice(0, end);
      input = input.slice(end + 1);
      if (config === undefined) start(line);
      else if (line === 'note') {
        noteFolder();
        report({ type: 'noted' });
      } else if (line.startsWith('stop ')) stop(Number(line.slice(5)));
    }
  });
  process.stdin.on('error', () => undefined);
  process.stdin.on('close', () => {
    parentGone = true;
    stop(0);
  });
}
