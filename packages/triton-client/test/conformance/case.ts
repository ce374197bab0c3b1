import type { Context } from './context.js';
import type { RowId } from './rows.js';
import type { ServerVersion, TransportName } from './target.js';

/** Where a case runs; absent: everywhere. */
export interface CaseScope {
  readonly transports?: readonly TransportName[];
  readonly versions?: readonly ServerVersion[];
}

/** One use of one row. Cases are data, so that what is covered can be told without a server. */
export interface ConformanceCase extends CaseScope {
  readonly row: RowId;
  readonly use: 'accepted' | 'refused';
  readonly title: string;
  readonly run: (context: Context) => Promise<void>;
}

export function accepted(
  row: RowId,
  title: string,
  run: ConformanceCase['run'],
  scope: CaseScope = {},
): ConformanceCase {
  return { row, use: 'accepted', title, run, ...scope };
}

export function refused(
  row: RowId,
  title: string,
  run: ConformanceCase['run'],
  scope: CaseScope = {},
): ConformanceCase {
  return { row, use: 'refused', title, run, ...scope };
}

/** Whether a case runs there. */
export function appliesTo(scope: CaseScope, transport: TransportName, version: ServerVersion): boolean {
  return (scope.transports?.includes(transport) ?? true) && (scope.versions?.includes(version) ?? true);
}
