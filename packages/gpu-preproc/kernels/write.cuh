#pragma once
#include "bayer.cuh"
#include "elements.cuh"
#include "linear.cuh"

namespace zerohop {

/** How deep a source's samples are: what makes elements of them, and what lies between pixels. */
template <class Source>
struct Depth {
  static constexpr bool deep = false;
};
template <int Components>
struct Depth<Deep<Components>> {
  static constexpr bool deep = true;
};
template <>
struct Depth<Bayer<uint16_t>> {
  static constexpr bool deep = true;
};

template <class Source, class Element>
HD typename Element::Bits element(const ImageJob& job, const void* table, int component, int value) {
  if constexpr (Depth<Source>::deep) {
    return element16<Element>(job, component, value);
  } else {
    return element8<Element>(job, table, component, value);
  }
}

/** Writes the tensor's pixel (x, y) of one tile: of the picture, or padding. */
template <class Source, class Element>
HD void write_resized(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y,
                      int tile) {
  using Bits = typename Element::Bits;
  Bits* to = static_cast<Bits*>(output) + pixel_offset(job, tile, x, y);
  const int px = x - job.left;
  const int py = y - job.top;
  if (px < 0 || py < 0 || px >= job.placed_width || py >= job.placed_height) {
    to[job.plane_offset[0]] = static_cast<Bits>(job.pad[0]);
    if (job.planes == 1) return;
    to[job.plane_offset[1]] = static_cast<Bits>(job.pad[1]);
    to[job.plane_offset[2]] = static_cast<Bits>(job.pad[2]);
    return;
  }
  const Origin origin = origin_of(job, tile);
  Three pixel;
  if (job.nearest != 0) {
    pixel = nearest<Source>(job, source, origin, px, py);
  } else if constexpr (Depth<Source>::deep) {
    pixel = linear16<Source>(job, source, origin, px, py);
  } else {
    pixel = linear8<Source>(job, source, origin, px, py);
  }
  to[job.plane_offset[0]] = element<Source, Element>(job, table, 0, pixel.v[0]);
  if (job.planes == 1) return;
  to[job.plane_offset[1]] = element<Source, Element>(job, table, 1, pixel.v[1]);
  to[job.plane_offset[2]] = element<Source, Element>(job, table, 2, pixel.v[2]);
}

/** Writes the pixels x to x + 3 of row y of one tile, as far as there are so many. The picture fills the tensor unscaled. */
template <class Source, class Element>
HD void write_direct(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y,
                     int tile) {
  using Bits = typename Element::Bits;
  Bits* to = static_cast<Bits*>(output) + pixel_offset(job, tile, x, y);
  const Origin origin = origin_of(job, tile);
  if (x + 4 > job.target_width) {
    for (int i = 0; x + i < job.target_width; i++) {
      const Three pixel = Source::at(job, source, origin.x + x + i, origin.y + y);
      for (int c = 0; c < job.planes; c++) {
        to[job.plane_offset[c] + i * job.pixel_stride] = element<Source, Element>(job, table, c, pixel.v[c]);
      }
    }
    return;
  }
  Three pixels[4];
  Source::four(job, source, origin.x + x, origin.y + y, pixels);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int c = 0; c < 3; c++) {
    if (c >= job.planes) return;
    Bits bits[4];
    for (int i = 0; i < 4; i++) bits[i] = element<Source, Element>(job, table, c, pixels[i].v[c]);
    Bits* plane = to + job.plane_offset[c];
    if (job.pixel_stride == 1) {
      store_four(plane, bits);
    } else {
      for (int i = 0; i < 4; i++) plane[i * job.pixel_stride] = bits[i];
    }
  }
}

}  // namespace zerohop
