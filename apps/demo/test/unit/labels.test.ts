import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseLabels, resolveLabels } from '../../src/labels.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-labels-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('parseLabels', () => {
  it('takes one a line, in order', () => {
    expect(parseLabels('scratch\r\npit \n\ndent\n\n')).toEqual(['scratch', 'pit', '', 'dent']);
    expect(parseLabels(' \n')).toEqual([]);
  });
});

describe('resolveLabels', () => {
  const model = { model: 'nobody-has-this', parameters: { labels: 'cat, dog' }, classCount: 2 };

  it('prefers the file', async () => {
    const file = join(folder, 'l.txt');
    writeFileSync(file, 'a\nb\n');
    expect(await resolveLabels({ ...model, file })).toEqual(['a', 'b']);
  });

  it("takes the model's own, and numbers when there are none that fit", async () => {
    expect(await resolveLabels(model)).toEqual(['cat', 'dog']);
    expect(await resolveLabels({ ...model, classCount: 3 })).toEqual(['class 0', 'class 1', 'class 2']);
    expect(await resolveLabels({ ...model, parameters: {} })).toEqual(['class 0', 'class 1']);
  });

  it('refuses a file that does not fit', async () => {
    const file = join(folder, 'l.txt');
    writeFileSync(file, 'a\nb\nc\n');
    await expect(resolveLabels({ ...model, file })).rejects.toMatchObject({
      code: 'ERR_LABELS',
      message: expect.stringMatching(/l\.txt has 3 labels but model "nobody-has-this" has 2 classes/),
    });
    await expect(resolveLabels({ ...model, file: join(folder, 'none') })).rejects.toMatchObject({
      code: 'ERR_FILE_NOT_FOUND',
    });
  });
});
