/** How long the JS thread works before it lets timers and I/O run, in ms. */
const TURN_MS = 8;

interface Task {
  /** Does a few milliseconds of work and tells whether it was the last. */
  readonly step: () => boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Tasks that are not done; after each turn the first goes to the end, so that a long one does not keep the others waiting. */
const tasks: Task[] = [];
let scheduled = false;

/**
 * Does work on the JS thread in turns, with the event loop in between, for all callers together: fifty conversions at once
 * take as long as one after the other, and still no turn is longer than one step more than 8 ms. Begins at once when
 * nothing else had a turn in this round of the event loop. Rejects with what `step` throws.
 */
export function inTurns(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    tasks.push({ step, resolve, reject });
    if (!scheduled) turn();
  });
}

function turn(): void {
  // Also when no task is left: what comes in the same round of the event loop has to wait for the next.
  scheduled = true;
  setImmediate(next);
  const end = performance.now() + TURN_MS;
  do advance();
  while (tasks.length > 0 && performance.now() < end);
  const first = tasks.shift();
  if (first !== undefined) tasks.push(first);
}

function next(): void {
  if (tasks.length > 0) turn();
  else scheduled = false;
}

function advance(): void {
  const [task] = tasks;
  if (task === undefined) return;
  try {
    if (!task.step()) return;
    task.resolve();
  } catch (error) {
    task.reject(error);
  }
  tasks.shift();
}
