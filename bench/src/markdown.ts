/** A results file as Markdown. */
import type { Ratio, Row, ServerTimes, TransportResults } from './results.js';
import { type Spread, spread } from './statistics.js';
import type { ClientName } from './tables.js';

const TRANSPORT_NAMES = { cuda: 'CUDA shm', system: 'system shm', bytes: 'message' } as const;

const PEER_NAMES: Readonly<Record<Exclude<ClientName, 'pool'>, string>> = {
  unary: 'Node, grpc-js unary',
  perf_analyzer: 'C++ perf_analyzer (sync)',
  python: 'Python tritonclient',
};

function clientName(row: Row): string {
  if (row.client !== 'pool') return PEER_NAMES[row.client];
  const lanes = row.inFlight === 1 ? 'one lane' : `${row.inFlight} lanes`;
  return row.work === 'infer' ? `**zerohop, ${lanes}**` : `zerohop, ${lanes}, ${row.work}`;
}

/** `median (min–max)`, the spread over rounds only where it says something. */
function figure({ median, min, max }: Spread, digits = 0): string {
  const text = (value: number) => value.toFixed(digits);
  return text(min) === text(max) ? text(median) : `${text(median)} (${text(min)}–${text(max)})`;
}

function serverColumn(row: Row): string {
  const times = row.rounds.flatMap((round) => round.server ?? []);
  if (times.length === 0) return '–';
  const part = (name: keyof ServerTimes) => spread(times.map((time) => time[name])).median.toFixed(0);
  return [part('queueUs'), part('inputUs'), part('inferUs'), part('outputUs')].join(' / ');
}

function rowLine(row: Row): string {
  const { p50Us, p99Us, requestsPerSecond, clientCpuUs } = row.summary;
  const cells = [
    clientName(row),
    TRANSPORT_NAMES[row.transport],
    row.inFlight,
    row.backend,
    row.rounds.length,
    figure(p50Us),
    figure(p99Us),
    figure(requestsPerSecond, requestsPerSecond.median < 10 ? 1 : 0),
    clientCpuUs === undefined ? '–' : figure(clientCpuUs),
    serverColumn(row),
  ];
  return `| ${cells.join(' | ')} |`;
}

function ratioLine(ratio: Ratio): string {
  const cells = [
    PEER_NAMES[ratio.peer as Exclude<ClientName, 'pool'>],
    TRANSPORT_NAMES[ratio.transport],
    ratio.inFlight,
    ratio.backend,
    figure(ratio.p50, 2),
  ];
  return `| ${cells.join(' | ')} |`;
}

export function toMarkdown(results: TransportResults): string {
  const { machine, versions, parameters } = results;
  const gpus = machine.gpus.map((gpu) => `${gpu.name} (driver ${gpu.driver})`).join(', ') || 'no GPU';
  const lines = [
    `# Transports, ${results.date}: ${gpus}`,
    '',
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, kernel ${machine.kernel}. ` +
      `${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}. Commit ${results.commit}.`,
    '',
    `Rounds of ${parameters.durationMs} ms a row after ${parameters.warmUpMs} ms of warm-up, clients in turn, on one server over loopback TCP; ` +
      'median (least–greatest) over the rounds. p50, p99 and CPU in microseconds, CPU per request; "server" is queue / ' +
      'input / compute / output per request by its own statistics. Inputs are written once and outputs not read, except ' +
      'in rows that say so.',
  ];
  for (const table of results.tables) {
    const rows = results.rows.filter((row) => row.table === table.id);
    if (rows.length === 0) continue;
    lines.push('', `## ${table.title}`);
    lines.push(
      '| client | transport | in flight | backend | rounds | p50 us | p99 us | requests/s | client CPU us | server us |',
    );
    lines.push('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |', ...rows.map(rowLine));
    const ratios = results.ratios.filter((ratio) => ratio.table === table.id);
    if (ratios.length === 0) continue;
    lines.push('', "Our p50 divided by the peer's, round by round (below 1: ours is faster):", '');
    lines.push(
      '| peer | transport | in flight | backend | ratio |',
      '| --- | --- | --- | --- | --- |',
      ...ratios.map(ratioLine),
    );
  }
  if (results.skipped.length > 0) {
    lines.push('', '## Not run', ...results.skipped.map(({ row, reason }) => `- ${row}: ${reason}`));
  }
  return `${lines.join('\n')}\n`;
}
