// Our own look at a JPEG, before nvJPEG sees it. The bytes come from anywhere, and nvJPEG has crashed on malformed ones:
// releases before 12.2u2 on bad EXIF data (NVIDIA/CUDALibrarySamples#116), others on tables that are missing. A crash is
// not an error that can be told.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jpeg_frame.h"
#include "status.h"

namespace zerohop {

// Reads the segments before the first scan. `data` may change meanwhile: every byte is checked where it is used.
Status ReadJpegHeader(const uint8_t* data, size_t length, JpegFrame* frame);

// Checks the structure of the whole file: the segments, the tables that each scan needs, the number and order of the
// restart markers, and that the picture ends. What applications have put in (EXIF and the like) becomes a comment, which
// nobody reads; so the bytes are changed in place, their number is not. `used` is where the picture ends.
Status PrepareJpeg(uint8_t* data, size_t length, JpegFrame* frame, size_t* used);

// A failed status of source kNvjpeg that names no call. `reason` is "corrupt", "truncated", "unsupported" or "size".
Status JpegStatus(const char* reason, std::string detail);

}  // namespace zerohop
