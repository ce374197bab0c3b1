// What the tests of the driver tier need of the tours.
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { runLateChild, runTours, withPeer } from './children.mjs';
import { allFunctions } from './functions.mjs';
import { judge } from './judge.mjs';
import { sampleFaults, totals, tryAll } from './plan.mjs';
import { sections } from './sections.mjs';

export { allFunctions };

const names = (functions) => functions.map(({ name }) => name);

export async function tour({ old = false } = {}) {
  // Other memory is opened by a handle, which both drivers understand.
  const peerLibcuda = buildFakeLibcuda();
  const libcuda = old ? buildFakeLibcuda({ old: true }) : peerLibcuda;
  // Last, because it may load the driver on the JS thread.
  const only = [...Object.keys(sections).filter((name) => name !== 'driver'), 'driver'];
  return withPeer(peerLibcuda, async (peer) => {
    const { outcomes, problem } = await runTours({ libcuda, old, peer, rounds: [{ fault: '', only }] });
    const [outcome] = outcomes;
    if (outcome === undefined || problem !== undefined) throw new Error(problem);
    return { problems: judge(outcome).problems, called: Object.keys(totals(outcome.counts)), onLoop: outcome.onLoop };
  });
}

export async function trySample() {
  const libcuda = buildFakeLibcuda();
  return withPeer(libcuda, async (peer) => {
    const { outcomes, problem } = await runTours({ libcuda, peer, rounds: [{ fault: '' }, { fault: '' }] });
    if (problem !== undefined) throw new Error(problem);
    const [cold, warm] = outcomes.map(({ counts }) => counts);
    return tryAll({ libcuda, peer }, sampleFaults(names(allFunctions()), cold, warm));
  });
}

/** Those that only the first round of a process calls. */
const OPENING = ['cuInit', 'cuDevicePrimaryCtxRetain'];

/** One process for each of these, and the other rounds dealt out to them. */
function deal(rounds) {
  const first = rounds.filter((round) => OPENING.includes(round));
  const rest = rounds.filter((round) => !OPENING.includes(round));
  if (first.length === 0) return [rounds];
  return first.map((round, i) => [round, ...rest.filter((_, j) => j % first.length === i)]);
}

export async function runLate(rounds) {
  const libcuda = buildFakeLibcuda();
  return withPeer(libcuda, async (peer) => {
    const children = deal(rounds).map((mine) => runLateChild({ libcuda, peer, rounds: mine }));
    return (await Promise.all(children)).flat();
  });
}
