#pragma once
#include "sources.cuh"

namespace zerohop {

/** Samples around a pixel, and the pixel's three colours by bilinear demosaicing, halves up, as OpenCV does. */
struct Neighbourhood {
  int centre, left, right, top, bottom, diagonals;  // diagonals: the sum of four

  HD Three demosaic(bool red_column, bool red_row) const {
    if (red_column != red_row) {
      const int across = (left + right + 1) >> 1;
      const int down = (top + bottom + 1) >> 1;
      return red_row ? Three{{across, centre, down}} : Three{{down, centre, across}};
    }
    const int green = (left + right + top + bottom + 2) >> 2;
    const int other = (diagonals + 2) >> 2;
    return red_row ? Three{{centre, green, other}} : Three{{other, green, centre}};
  }
};

/**
 * A Bayer mosaic of `Sample`s. Pixels at the border are those of the nearest pixel that has all neighbours; the image
 * is at least 3 x 3.
 */
template <class Sample>
struct Bayer : InFours<Bayer<Sample>> {
  static constexpr int64_t kBytes = sizeof(Sample);

  static HD const uint8_t* address(const ImageJob& job, const uint8_t* source, int x, int y) {
    return source + job.source_offset + row_offset(job, y) + kBytes * x;
  }
  static HD Three at(const ImageJob& job, const uint8_t* source, int x, int y) {
    x = clamp_to(x, 1, job.image_width - 2);
    y = clamp_to(y, 1, job.image_height - 2);
    const uint8_t* p = address(job, source, x, y);
    const uint8_t* above = p - job.pitch;
    const uint8_t* below = p + job.pitch;
    const Neighbourhood n = {
        load<Sample>(p), load<Sample>(p - kBytes), load<Sample>(p + kBytes), load<Sample>(above), load<Sample>(below),
        load<Sample>(above - kBytes) + load<Sample>(above + kBytes) + load<Sample>(below - kBytes) +
            load<Sample>(below + kBytes)};
    return n.demosaic((x & 1) == job.red_x, (y & 1) == job.red_y);
  }
  /** The samples x - 1 to x + 4 of a row. */
  static HD void six(const uint8_t* p, int* out) {
    out[0] = load<Sample>(p - kBytes);
    out[5] = load<Sample>(p + 4 * kBytes);
    if (kBytes == 1) {
      const uint32_t word = load_four(p);
      for (int i = 0; i < 4; i++) out[1 + i] = byte_of(word, i);
    } else {
      const uint32_t words[2] = {load_four(p), load_four(p + 4)};
      for (int i = 0; i < 4; i++) out[1 + i] = (words[i / 2] >> (16 * (i % 2))) & 0xffff;
    }
  }
  static HD void four(const ImageJob& job, const uint8_t* source, int x, int y, Three* out) {
    if (x < 1 || x + 4 >= job.image_width) {
      for (int i = 0; i < 4; i++) out[i] = at(job, source, x + i, y);
      return;
    }
    y = clamp_to(y, 1, job.image_height - 2);
    const uint8_t* p = address(job, source, x, y);
    int above[6], row[6], below[6];
    six(p - job.pitch, above);
    six(p, row);
    six(p + job.pitch, below);
    for (int i = 0; i < 4; i++) {
      const Neighbourhood n = {row[i + 1], row[i], row[i + 2], above[i + 1], below[i + 1],
                               above[i] + above[i + 2] + below[i] + below[i + 2]};
      out[i] = n.demosaic(((x + i) & 1) == job.red_x, (y & 1) == job.red_y);
    }
  }
};

}  // namespace zerohop
