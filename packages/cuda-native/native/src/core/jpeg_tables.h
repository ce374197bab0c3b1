// The tables that a JPEG defines on its way: whether those that a scan needs are there, and sound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zerohop {

class JpegTables {
 public:
  // Each reads the contents of a segment; what is wrong with it, or null.
  const char* ReadQuantization(const uint8_t* bytes, size_t length);
  const char* ReadHuffman(const uint8_t* bytes, size_t length);

  bool has_quantization(int table) const { return quantization_[table]; }
  bool has_dc(int table) const { return huffman_[0][table]; }
  bool has_ac(int table) const { return huffman_[1][table]; }

 private:
  bool quantization_[4] = {};
  bool huffman_[2][4] = {};
};

}  // namespace zerohop
