// 8-bit images, interleaved or planar.
#include "entry.cuh"

ZEROHOP_ALL(rgb8, Rgb8)
ZEROHOP_ALL(rgba8, Rgba8)
ZEROHOP_ALL(gray8, Gray8)
ZEROHOP_ALL(planar8, Planar8)
