import type { MetricSample } from './types/generate.js';

const TYPE = /^# TYPE ([a-zA-Z_:][\w:]*) (\w+)/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+([^ \t]+)(?:[ \t]+-?\d+)?[ \t]*$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;
/** What the samples of a summary or a histogram add to its name. */
const SUFFIX = /_(?:sum|count|bucket)$/;
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** The samples of Prometheus' text format; undefined when a line is none. */
export function parseMetrics(text: string): MetricSample[] | undefined {
  const types = new Map<string, string>();
  const samples: MetricSample[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line === '\r') continue;
    if (line.startsWith('#')) {
      const [, name, type] = TYPE.exec(line) ?? [];
      if (name !== undefined && type !== undefined) types.set(name, type);
      continue;
    }
    const [, name, inner = '', number = ''] = SAMPLE.exec(line.replace(/\r$/, '')) ?? [];
    const labels = parseLabels(inner);
    const value = parseNumber(number);
    if (name === undefined || labels === undefined || value === undefined) return undefined;
    const type = types.get(name) ?? types.get(name.replace(SUFFIX, '')) ?? 'untyped';
    samples.push({ name, type, labels, value });
  }
  return samples;
}

function parseLabels(inner: string): Record<string, string> | undefined {
  const labels: [string, string][] = [];
  let end = 0;
  for (const [match, name = '', value = ''] of inner.matchAll(LABEL)) {
    labels.push([name, value.replace(/\\[n"\\]/g, (escaped) => ESCAPES[escaped] ?? escaped)]);
    end += match.length;
  }
  return end === inner.length ? Object.fromEntries(labels) : undefined;
}

/** Triton writes "Nan" where Prometheus has "NaN". */
function parseNumber(text: string): number | undefined {
  if (/^nan$/i.test(text)) return Number.NaN;
  const [, sign, infinite] = /^([+-]?)(inf(?:inity)?)?/i.exec(text) ?? [];
  if (infinite !== undefined) return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const value = Number(text);
  return text === '' || Number.isNaN(value) ? undefined : value;
}
