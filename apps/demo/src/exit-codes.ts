/** What the process ends with. A signal ends it with 128 + its number. */
export const ExitCode = {
  ok: 0,
  /** Something that was asked for did not work: a bad image, a model that is not there, an error of the server. */
  failed: 1,
  /** The command line was wrong. */
  usage: 2,
  /** This machine or server lacks what was demanded: a GPU, room in /dev/shm, a Triton server. */
  environment: 3,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
