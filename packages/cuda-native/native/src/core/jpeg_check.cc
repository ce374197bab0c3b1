#include "jpeg_check.h"

#include <cstring>
#include <utility>

#include "jpeg_tables.h"

namespace zerohop {

namespace {

enum : uint8_t {
  kSof0 = 0xc0,
  kSof2 = 0xc2,
  kDht = 0xc4,
  kJpg = 0xc8,
  kDac = 0xcc,
  kSof15 = 0xcf,
  kRst0 = 0xd0,
  kRst7 = 0xd7,
  kEoi = 0xd9,
  kSos = 0xda,
  kDqt = 0xdb,
  kDnl = 0xdc,
  kDri = 0xdd,
  kExp = 0xdf,
  kApp0 = 0xe0,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

// Every scan of a progressive JPEG costs a pass over the picture; encoders make about ten.
constexpr int kMostScans = 100;

Status Corrupt(const char* what) { return JpegStatus("corrupt", what); }
Status Truncated(const char* what) { return JpegStatus("truncated", what); }

bool IsFrame(uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

// The first 0xff at or behind `at` that a byte other than zero follows, or null. Compressed data put a zero behind each
// 0xff of theirs, which is every 256th byte or so: too many to look at one by one.
const uint8_t* FindMarker(const uint8_t* at, const uint8_t* end) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  using Words = uint64_t __attribute__((vector_size(16)));
  constexpr ptrdiff_t kBlock = 4 * sizeof(Bytes);
  for (; end - at > kBlock; at += kBlock) {
    Words found = {};
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      Bytes bytes;
      Bytes next;
      memcpy(&bytes, at + i * sizeof bytes, sizeof bytes);
      memcpy(&next, at + i * sizeof bytes + 1, sizeof next);
      found |= reinterpret_cast<Words>((bytes == 0xff) & (next != 0));
    }
    if ((found[0] | found[1]) != 0) break;
  }
  for (; end - at > 1; ++at) {
    if (at[0] == 0xff && at[1] != 0) return at;
  }
  return nullptr;
}

// The contents of a segment.
struct Segment {
  uint8_t marker;
  size_t marker_at;
  const uint8_t* bytes;
  size_t size;
};

class Walker {
 public:
  // Without `edit`, which is `data` when it may be changed, only up to the first scan.
  Walker(const uint8_t* data, size_t length, uint8_t* edit, JpegFrame* frame)
      : data_(data), length_(length), edit_(edit), frame_(*frame) {}

  Status Walk() {
    if (length_ < 2) return Truncated("there are less than two bytes");
    if (data_[0] != 0xff || data_[1] != 0xd8) return Corrupt("it does not begin as a JPEG does");
    at_ = 2;
    for (;;) {
      Segment segment = {};
      Status status = Next(&segment);
      if (!status.ok()) return status;
      if (segment.marker == kEoi) return Finish();
      status = Take(segment);
      if (!status.ok() || (segment.marker == kSos && edit_ == nullptr)) return status;
    }
  }

  size_t at() const { return at_; }

 private:
  Status Next(Segment* segment) {
    if (at_ < length_ && data_[at_] != 0xff) return Corrupt("there are bytes between its segments");
    while (at_ < length_ && data_[at_] == 0xff) ++at_;
    if (at_ == length_) return Truncated("its end is missing");
    segment->marker_at = at_;
    const uint8_t marker = data_[at_++];
    segment->marker = marker;
    if (marker == kEoi) return Status::Ok();
    if (marker < kSof0 || (marker >= kRst0 && marker < kEoi) || (marker > kApp15 && marker != kCom)) {
      return Corrupt("it has a marker where none may be");
    }
    if (length_ - at_ < 2) return Truncated("a segment is cut short");
    const size_t size = static_cast<size_t>(data_[at_] << 8 | data_[at_ + 1]);
    if (size < 2) return Corrupt("a segment has an impossible length");
    if (size > length_ - at_) return Truncated("a segment is cut short");
    segment->bytes = data_ + at_ + 2;
    segment->size = size - 2;
    at_ += size;
    return Status::Ok();
  }

  Status Take(const Segment& segment) {
    const char* wrong = nullptr;
    if (IsFrame(segment.marker)) {
      if (frame_.marker != 0) return Corrupt("it has two frame headers");
      wrong = ReadFrame(segment.marker, segment.bytes, segment.size, &frame_);
    } else if (segment.marker == kDqt) {
      wrong = tables_.ReadQuantization(segment.bytes, segment.size);
    } else if (segment.marker == kDht) {
      wrong = tables_.ReadHuffman(segment.bytes, segment.size);
    } else if (segment.marker == kDri) {
      if (segment.size != 2) return Corrupt("its restart interval has the wrong length");
      restart_interval_ = static_cast<uint32_t>(segment.bytes[0] << 8 | segment.bytes[1]);
    } else if (segment.marker == kSos) {
      return TakeScan(segment);
    } else if (segment.marker >= kDnl && segment.marker <= kExp) {
      return JpegStatus("unsupported", "it is hierarchical, or its height comes after the picture");
    } else if (segment.marker >= kApp0 && segment.marker <= kApp15) {
      TakeApplication(segment);
    }
    return wrong == nullptr ? Status::Ok() : Corrupt(wrong);
  }

  void TakeApplication(const Segment& segment) {
    const bool jfif = segment.marker == kApp0 && segment.size >= 14 && memcmp(segment.bytes, "JFIF", 5) == 0;
    const bool adobe = segment.marker == kApp14 && segment.size >= 12 && memcmp(segment.bytes, "Adobe", 5) == 0;
    if (jfif) frame_.has_jfif = true;
    if (adobe) frame_.adobe_transform = segment.bytes[11];
    if (edit_ != nullptr && !jfif && !adobe) edit_[segment.marker_at] = kCom;
  }

  Status TakeScan(const Segment& segment) {
    if (frame_.marker == 0) return Corrupt("it has a scan before its frame header");
    if (edit_ == nullptr) return Status::Ok();
    if (const char* why = Unsupported(frame_)) return JpegStatus("unsupported", why);
    if (++frame_.scans > kMostScans) return JpegStatus("unsupported", "it has more than 100 scans");

    const int count = segment.size == 0 ? 0 : segment.bytes[0];
    if (count < 1 || count > frame_.count || segment.size != 4 + 2 * static_cast<size_t>(count)) {
      return Corrupt("a scan header is wrong");
    }
    int components[4] = {};
    const char* wrong = frame_.marker == kSof2 ? CheckProgression(segment.bytes, count) : nullptr;
    int blocks = 0;
    for (int i = 0; i < count && wrong == nullptr; ++i) wrong = CheckComponent(segment.bytes, i, components, &blocks);
    if (wrong == nullptr && count > 1 && blocks > 10) wrong = "a scan has too many blocks in a unit";
    if (wrong != nullptr) return Corrupt(wrong);
    if (frame_.marker != kSof2) {
      // Decoders go by the kind of frame here; some encoders leave nonsense.
      uint8_t* selection = edit_ + (segment.bytes - data_) + 1 + 2 * count;
      selection[0] = 0;
      selection[1] = 63;
      selection[2] = 0;
    }
    return SkipCompressed(UnitsOfScan(frame_, components, count));
  }

  // What is wrong with the spectral selection and approximation of a progressive scan, or null.
  const char* CheckProgression(const uint8_t* scan, int count) {
    const uint8_t* selection = scan + 1 + 2 * count;
    const int start = selection[0];
    const int end = selection[1];
    const int high = selection[2] >> 4;
    const int low = selection[2] & 15;
    const bool fits = start == 0 ? end == 0 : start <= end && end <= 63 && count == 1;
    needs_dc_ = start == 0 && high == 0;
    needs_ac_ = start > 0;
    return fits && low <= 13 && (high == 0 || high == low + 1) ? nullptr : "a progressive scan is wrong";
  }

  const char* CheckComponent(const uint8_t* scan, int index, int* components, int* blocks) {
    const uint8_t* entry = scan + 1 + 2 * index;
    int found = 0;
    while (found < frame_.count && frame_.components[found].id != entry[0]) ++found;
    if (found == frame_.count) return "a scan names a component that is not there";
    for (int before = 0; before < index; ++before) {
      if (components[before] == found) return "a scan names a component twice";
    }
    components[index] = found;
    const JpegComponent& component = frame_.components[found];
    *blocks += component.horizontal * component.vertical;
    if (frame_.marker != kSof2 && seen_[found]) return "it has a component in two scans";
    seen_[found] = true;
    const int dc = entry[1] >> 4;
    const int ac = entry[1] & 15;
    if (dc > 3 || ac > 3 || (needs_dc_ && !tables_.has_dc(dc)) || (needs_ac_ && !tables_.has_ac(ac))) {
      return "a scan needs a Huffman table that is not there";
    }
    return tables_.has_quantization(component.quantization) ? nullptr
                                                            : "a component needs a quantization table that is not there";
  }

  // To the marker behind a scan's compressed data.
  Status SkipCompressed(uint64_t units) {
    const size_t start = at_;
    uint64_t restarts = 0;
    for (;;) {
      const uint8_t* found = FindMarker(data_ + at_, data_ + length_);
      if (found == nullptr) return Truncated("its last scan does not end");
      at_ = static_cast<size_t>(found - data_);
      const uint8_t next = found[1];
      if (next >= kRst0 && next <= kRst7) {
        if (restart_interval_ == 0 || (next & 7) != restarts % 8) return Corrupt("a restart marker is out of place");
        ++restarts;
      } else if (next != 0xff) {
        break;
      }
      at_ += next == 0xff ? 1 : 2;
    }
    if (at_ == start) return Truncated("a scan is empty");
    const uint64_t expected = restart_interval_ == 0 ? 0 : (units + restart_interval_ - 1) / restart_interval_ - 1;
    if (restarts > expected) return Corrupt("it has too many restart markers");
    if (restarts < expected) return Truncated("it has too few restart markers");
    return Status::Ok();
  }

  Status Finish() {
    if (frame_.scans == 0) return Corrupt("it has no picture");
    for (int i = 0; i < frame_.count; ++i) {
      if (!seen_[i]) return Truncated("a component has no scan");
    }
    return Status::Ok();
  }

  const uint8_t* data_;
  size_t length_;
  uint8_t* edit_;
  JpegFrame& frame_;
  size_t at_ = 0;
  JpegTables tables_;
  uint32_t restart_interval_ = 0;
  bool seen_[4] = {};
  // Which tables the current scan needs; both, but in progressive ones.
  bool needs_dc_ = true;
  bool needs_ac_ = true;
};

}  // namespace

Status JpegStatus(const char* reason, std::string detail) {
  Status status;
  status.source = Status::Source::kNvjpeg;
  status.reason = reason;
  status.detail = std::move(detail);
  return status;
}

Status ReadJpegHeader(const uint8_t* data, size_t length, JpegFrame* frame) {
  return Walker(data, length, nullptr, frame).Walk();
}

Status PrepareJpeg(uint8_t* data, size_t length, JpegFrame* frame, size_t* used) {
  Walker walker(data, length, data, frame);
  Status status = walker.Walk();
  *used = walker.at();
  return status;
}

}  // namespace zerohop
