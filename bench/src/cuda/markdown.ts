/** A results file of `cuda.js` as Markdown. */
import type { Spread } from '../statistics.js';
import type { Limit, MeasuredFigure, Program } from './figures.js';
import type { CudaResults } from './results.js';

const PROGRAMS: Readonly<Record<Program, string>> = { peer: 'C++', ours: 'ours', oursNoSpin: 'ours, spin off' };

/** `median (min–max)` in microseconds, or milliseconds from 1000 of them on. */
function time(ns: Spread): string {
  const milliseconds = ns.median >= 1e6;
  const text = (value: number) => (value / (milliseconds ? 1e6 : 1e3)).toFixed(milliseconds || ns.median < 1e5 ? 2 : 0);
  return `${text(ns.median)} (${text(ns.min)}–${text(ns.max)}) ${milliseconds ? 'ms' : 'us'}`;
}

const share = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;

function limitText(limit: Limit): string {
  switch (limit.kind) {
    case 'milliseconds':
      return `≤ ${limit.atMost} ms`;
    case 'share':
      return `≥ ${limit.atLeast} of C++'s rate`;
    case 'more-us':
      return `≤ C++ + ${limit.atMost} us`;
  }
}

const verdict = (met: boolean | undefined) => (met === undefined ? '' : met ? 'met' : '**not met**');

function figureLines({ says, bytes, programs, against, limit, met }: MeasuredFigure): string[] {
  return (Object.keys(PROGRAMS) as Program[]).flatMap((program) => {
    const figure = programs[program];
    if (figure === undefined) return [];
    const compared = against[program];
    const cells = [
      program === 'peer' ? says : '',
      PROGRAMS[program],
      time(figure.p50Ns),
      time(figure.p99Ns),
      bytes === undefined ? '' : (bytes / figure.p50Ns.median).toFixed(1),
      compared === undefined ? '' : time(compared.moreNs),
      compared === undefined ? '' : share(compared.share),
      program === 'ours' && limit !== undefined ? `${limitText(limit)}: ${verdict(met)}` : '',
    ];
    return [`| ${cells.join(' | ')} |`];
  });
}

export function cudaToMarkdown(results: CudaResults): string {
  const { machine, driver } = results;
  const lines = [
    `# cuda-native, ${results.date}: ${driver.device}`,
    '',
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, kernel ${machine.kernel}, CUDA driver ` +
      `${machine.gpus[0]?.driver ?? ''} (API ${driver.version}), Node ${results.node}. Commit ${results.commit}.`,
  ];
  if (results.figures.length > 0) {
    lines.push(
      '',
      `${results.figures[0]?.programs.ours?.p50Ns.perRound.length} rounds, the programs in turn, each with a context of its own: median (least–greatest) over the ` +
        'rounds of the p50 and the p99; differences and ratios within a round.',
      '',
      '| what | program | p50 | p99 | GB/s | more than C++ | C++ / ours | asked |',
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      ...results.figures.flatMap(figureLines),
    );
  }
  if (results.import !== undefined) {
    const { processes, insideMs, processMoreMs, bareMs, limitMs, met } = results.import;
    const text = ({ median, min, max }: Spread) => `${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)}) ms`;
    lines.push(
      '',
      `Import in ${processes} fresh processes: ${text(insideMs)} by their own clock; they end ${text(processMoreMs)} later than ` +
        `those without it (${text(bareMs)}), started in turn. < ${limitMs} ms: ${verdict(met)}.`,
    );
  }
  if (results.loop !== undefined) {
    const { phases, worstMs, limitMs, met } = results.loop;
    lines.push(
      '',
      '| event loop during | took ms | worst tick late by ms | less waits for a core | histogram max ms |',
      '| --- | --- | --- | --- | --- |',
    );
    for (const { phase, tookMs, worstTickMs, worstOwnMs, histogramMs } of phases) {
      const cells = [phase, tookMs.toFixed(1), ...[worstTickMs, worstOwnMs, histogramMs].map((ms) => ms.toFixed(2))];
      lines.push(`| ${cells.join(' | ')} |`);
    }
    lines.push(
      '',
      `Worst but for idle, less waits for a core: ${worstMs.toFixed(2)} ms. < ${limitMs} ms: ${verdict(met)}.`,
    );
  }
  if (results.delays !== undefined) {
    lines.push(
      '',
      '| late by 200 ms | calls | took ms | worst ms | in | with waits for a core | < 5 ms |',
      '| --- | --- | --- | --- | --- | --- | --- |',
    );
    for (const { late, calls, tookMs, worstMs, worstPhase, rawMs, met } of results.delays) {
      const what = late.length === 0 ? 'none' : late.length > 1 ? `all ${late.length}` : late[0];
      const cells = [what, calls, tookMs.toFixed(0), worstMs.toFixed(1), worstPhase, rawMs.toFixed(1)];
      lines.push(
        `| ${cells.join(' | ')} | ${late.length === 0 ? '' : calls === 0 ? '**never called**' : verdict(met)} |`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}
