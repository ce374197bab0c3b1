import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testModels } from '@zerohop/test-support';

const TWINS = join(import.meta.dirname, '../twins');
const CONFORMANCE = join(import.meta.dirname, '../../../triton-client/test/conformance/models');

/** Models whose code is another one's. */
const SAME_CODE: Readonly<Record<string, string>> = { identity_64: 'identity', echo_bytes: 'identity' };

/** The real servers' test models with their code in JavaScript: the same folders, configurations and labels. */
export class TwinRepository {
  readonly path = mkdtempSync(join(tmpdir(), 'zerohop-twins-'));

  /** @param names the models; all that have a twin, and ensembles, when there are none */
  constructor(names?: readonly string[]) {
    for (const source of [testModels, CONFORMANCE]) {
      for (const name of readdirSync(source)) {
        const config = join(source, name, 'config.pbtxt');
        if (!existsSync(config) || names?.includes(name) === false) continue;
        const code = join(TWINS, `${SAME_CODE[name] ?? name}.mjs`);
        mkdirSync(join(this.path, name, '1'), { recursive: true });
        for (const file of readdirSync(join(source, name), { withFileTypes: true })) {
          if (file.isFile()) copyFileSync(join(source, name, file.name), join(this.path, name, file.name));
        }
        if (existsSync(code)) copyFileSync(code, join(this.path, name, '1', 'model.mjs'));
      }
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
