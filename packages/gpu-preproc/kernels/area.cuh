#pragma once
#include "write.cuh"

namespace zerohop {

// OpenCV's INTER_AREA as src/reference/area.ts defines it: the same operations on fp32 numbers in the same order.

/**
 * The source samples `start` to before `stop` that a target sample covers, of which those before `first` and from `end`
 * on in part.
 */
struct Cell {
  int start, first, end, stop;
  float before, inner, behind;  // weights

  HD float weight(int at) const { return at < first ? before : at < end ? inner : behind; }
};

/** Shares below this of a source sample are left out. */
constexpr double kSmallestShare = 1e-3;

/** Target sample `i` covers the source from `i * scale` to `(i + 1) * scale`. */
HD_CALLED Cell cell(int i, double scale, int source) {
  const double low = i * scale;
  const double high = low + scale;
  const double covered = fmin(scale, source - low);
  Cell c;
  c.end = static_cast<int>(fmin(floor(high), source - 1.0));
  c.first = static_cast<int>(fmin(ceil(low), static_cast<double>(c.end)));
  c.start = c.first - low > kSmallestShare ? c.first - 1 : c.first;
  c.stop = high - c.end > kSmallestShare ? c.end + 1 : c.end;
  c.before = static_cast<float>((c.first - low) / covered);
  c.inner = static_cast<float>(1 / covered);
  c.behind = static_cast<float>(fmin(fmin(high - c.end, 1.0), covered) / covered);
  return c;
}

/** Pixels summed with a weight for each column and each row. */
template <class Source, class Weight>
HD void sum_cell(const ImageJob& job, const uint8_t* source, const Cell& column, const Cell& line, const Weight& weight,
                 float* sums) {
  for (int c = 0; c < 3; c++) sums[c] = 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
  for (int y = line.start; y < line.stop; y++) {
    float across[3] = {0, 0, 0};
#ifdef __CUDACC__
#pragma unroll 2
#endif
    for (int x = column.start; x < column.stop; x++) {
      const Three pixel = Source::at(job, source, job.crop_x + x, job.crop_y + y);
      for (int c = 0; c < 3; c++) across[c] += static_cast<float>(pixel.v[c]) * weight(column, x);
    }
    for (int c = 0; c < 3; c++) sums[c] += across[c] * weight(line, y);
  }
}

/**
 * Where no side grows: the mean of what the pixel covers, halves to even. A whole number of pixels is summed without
 * weights; of exactly 2x2 pixels halves are rounded up.
 */
template <class Source>
HD Three mean(const ImageJob& job, const uint8_t* source, int x, int y) {
  const Cell column = cell(x, job.scale_x, job.crop_width);
  const Cell line = cell(y, job.scale_y, job.crop_height);
  const bool whole = job.crop_width % job.placed_width == 0 && job.crop_height % job.placed_height == 0;
  const bool two = job.crop_width == 2 * job.placed_width && job.crop_height == 2 * job.placed_height;
  const int across = job.crop_width / job.placed_width, down = job.crop_height / job.placed_height;
  const float share = static_cast<float>(1 / (static_cast<double>(across) * down));
  float sums[3];
  sum_cell<Source>(job, source, column, line, [=](const Cell& c, int at) { return whole ? 1.0f : c.weight(at); }, sums);
  Three out;
  for (int c = 0; c < 3; c++) {
    out.v[c] = two ? (static_cast<int>(sums[c]) + 2) >> 2
                   : clamp_to(round_even(whole ? sums[c] * share : sums[c]), 0, Depth<Source>::deep ? 65535 : 255);
  }
  return out;
}

/**
 * Where a side grows: a target sample within one source sample takes it alone, one across an edge what it covers of
 * each.
 */
HD_CALLED Tap area_tap(int i, double scale, int placed, int source) {
  const double ratio = static_cast<double>(placed) / source;
  const double whole = floor(i * scale);
  const float covered = static_cast<float>(i + 1 - (whole + 1) * ratio);
  return {static_cast<int>(whole), covered <= 0 ? 0 : covered - floorf(covered)};
}

struct AreaTaps {
  static HD Tap column(const ImageJob& job, int x) {
    return within_row(area_tap(x, job.scale_x, job.placed_width, job.crop_width), job.crop_width);
  }
  static HD Tap line(const ImageJob& job, int y) {
    return area_tap(y, job.scale_y, job.placed_height, job.crop_height);
  }
};

/** A placed pixel. */
template <class Source>
HD Three area(const ImageJob& job, const uint8_t* source, int x, int y) {
  if (job.placed_width <= job.crop_width && job.placed_height <= job.crop_height) {
    return mean<Source>(job, source, x, y);
  }
  return linear<Source, AreaTaps>(job, source, {job.crop_x, job.crop_y}, x, y);
}

/** Writes the tensor's pixel (x, y): of the picture, or padding. The datatype is known by its size. */
template <class Source>
HD void write_area(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y) {
  Three pixel = {{0, 0, 0}};
  const bool inside = in_picture(job, x, y);
  if (inside) pixel = area<Source>(job, source, x - job.left, y - job.top);
  if (job.element_bytes == 4) {
    write_pixel<Source, Float32>(job, output, table, x, y, inside, pixel);
  } else if (job.element_bytes == 2) {
    write_pixel<Source, Float16>(job, output, table, x, y, inside, pixel);
  } else {
    write_pixel<Source, Byte>(job, output, table, x, y, inside, pixel);
  }
}

}  // namespace zerohop
