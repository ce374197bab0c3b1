#include "jpeg_tables.h"

namespace zerohop {

namespace {

// Larger differences than 8-bit samples have; 15 is what the format can name.
constexpr uint8_t kLargestDcSymbol = 15;

// The counts of codes of 1 to 16 bits: whether so many can exist beside each other.
bool Fits(const uint8_t* counts) {
  uint32_t room = 1;
  for (int bits = 1; bits <= 16; ++bits) {
    room *= 2;
    if (counts[bits - 1] > room) return false;
    room -= counts[bits - 1];
  }
  return true;
}

}  // namespace

const char* JpegTables::ReadQuantization(const uint8_t* bytes, size_t length) {
  while (length > 0) {
    const int precision = bytes[0] >> 4;
    const int table = bytes[0] & 15;
    if (precision > 1 || table > 3) return "it defines a quantization table that can't be";
    const size_t size = 1 + (precision == 0 ? 64 : 128);
    if (length < size) return "a quantization table is cut short";
    quantization_[table] = true;
    bytes += size;
    length -= size;
  }
  return nullptr;
}

const char* JpegTables::ReadHuffman(const uint8_t* bytes, size_t length) {
  while (length > 0) {
    const int kind = bytes[0] >> 4;
    const int table = bytes[0] & 15;
    if (kind > 1 || table > 3) return "it defines a Huffman table that can't be";
    if (length < 17) return "a Huffman table is cut short";
    size_t symbols = 0;
    for (int i = 1; i <= 16; ++i) symbols += bytes[i];
    if (symbols > 256 || !Fits(bytes + 1)) return "a Huffman table has more codes than there are";
    if (length < 17 + symbols) return "a Huffman table is cut short";
    for (size_t i = 0; kind == 0 && i < symbols; ++i) {
      if (bytes[17 + i] > kLargestDcSymbol) return "a Huffman table has impossible symbols";
    }
    huffman_[kind][table] = symbols > 0;
    bytes += 17 + symbols;
    length -= 17 + symbols;
  }
  return nullptr;
}

}  // namespace zerohop
