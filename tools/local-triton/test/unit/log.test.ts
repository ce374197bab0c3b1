import { describe, expect, test } from 'vitest';
import { judgeLog } from '../../src/log.js';

describe('judgeLog', () => {
  test.each([
    {
      kind: 'library',
      log: '/x/tritonserver: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file: No such file or directory',
      line: 'error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file: No such file or directory',
    },
    {
      kind: 'model',
      log: 'I1129 20:36:01.231303 13479 model_lifecycle.cc:472] "loading: identity:1"\nE1129 20:36:01.287196 13479 model_lifecycle.cc:642] "failed to load \'identity\' version 1: Internal: ModuleNotFoundError: No module named \'numpy\'\\n\\nAt:\\n  model.py(3)"\nerror: creating server: Internal - failed to load all models',
      line: "failed to load 'identity' version 1: Internal: ModuleNotFoundError: No module named 'numpy'",
    },
    {
      kind: 'port',
      log: 'E1129 20:36:01.287196 13479 main.cc:1] "failed to start HTTP service: Unavailable - Socket \'127.0.0.1:8000\' already in use "',
      line: "failed to start HTTP service: Unavailable - Socket '127.0.0.1:8000' already in use",
    },
    {
      kind: 'other',
      log: 'error: creating server: no model repository',
      line: 'error: creating server: no model repository',
    },
    {
      kind: 'other',
      log: 'E1129 22:12:04.324543 14326 server.cc:241] "CudaDriverHelper has not been initialized."\nE1129 22:12:05.324543 14326 x.cc:1] "what it was"\nI1129 22:12:06.324543 14326 x.cc:1] "more"',
      line: 'what it was',
    },
    { kind: 'other', log: 'last words', line: 'last words' },
    { kind: 'other', log: '', line: '' },
  ])('$kind: $line', ({ kind, log, line }) => {
    expect(judgeLog(log)).toEqual({ kind, line });
  });
});
