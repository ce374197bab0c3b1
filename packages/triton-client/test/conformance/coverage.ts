import { appliesTo, type ConformanceCase } from './case.js';
import { CASES } from './cases/all.js';
import { DIFFERENCES } from './differences.js';
import { EXEMPTIONS, type Exemption } from './exemptions.js';
import { QA_CASES, QA_ELSEWHERE } from './qa.js';
import { ROWS, type Row } from './rows.js';
import type { RealVersion, TransportName } from './target.js';

const TRANSPORTS: readonly TransportName[] = ['grpc', 'http'];
const VERSIONS: readonly RealVersion[] = ['2.51', '2.48'];
const USES = ['accepted', 'refused'] as const;

const PLACES = VERSIONS.flatMap((version) => TRANSPORTS.map((transport) => ({ version, transport })));
type Place = (typeof PLACES)[number];

const casesOf = (row: Row, use: ConformanceCase['use'], { transport, version }: Place): readonly ConformanceCase[] =>
  CASES.filter((entry) => entry.row === row.id && entry.use === use && appliesTo(entry, transport, version));

const exemptionOf = (row: Row, use: ConformanceCase['use'], { transport, version }: Place): Exemption | undefined =>
  EXEMPTIONS.find((entry) => entry.row === row.id && entry.use === use && appliesTo(entry, transport, version));

/** What is wrong with the cases and exemptions, as sentences: rows without either, exemptions that have become untrue. */
export function gaps(): string[] {
  const found: string[] = [];
  const used = new Set<Exemption>();
  for (const row of ROWS) {
    for (const use of USES) {
      for (const place of PLACES) {
        const where = `${row.id}, ${use}, over ${place.transport} on ${place.version}`;
        const exemption = exemptionOf(row, use, place);
        const covered = casesOf(row, use, place).length > 0;
        if (exemption !== undefined) used.add(exemption);
        if (!covered && exemption === undefined) found.push(`${where}: no case, and no reason why`);
        if (covered && exemption !== undefined) found.push(`${where}: there is a case, and a reason why there is none`);
      }
    }
  }
  for (const exemption of EXEMPTIONS) {
    if (!used.has(exemption)) found.push(`${exemption.row}, ${exemption.use}: a reason for nothing`);
  }
  return found;
}

const PARTS = {
  calls: 'Calls',
  options: 'Options of a request, and of the connection',
  failures: 'Failures around shared memory',
} as const;

/** The table of rows, transports and servers as Markdown. */
export function coverageTable(): string {
  const notes: string[] = [];
  const noteOf = (reason: string): string => {
    if (!notes.includes(reason)) notes.push(reason);
    return `[${notes.indexOf(reason) + 1}]`;
  };
  const cell = (row: Row, place: Place): string =>
    USES.map((use) => {
      const reason = exemptionOf(row, use, place)?.reason;
      return reason === undefined ? String(casesOf(row, use, place).length) : noteOf(reason);
    }).join(' / ');
  const lines = [
    '# Conformance',
    '',
    'Made by test/unit/conformance.test.ts from the cases in test/conformance; don’t edit it. To make it anew:',
    '`vitest run --project unit packages/triton-client/test/unit/conformance.test.ts -u`.',
    '',
    'Each cell has the number of accepted and of refused uses that run against a real server in the tier `triton`; a',
    'number in brackets is the reason why there is none.',
  ];
  for (const [part, title] of Object.entries(PARTS)) {
    const heads = PLACES.map(({ transport, version }) => `${transport === 'grpc' ? 'gRPC' : 'HTTP'} ${version}`);
    lines.push(
      '',
      `## ${title}`,
      '',
      `| row | what | ${heads.join(' | ')} |`,
      `| --- | --- |${' --- |'.repeat(heads.length)}`,
    );
    for (const row of ROWS.filter((entry) => entry.part === part)) {
      lines.push(`| \`${row.id}\` | ${row.what} | ${PLACES.map((place) => cell(row, place)).join(' | ')} |`);
    }
  }
  lines.push(
    '',
    '## NVIDIA’s acceptance cases of shared memory',
    '',
    'Each over gRPC and HTTP. System memory: both servers, tier `triton`; CUDA: tier `gpu`.',
    '',
    '| case | what | system | CUDA |',
    '| --- | --- | --- | --- |',
    ...QA_ELSEWHERE.map(({ number, what, where }) => `| ${number} | ${what} | ${where} | ${where} |`),
    ...QA_CASES.map(({ number, what }) => `| ${number} | ${what} | yes | yes |`),
  );
  lines.push('', '## Reasons', '', ...notes.map((reason, index) => `${index + 1}. ${reason}`));
  lines.push('', '## Where the servers differ', '', `| what | ${VERSIONS.join(' | ')} |`, '| --- | --- | --- |');
  for (const { what, ...by } of Object.values(DIFFERENCES)) {
    lines.push(`| ${what} | ${VERSIONS.map((version) => by[version]).join(' | ')} |`);
  }
  return `${lines.join('\n')}\n`;
}
