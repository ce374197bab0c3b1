// Video frames: NV12.
#include "entry.cuh"

ZEROHOP_ALL(nv12, Nv12)
