// Which memory a job reads and writes: from the first to the last byte, computed from the job alone.
#pragma once

#include <algorithm>

#include "../../kernels/bayer.cuh"

namespace zerohop {

/** Bytes from `start` on, up to `end`. Kernels read the whole words of 4 bytes that have a part in it. */
struct Footprint {
  const uint8_t* start;
  const uint8_t* end;
};

/** From one pixel to another of a source whose pixels take `bytes`, both included. */
template <class Source>
Footprint from_to(const ImageJob& job, const uint8_t* source, int x0, int y0, int x1, int y1, int64_t bytes) {
  return {Source::address(job, source, x0, y0), Source::address(job, source, x1, y1) + bytes};
}

template <class Source>
struct Crop {
  static Footprint read(const ImageJob& job, const uint8_t* source, int64_t bytes) {
    return from_to<Source>(job, source, job.crop_x, job.crop_y, job.crop_x + job.crop_width - 1,
                           job.crop_y + job.crop_height - 1, bytes);
  }
};

/** How each source reads the pixels of a crop. */
template <class Source>
struct Reads;

template <>
struct Reads<Rgb8> {
  static Footprint of(const ImageJob& job, const uint8_t* source) { return Crop<Rgb8>::read(job, source, 3); }
};

template <>
struct Reads<Rgba8> {
  static Footprint of(const ImageJob& job, const uint8_t* source) { return Crop<Rgba8>::read(job, source, 4); }
};

template <>
struct Reads<Gray8> {
  static Footprint of(const ImageJob& job, const uint8_t* source) { return Crop<Gray8>::read(job, source, 1); }
};

template <>
struct Reads<Planar8> {
  static Footprint of(const ImageJob& job, const uint8_t* source) {
    const Footprint first = Crop<Gray8>::read(job, source, 1);
    return {first.start, first.end + 2 * job.plane_pitch};
  }
};

template <>
struct Reads<Nv12> {
  static Footprint of(const ImageJob& job, const uint8_t* source) {
    const Footprint luma = Crop<Gray8>::read(job, source, 1);
    const int x1 = job.crop_x + job.crop_width - 1, y1 = job.crop_y + job.crop_height - 1;
    return {std::min(luma.start, Nv12::chroma(job, source, job.crop_x, job.crop_y)),
            std::max(luma.end, Nv12::chroma(job, source, x1, y1) + 2)};
  }
};

template <int Components>
struct Reads<Deep<Components>> {
  static Footprint of(const ImageJob& job, const uint8_t* source) {
    return Crop<Deep<Components>>::read(job, source, 2 * Components);
  }
};

/** With the neighbours; at the border those of the nearest pixel that has all. */
template <class Sample>
struct Reads<Bayer<Sample>> {
  static Footprint of(const ImageJob& job, const uint8_t* source) {
    const auto inner = [](int at, int size) { return clamp_to(at, 1, size - 2); };
    return from_to<Bayer<Sample>>(job, source, inner(job.crop_x, job.image_width) - 1,
                                  inner(job.crop_y, job.image_height) - 1,
                                  inner(job.crop_x + job.crop_width - 1, job.image_width) + 1,
                                  inner(job.crop_y + job.crop_height - 1, job.image_height) + 1, sizeof(Sample));
  }
};

/** Elements of the tensor, or of a job's tiles, from the first to behind the last one written. */
struct Elements {
  int64_t start;
  int64_t end;
};

inline Elements written(const ImageJob& job, int64_t rows, int64_t tiles) {
  const auto [first, last] = std::minmax_element(job.plane_offset, job.plane_offset + job.planes);
  return {job.output_offset + *first, job.output_offset + *last + (tiles - 1) * job.tile_stride +
                                          (rows - 1) * job.row_stride +
                                          static_cast<int64_t>(job.target_width - 1) * job.pixel_stride + 1};
}

}  // namespace zerohop
