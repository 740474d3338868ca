// Everything that a C++ program needs: arrays, array functions, jit, foreign calls.
#pragma once

#include <farcall/core/dtype.h>
#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/program/draw.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>
#include <farcall/trace/array.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/record.h>
