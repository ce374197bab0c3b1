// The kernels' entry points by name, as functions of one thread: for programs and libraries that g++ compiles. What
// entry.cuh declares for the device is added here in the same way.
#pragma once

#include <map>
#include <string>

#include "../../kernels/area.cuh"
#include "footprints.h"

namespace zerohop {

using Write = void (*)(const ImageJob&, const uint8_t*, void*, const void*, int, int, int);

struct Entry {
  Write write;
  // Of a row, in one thread.
  int pixels;
  // Takes ImageJobs, of which z is the index, instead of one job, of which z is the tile.
  bool batch;
  // 0: as the job says.
  int element_bytes;
  Footprint (*reads)(const ImageJob&, const uint8_t*);
};

using Entries = std::map<std::string, Entry>;

template <class Source, class Element, bool General>
void write_one(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y, int) {
  write_resized<Source, Element, General>(job, source, output, table, x, y);
}

template <class Source>
void write_mean(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y, int) {
  write_area<Source>(job, source, output, table, x, y);
}

template <class Source, class Element>
void add_element(Entries& entries, const std::string& name) {
  constexpr int kBytes = sizeof(typename Element::Bits);
  const auto reads = Reads<Source>::of;
  entries["resized_" + name] = {write_one<Source, Element, false>, 1, false, kBytes, reads};
  entries["direct_" + name] = {write_direct<Source, Element>, Element::kGroup, false, kBytes, reads};
  entries["batch_" + name] = {write_one<Source, Element, true>, 1, true, kBytes, reads};
}

template <class Source>
void add_all(Entries& entries, const std::string& name) {
  add_element<Source, Float32>(entries, name + "_f32");
  add_element<Source, Float16>(entries, name + "_f16");
  add_element<Source, Byte>(entries, name + "_u8");
  entries["area_" + name] = {write_mean<Source>, 1, true, 0, Reads<Source>::of};
}

/** Bytes of one element of the tensor that a launch makes. */
inline int element_bytes(const Entry& entry, const ImageJob& job) {
  return entry.element_bytes != 0 ? entry.element_bytes : job.element_bytes;
}

inline const Entries& all_entries() {
  static const Entries all = [] {
    Entries entries;
    add_all<Rgb8>(entries, "rgb8");
    add_all<Rgba8>(entries, "rgba8");
    add_all<Gray8>(entries, "gray8");
    add_all<Planar8>(entries, "planar8");
    add_all<Nv12>(entries, "nv12");
    add_all<Bayer<uint8_t>>(entries, "bayer8");
    add_all<Bayer<uint16_t>>(entries, "bayer16");
    add_all<Deep<1>>(entries, "gray16");
    add_all<Deep<3>>(entries, "rgb16");
    return entries;
  }();
  return all;
}

}  // namespace zerohop
