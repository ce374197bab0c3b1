import { onTestFinished } from 'vitest';

/** The process warnings of this test whose text contains `text`, as they come. */
export function warningsWith(text: string): { readonly code: string; readonly message: string }[] {
  const found: { code: string; message: string }[] = [];
  const onWarning = (warning: Error) => {
    if (warning.message.includes(text)) found.push(warning as Error & { code: string });
  };
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  return found;
}
