import { TensorPool } from '@zerohop/shm-pool';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { TritonClient, tensor } from '@zerohop/triton-client';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { decodeImage, Preprocessor } from '../../src/index.js';
import { imageToTensor } from '../../src/reference.js';
import { noise } from '../noise.js';

describeTier('triton', 'a slot that a real server reads', () => {
  test('holds the reference tensor, and gives the same answer as that tensor sent in the message', async () => {
    const jpeg = await sharp(noise(1, 3 * 1280 * 900), { raw: { width: 1280, height: 900, channels: 3 } })
      .blur(4)
      .jpeg()
      .toBuffer();
    await using client = new TritonClient(sharedTriton().grpcUrl);
    await using pool = await TensorPool.open(client, { model: 'defects', slots: 1, transport: 'system' });
    await using pre = await Preprocessor.create({ target: pool.input('images') });

    using lease = await pool.acquire();
    const geometry = await pre.run(jpeg, lease.input('images'));
    const written = await lease.input<'FP32'>('images').read();
    const reply = await lease.infer();
    const answer = await reply.output<'FP32'>('output0').read();

    const expected = new Int32Array(3 * 2160 * 3840);
    imageToTensor(
      await decodeImage(jpeg),
      {
        width: 3840,
        height: 2160,
        resize: 'letterbox',
        interpolation: 'linear',
        colorOrder: 'RGB',
        pad: [114, 114, 114],
        datatype: 'FP32',
      },
      expected,
    );
    expect(geometry).toMatchObject({ left: 384, top: 0, width: 3072, height: 2160 });
    expect(
      Buffer.compare(Buffer.from(written.buffer, written.byteOffset, written.byteLength), Buffer.from(expected.buffer)),
    ).toBe(0);

    const sent = tensor('FP32', [1, 3, 2160, 3840], new Float32Array(expected.buffer));
    const byMessage = await client.infer('defects', { inputs: { images: sent } });
    expect(
      Buffer.compare(
        byMessage.output('output0').bytes,
        new Uint8Array(answer.buffer, answer.byteOffset, answer.byteLength),
      ),
    ).toBe(0);
  });
});
