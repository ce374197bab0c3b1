/**
 * What ends a real server's process. Here whoever runs the request reports it: connections end, regions are forgotten, and
 * this process goes on.
 */
export class EmulatedCrash extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'EmulatedCrash';
  }
}
