// The tags of all wrapped types, in one place.
#pragma once

#include <node_api.h>

#include <cstdint>

namespace zerohop {

// Two copies of the package in one process accept each other's objects when this number is the same in both. It changes
// with the layout of any wrapped type, of what those hold, and with the meaning of their fields.
constexpr uint32_t kAbi = 1;

template <typename T>
struct TypeTag;

// "Zerohop" and the number, then the kind in bits of its own.
constexpr napi_type_tag MakeTag(uint64_t kind) { return {0x5a65726f686f7000 + kAbi, kind}; }

struct AbandonedName;
struct Context;
class DeviceMemory;
class Event;
class Graph;
class JpegDecoder;
class JpegEncoder;
struct Kernel;
class Module;
struct PinnedBuffer;
struct SharedRegion;
class Stream;

#define ZEROHOP_TYPE_TAG(type, kind)                     \
  template <>                                            \
  struct TypeTag<type> {                                 \
    static constexpr napi_type_tag value = MakeTag(kind); \
  };
ZEROHOP_TYPE_TAG(SharedRegion, 0x9c1f4be27a3d4401)
ZEROHOP_TYPE_TAG(Context, 0x6b0d2f81c5944e02)
ZEROHOP_TYPE_TAG(DeviceMemory, 0x2f7d90b45ae14c03)
ZEROHOP_TYPE_TAG(PinnedBuffer, 0x81c3e65d07fb4f04)
ZEROHOP_TYPE_TAG(Stream, 0xd40a73be19c64205)
ZEROHOP_TYPE_TAG(AbandonedName, 0xb2d94c0f6e1a8806)
ZEROHOP_TYPE_TAG(Event, 0x47e05c9a83bd1f07)
ZEROHOP_TYPE_TAG(Module, 0xe8315db6f2094a08)
ZEROHOP_TYPE_TAG(Kernel, 0x1da679c04e8b5309)
ZEROHOP_TYPE_TAG(Graph, 0x7359ae12d06cf40a)
ZEROHOP_TYPE_TAG(JpegDecoder, 0xc62b08f57a9e3d0b)
ZEROHOP_TYPE_TAG(JpegEncoder, 0x5f14d7e98c60b20c)
#undef ZEROHOP_TYPE_TAG

}  // namespace zerohop
