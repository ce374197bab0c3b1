import type { IncomingHttpHeaders } from 'node:http';
import type { ApiGroup, RestrictedApis } from '../api-groups.js';
import { plainReply, type Reply } from './reply.js';

/** The refusal of a request that lacks a header which its group wants; it comes before that of a wrong method. */
export function refusalOf(
  group: ApiGroup,
  headers: IncomingHttpHeaders,
  restricted: readonly RestrictedApis[],
): Reply | undefined {
  for (const { apis, header, value } of restricted) {
    if (apis.includes(group) && headers[header.toLowerCase()] !== value) {
      return plainReply(403, `This API is restricted, expecting header '${header}'`);
    }
  }
  return undefined;
}
