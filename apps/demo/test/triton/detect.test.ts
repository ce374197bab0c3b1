import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier, type Snapshot, sharedTriton, takeSnapshot } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import sharp from 'sharp';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DetectReport } from '../../src/report.js';
import { parseKnownObjects } from '../../src/self-check.js';
import { differences, iou } from '../support/boxes.js';
import { expectNothingLeftOfCli, runCli, startCli } from '../support/cli.js';
import { foundOnCpu, groundTruth, samplePaths } from '../support/samples.js';

let folder: string;
let before: Snapshot;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-detect-'));
  before = takeSnapshot();
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await expectNothingLeftOfCli(before);
});

describeTier('triton', 'zerohop detect', () => {
  it('finds the defects of the samples, and draws them', async () => {
    const { code, stdout, stderr } = await runCli(
      ['detect', ...samplePaths, '--url', sharedTriton().grpcUrl, '--json=result.json', '--out', 'out'],
      { cwd: folder },
    );
    expect(stderr).toBe('Checking the pipeline with a known picture\n');
    expect(code).toBe(0);
    const { results, failures } = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')) as DetectReport;
    expect(failures).toBeUndefined();
    expect(results.map(({ image }) => image.path)).toEqual(samplePaths);

    let objects = 0;
    let found = 0;
    const classesFound = new Set<string>();
    for (const [i, truth] of groundTruth.images.entries()) {
      const result = results[i];
      expect(result?.image).toMatchObject({ width: truth.width, height: truth.height });
      for (const object of truth.objects) {
        objects++;
        const hit = result?.detections.some(
          ({ classId, label, box }) =>
            classId === object.classId && label === object.label && iou(box, object.box) >= 0.5,
        );
        if (hit !== true) continue;
        found++;
        classesFound.add(object.label);
      }
    }
    for (const [i, { image, detections }] of results.entries()) {
      const recorded = differences(detections, foundOnCpu.results[i]?.detections ?? []);
      expect({ image: image.path, recorded }).toEqual({ image: image.path, recorded: [] });
    }
    expect([...classesFound].sort()).toEqual(['dent', 'pit', 'scratch', 'stain']);
    expect(found / objects).toBeGreaterThanOrEqual(0.8);

    expect(results[0]).toEqual({
      transport: 'system',
      reason: expect.stringMatching(/\S/),
      server: { name: 'triton', version: expect.stringMatching(/^\d+\.\d+/) },
      model: 'defects',
      image: expect.anything(),
      detections: expect.anything(),
      timings: {
        decode: expect.any(Number),
        preprocess: expect.any(Number),
        infer: expect.any(Number),
        postprocess: expect.any(Number),
        total: expect.any(Number),
      },
      annotated: join('out', `${(groundTruth.images[0]?.file ?? '').replace(/\.\w+$/, '')}.annotated.jpg`),
    });
    for (const { annotated, timings, detections } of results) {
      const { decode, preprocess, infer, postprocess, total } = timings;
      expect(Math.min(decode, preprocess, infer, postprocess)).toBeGreaterThan(0);
      expect(total).toBeCloseTo(decode + preprocess + infer + postprocess, 0);
      const picture = sharp(join(folder, annotated ?? ''));
      expect(await picture.metadata()).toMatchObject({ format: 'jpeg', width: 3840, height: 2160 });
      const { data } = await picture.raw().toBuffer({ resolveWithObject: true });
      for (const { box } of detections) expect(isFramed(data, 3840, box)).toBe(true);
    }
    for (const line of [/^server {5}triton 2\.\d+/m, /^transport {2}system shared memory/m, /^ {2}label +score/m]) {
      expect(stdout).toMatch(line);
    }
    expect(readdirSync(folder).sort()).toEqual(['out', 'result.json']);
  });

  it('has a known answer for the self-check of the model that comes with it', async () => {
    const client = new TritonClient(sharedTriton().grpcUrl);
    try {
      const { parameters } = await client.modelConfig('defects');
      const known = parseKnownObjects(parameters.self_check ?? '');
      expect(new Set(known.map(({ classId }) => classId)).size).toBeGreaterThan(1);
    } finally {
      await client.close();
    }
  });

  it('finds the same by system shared memory and in the message, with nothing but JSON on stdout', async () => {
    const found = [];
    for (const transport of ['system', 'bytes']) {
      const words = [
        'detect',
        samplePaths[0] as string,
        '--url',
        sharedTriton().grpcUrl,
        '--transport',
        transport,
        '--json',
      ];
      const { code, stdout } = await runCli(words);
      expect(code).toBe(0);
      const { results } = JSON.parse(stdout) as DetectReport;
      expect(results).toHaveLength(1);
      expect(results[0]?.transport).toBe(transport);
      found.push(results[0]?.detections ?? []);
    }
    const [system = [], bytes = []] = found;
    expect(system.length).toBeGreaterThan(0);
    expect(differences(system, bytes)).toEqual([]);
  });

  it('takes a picture of another size and boxes come in its pixels', async () => {
    const truth = groundTruth.images[0];
    const margin = 300;
    const picture = join(folder, 'wider.png');
    await sharp(samplePaths[0] as string)
      .extend({ top: margin, bottom: margin, left: margin, right: margin, extendWith: 'mirror' })
      .png({ compressionLevel: 1 })
      .toFile(picture);
    const { code, stdout } = await runCli(['detect', picture, '--url', sharedTriton().grpcUrl, '--json']);
    expect(code).toBe(0);
    const [result] = (JSON.parse(stdout) as DetectReport).results;
    expect(result?.image).toMatchObject({ width: 3840 + 2 * margin, height: 2160 + 2 * margin });
    const hits = truth?.objects.filter((object) => {
      const [x1, y1, x2, y2] = object.box.map((v) => v + margin) as [number, number, number, number];
      return result?.detections.some(({ box }) => iou(box, [x1, y1, x2, y2]) >= 0.5);
    });
    expect(hits?.length).toBeGreaterThan(0);
  });

  it('uses labels and thresholds that it is given', async () => {
    const labels = join(folder, 'labels.txt');
    writeFileSync(labels, 'Kratzer\nGrübchen\nDelle\nFleck\n');
    const words = ['detect', samplePaths[0] as string, '--url', sharedTriton().grpcUrl, '--json', '--labels', labels];
    const { stdout } = await runCli([...words, '--score', '0.6']);
    const [result] = (JSON.parse(stdout) as DetectReport).results;
    expect(result?.detections.length).toBeGreaterThan(0);
    for (const { label, classId, score } of result?.detections ?? []) {
      expect(label).toBe(['Kratzer', 'Grübchen', 'Delle', 'Fleck'][classId]);
      expect(score).toBeGreaterThan(0.6);
    }
  });

  it('starts a server of its own when it is given none, and ends it', async () => {
    const { code, stdout, stderr } = await runCli(['detect', samplePaths[0] as string, '--json']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^The Triton server is ready after [\d.]+ s$/m);
    expect((JSON.parse(stdout) as DetectReport).results[0]?.detections.length).toBeGreaterThan(0);
  });

  it('goes on after a bad image, and tells', async () => {
    const words = ['detect', 'none.jpg', samplePaths[0] as string, folder, '--url', sharedTriton().grpcUrl, '--json'];
    const { code, stdout, stderr } = await runCli(words);
    expect(code).toBe(1);
    const { results, failures } = JSON.parse(stdout) as DetectReport;
    expect(results.map(({ image }) => image.path)).toEqual([samplePaths[0]]);
    expect(failures).toEqual([
      { path: 'none.jpg', code: 'ERR_FILE_NOT_FOUND', message: 'none.jpg does not exist; check the path.' },
      { path: folder, code: 'ERR_FILE_UNREADABLE', message: `${folder} is a directory; name the files in it instead.` },
    ]);
    expect(stderr.match(/^zerohop: .*$/gm)).toEqual(failures?.map(({ message }) => `zerohop: ${message}`));
  });

  it('does not mind a reader that goes away', async () => {
    const words = ['detect', samplePaths[0] as string, '--url', sharedTriton().grpcUrl];
    const { child, ended } = startCli(words);
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ code: 0, stderr: 'Checking the pipeline with a known picture\n' });
  });
});

/** Whether most of the frame round a box is drawn in colour: the sheets are grey. */
function isFramed(data: Buffer, width: number, [x1, y1, x2, y2]: readonly [number, number, number, number]): boolean {
  const height = data.length / 3 / width;
  let inside = 0;
  let colored = 0;
  for (const t of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    const x = Math.round(x1 + t * (x2 - x1));
    const y = Math.round(y1 + t * (y2 - y1));
    for (const [u, v] of [
      [x, Math.floor(y1) - 2],
      [x, Math.ceil(y2) + 2],
      [Math.floor(x1) - 2, y],
      [Math.ceil(x2) + 2, y],
    ] as const) {
      if (u < 0 || v < 0 || u >= width || v >= height) continue;
      inside++;
      const pixel = [...data.subarray((v * width + u) * 3, (v * width + u) * 3 + 3)];
      if (Math.max(...pixel) - Math.min(...pixel) > 60) colored++;
    }
  }
  return colored > inside / 2;
}
