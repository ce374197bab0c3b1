// 16-bit images: gray, and three interleaved components.
#include "entry.cuh"

ZEROHOP_FLOATS(gray16, Deep<1>)
ZEROHOP_FLOATS(rgb16, Deep<3>)
