// 16-bit images: gray, and three interleaved components.
#include "entry.cuh"

ZEROHOP_ALL(gray16, Deep<1>)
ZEROHOP_ALL(rgb16, Deep<3>)
