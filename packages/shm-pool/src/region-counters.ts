/** What is counted of the regions of one pool. */

/** A region that the server was not proven to be done with. */
export interface Unproven {
  readonly region: string;
  readonly reason: string;
}

/** What is counted of a pool's regions: the calls that it promises not to make in steady state, and what it lost. */
export class RegionCounters {
  registerCalls = 0;
  reregistrations = 0;
  /** Regions that no request has used, and that could not be released. */
  readonly lost: Unproven[];

  /** `lost`: shared with others of the same pool. */
  constructor(lost: Unproven[] = []) {
    this.lost = lost;
  }
}
