// The only place that includes napi.h; its defines are in binding.gyp.
#pragma once

#include <napi.h>
