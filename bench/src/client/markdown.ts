import { spread } from '../statistics.js';
import type { ClientResults, ClientRow, Outcome } from './results.js';

const UNITS = { p50Us: 'p50', requestsPerSecond: 'requests/s', clientCpuUs: 'CPU us/request', rssGrowthBytes: 'RSS' };

const number = (value: number): string =>
  !Number.isFinite(value) ? '?' : Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value.toPrecision(3);

function rowLine({ work, client, transport, inFlight, rounds }: ClientRow): string {
  const figure = (name: 'p50Us' | 'p99Us' | 'requestsPerSecond' | 'clientCpuUs' | 'rssGrowthBytes') => {
    const values = rounds.flatMap((round) => round[name] ?? []);
    if (values.length === 0) return '–';
    const { median, min, max } = spread(values);
    return `${number(median)} (${number(min)}–${number(max)})`;
  };
  const cells = [work, client, transport, inFlight, rounds.length, figure('p50Us'), figure('p99Us')];
  return `| ${[...cells, figure('requestsPerSecond'), figure('clientCpuUs'), figure('rssGrowthBytes')].join(' | ')} |`;
}

function outcomeLine({ ours, peer, figure, value, atMost, atLeast, met }: Outcome): string {
  const asked = atMost !== undefined ? `≤ ${number(atMost)}` : atLeast !== undefined ? `≥ ${number(atLeast)}` : '–';
  const verdict = met === undefined ? '–' : met ? 'yes' : '**no**';
  const got = `${number(value.median)} (${number(value.low)}–${number(value.high)})`;
  return `| ${[ours, peer ?? '–', UNITS[figure], got, asked, verdict].join(' | ')} |`;
}

export function clientToMarkdown(results: ClientResults): string {
  const { machine, versions, parameters } = results;
  const gpus = machine.gpus.map((gpu) => `${gpu.name} (driver ${gpu.driver})`).join(', ') || 'no GPU';
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${[
    `# triton-client, ${results.date}: ${gpus}`,
    '',
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, kernel ${machine.kernel}. ${named.join(', ')}. ` +
      `Commit ${results.commit}.`,
    '',
    `Rounds of ${parameters.durationMs} ms a row after ${parameters.warmUpMs} ms of warm-up, clients in turn, on one server ` +
      'over loopback TCP (`socket`: a unix socket). Every answer of the Node and Python clients is read as far as name, ' +
      'shape, datatype and, where the output lies in host memory, its first bytes; perf_analyzer reads none.',
    '',
    '| ours | peer | figure | ours : peer, median (95 % interval) | asked | met |',
    '| --- | --- | --- | --- | --- | --- |',
    ...results.outcomes.map(outcomeLine),
    '',
    '| work | client | transport | in flight | rounds | p50 us | p99 us | requests/s | client CPU us | RSS growth, bytes |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.rows.map(rowLine),
    ...(results.skipped.length === 0 ? [] : ['', '## Not run']),
    ...results.skipped.map(({ row, reason }) => `- ${row}: ${reason}`),
  ].join('\n')}\n`;
}
