import { join } from 'node:path';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { buildFakeLibnvjpeg } from '../fake-libnvjpeg/build.mjs';
import { compileTests, fine } from '../support/c-tests.js';

describeTier('driver', 'the fake nvJPEG itself', () => {
  const libcuda = buildFakeLibcuda();
  const tests = compileTests('fake-libnvjpeg', [libcuda, buildFakeLibnvjpeg()]);
  const env = {
    ZEROHOP_LIBCUDA: libcuda,
    SAMPLE: join(repositoryRoot, 'samples/sheet-4000000.jpg'),
    SAMPLE_WIDTH: '3840',
    SAMPLE_HEIGHT: '2160',
  };

  it.each(tests.names)('%s', async (name) => {
    expect(await tests.run(name, env)).toEqual(fine);
  });
});
