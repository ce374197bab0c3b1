import { expect, test } from 'vitest';
import { run } from '../support/child.js';

test('the tests and their child processes run on the Node that they were started for', async () => {
  const wanted = process.env.ZEROHOP_TEST_NODE ?? process.versions.node;
  const { stdout } = await run('console.log(process.versions.node);');
  expect([process.versions.node, stdout.trim()]).toEqual([wanted, wanted]);
});
