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
    return Element::encode(job, normalised16<Element>(job, component, value));
  } else {
    if (table != nullptr) return look_up<typename Element::Bits>(job, table, component, value);
    return Element::encode(job, Element::plain(job, value));
  }
}

/** One component of `kGroup` pixels. fp16 is rounded in pairs: one instruction for two. */
template <class Source, class Element>
HD void fill_group(Group<Element>& group, const ImageJob& job, const void* table, int component, const Three* pixels) {
  if constexpr (sizeof(typename Element::Bits) == 2) {
    if (Depth<Source>::deep || table == nullptr) {
      for (int i = 0; i < Group<Element>::kWords; i++) {
        const int low = pixels[2 * i].v[component], high = pixels[2 * i + 1].v[component];
        if constexpr (Depth<Source>::deep) {
          group.words[i] =
              half_pair(normalised16<Element>(job, component, low), normalised16<Element>(job, component, high));
        } else {
          group.words[i] = half_pair(Element::plain(job, low), Element::plain(job, high));
        }
      }
      return;
    }
  }
  group.clear();
  for (int i = 0; i < Element::kGroup; i++) {
    group.set(i, element<Source, Element>(job, table, component, pixels[i].v[component]));
  }
}

template <class Source, class Taps>
HD Three linear(const ImageJob& job, const uint8_t* source, Origin origin, int x, int y) {
  if constexpr (Depth<Source>::deep) {
    return linear16<Source, Taps>(job, source, origin, x, y);
  } else {
    return linear8<Source, Taps>(job, source, origin, x, y);
  }
}

/** A placed pixel. Only `General` ones may be asked for INTER_NEAREST. */
template <class Source, bool General>
HD Three resized(const ImageJob& job, const uint8_t* source, int x, int y) {
  const Origin origin = {job.crop_x, job.crop_y};
  if constexpr (General) {
    if (job.nearest != 0) return nearest<Source>(job, source, origin, x, y);
  }
  return linear<Source, LinearTaps>(job, source, origin, x, y);
}

/** Whether the picture covers the tensor's pixel (x, y). */
HD bool in_picture(const ImageJob& job, int x, int y) {
  const int px = x - job.left;
  const int py = y - job.top;
  return px >= 0 && py >= 0 && px < job.placed_width && py < job.placed_height;
}

/** Writes the tensor's pixel (x, y): `pixel`, or where that is not `inside` padding. */
template <class Source, class Element>
HD void write_pixel(const ImageJob& job, void* output, const void* table, int x, int y, bool inside,
                    const Three& pixel) {
  using Bits = typename Element::Bits;
  Bits* to = static_cast<Bits*>(output) + pixel_offset(job, x, y);
#ifdef __CUDACC__
#pragma unroll 1
#endif
  for (int c = 0; c < job.planes; c++) {
    to[job.plane_offset[c]] =
        inside ? element<Source, Element>(job, table, c, pixel.v[c]) : static_cast<Bits>(job.pad[c]);
  }
}

/** Writes the tensor's pixel (x, y): of the picture, or padding. */
template <class Source, class Element, bool General>
HD void write_resized(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y) {
  using Bits = typename Element::Bits;
  Bits* to = static_cast<Bits*>(output) + pixel_offset(job, x, y);
  const int px = x - job.left;
  const int py = y - job.top;
  if (px < 0 || py < 0 || px >= job.placed_width || py >= job.placed_height) {
    to[job.plane_offset[0]] = static_cast<Bits>(job.pad[0]);
    if (job.planes == 1) return;
    to[job.plane_offset[1]] = static_cast<Bits>(job.pad[1]);
    to[job.plane_offset[2]] = static_cast<Bits>(job.pad[2]);
    return;
  }
  const Three pixel = resized<Source, General>(job, source, px, py);
  to[job.plane_offset[0]] = element<Source, Element>(job, table, 0, pixel.v[0]);
  if (job.planes == 1) return;
  to[job.plane_offset[1]] = element<Source, Element>(job, table, 1, pixel.v[1]);
  to[job.plane_offset[2]] = element<Source, Element>(job, table, 2, pixel.v[2]);
}

/**
 * Writes `kGroup` pixels from x on of row y of one tile, as far as there are so many. The picture fills the tensor
 * unscaled.
 */
template <class Source, class Element>
HD void write_direct(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y,
                     int tile) {
  using Bits = typename Element::Bits;
  constexpr int kGroup = Element::kGroup;
  Bits* to = static_cast<Bits*>(output) + tile * job.tile_stride + pixel_offset(job, x, y);
  const Origin origin = origin_of(job, tile);
  if (x + kGroup > job.target_width) {
    for (int i = 0; x + i < job.target_width; i++) {
      const Three pixel = Source::at(job, source, origin.x + x + i, origin.y + y);
      for (int c = 0; c < job.planes; c++) {
        to[job.plane_offset[c] + i * job.pixel_stride] = element<Source, Element>(job, table, c, pixel.v[c]);
      }
    }
    return;
  }
  Three pixels[kGroup];
  if constexpr (kGroup == 8) {
    Source::eight(job, source, origin.x + x, origin.y + y, pixels);
  } else {
    Source::four(job, source, origin.x + x, origin.y + y, pixels);
  }
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int c = 0; c < 3; c++) {
    if (c >= job.planes) return;
    Group<Element> group;
    fill_group<Source, Element>(group, job, table, c, pixels);
    group.store(to + job.plane_offset[c], job.pixel_stride);
  }
}

}  // namespace zerohop
