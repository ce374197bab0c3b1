// Mosaics of industrial cameras: 8 bits, or up to 16 bits in 16-bit words.
#include "entry.cuh"

ZEROHOP_ALL(bayer8, Bayer<uint8_t>)
ZEROHOP_ALL(bayer16, Bayer<uint16_t>)
