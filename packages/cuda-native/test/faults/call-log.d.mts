/** What the fake driver logs (ZEROHOP_FAKE_LOG), read bit by bit. */
export class CallLog {
  /** @param file that exists */
  constructor(file: string);
  /** What was logged since the last reading. */
  read(): {
    names: string[];
    onLoop: Set<string>;
    failed: { call: string; restoring: boolean; onLoop: boolean }[];
  };
  /** The context that is current on the JS thread, as far as was read: "none" or an ordinal. */
  readonly currentOnLoop: string;
  /** On how many threads some context is current, as far as was read. */
  readonly threadsWithContext: number;
  close(): void;
}
