/** Makes every piece of work on a stream of the fake driver take `ms`. */
export function delayWork(ms: number): void {
  process.env.ZEROHOP_FAKE_WORK_DELAY_US = String(ms * 1000);
}

/** Takes all switches of the fakes back. */
export function resetFake(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('ZEROHOP_FAKE_')) process.env[name] = '';
}
