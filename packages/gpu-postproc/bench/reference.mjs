// How long the CPU path takes on this machine, one thread: node bench/reference.mjs (after a build).
import { availableParallelism, cpus } from 'node:os';
import { decodeYolov8, greedyNms } from '../dist/reference.js';

const ROUNDS = 15;

function median(work) {
  const times = [];
  for (let i = 0; i < ROUNDS + 20; i++) {
    const start = performance.now();
    work();
    // The first rounds also compile.
    if (i >= 20) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1].toFixed(1);
}

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** A head's output in which about `candidates` anchors lie around 200 objects and score above 0.25. */
function head(classes, anchors, candidates) {
  const data = new Float32Array((4 + classes) * anchors);
  for (let a = 0; a < anchors; a++) {
    const object = Math.floor(random() * 200);
    data[a] = 100 + (object % 20) * 180 + random() * 8;
    data[anchors + a] = 100 + Math.floor(object / 20) * 200 + random() * 8;
    data[2 * anchors + a] = 60 + random() * 20;
    data[3 * anchors + a] = 60 + random() * 20;
    for (let c = 0; c < classes; c++) data[(4 + c) * anchors + a] = random() * 0.2;
    if (random() < candidates / anchors) {
      data[(4 + Math.floor(random() * classes)) * anchors + a] = 0.25 + random() * 0.75;
    }
  }
  return { data, shape: [1, 4 + classes, anchors] };
}

console.log(`${cpus()[0].model}, ${availableParallelism()} CPUs, Node ${process.version}; median of ${ROUNDS}, ms`);
for (const [classes, anchors, wanted] of [
  [80, 8400, 300],
  [4, 162_000, 300],
  [4, 162_000, 30_000],
]) {
  const { data, shape } = head(classes, anchors, wanted);
  let kept = 0;
  let candidates = 0;
  const time = median(() => {
    const found = decodeYolov8(data, shape, { scoreThreshold: 0.25 });
    candidates = found.scores.length;
    kept = greedyNms(found.boxes, found.scores, {
      iouThreshold: 0.45,
      classIds: found.classIds,
      maxCandidates: 30_000,
      maxDetections: 300,
    }).indices.length;
  });
  console.log(`[${shape}] FP32, ${candidates} candidates -> ${kept} detections: ${time}`);
}
