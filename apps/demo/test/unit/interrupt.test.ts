import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { Interrupt } from '../../src/interrupt.js';

describe('Interrupt', () => {
  let told: string[];
  let interrupt: Interrupt;
  let kill: MockInstance;
  let exit: MockInstance;

  beforeEach(() => {
    vi.useFakeTimers();
    kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
    told = [];
    interrupt = new Interrupt({
      onFirst: (name) => told.push(name),
      limitMs: 1000,
      onLate: () => told.push('late'),
    });
  });
  afterEach(() => {
    interrupt[Symbol.dispose]();
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  // Not by process.emit, which others listen to as well: the handler is what is tested.
  const receive = (name: NodeJS.Signals) => process.listeners(name).at(-1)?.(name);

  it('aborts its signal, and leaves the end to whoever closes in time', () => {
    receive('SIGTERM');
    expect(interrupt.signal.aborted).toBe(true);
    expect(interrupt.exitCode).toBe(143);
    interrupt[Symbol.dispose]();
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual(['SIGTERM']);
    expect(kill).not.toHaveBeenCalled();
    expect(exit).not.toHaveBeenCalled();
  });

  it('ends the process when closing takes longer than the limit', () => {
    const emit = vi.spyOn(process, 'emit').mockReturnValue(process);
    receive('SIGTERM');
    vi.advanceTimersByTime(999);
    expect(kill).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(told).toEqual(['SIGTERM', 'late']);
    expect(emit).toHaveBeenCalledWith('exit', 143);
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGTERM');
    expect(exit).toHaveBeenCalledWith(143);
    emit.mockRestore();
  });
});
