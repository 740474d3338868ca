// Everything that a C++ program needs: arrays, array functions, jit, foreign calls.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "farcall/farcall.h needs C++20 or newer: compile with -std=c++20"
#endif

#include <farcall/core/config.h>
#include <farcall/core/dtype.h>
#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/core/message.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/registry.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/attention.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/checks.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/define.h>
#include <farcall/ops/derivatives.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/jacobians.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/mesh.h>
#include <farcall/ops/nn.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/numpy_statistics.h>
#include <farcall/ops/optimization_barrier.h>
#include <farcall/ops/platform.h>
#include <farcall/ops/ravel.h>
#include <farcall/ops/reduce_window.h>
#include <farcall/ops/scalar.h>
#include <farcall/ops/segments.h>
#include <farcall/ops/special_cases.h>
#include <farcall/ops/special_functions.h>
#include <farcall/program/draw.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>
#include <farcall/random/random.h>
#include <farcall/trace/array.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/call.h>
#include <farcall/trace/checkpoint.h>
#include <farcall/trace/closure_convert.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/print.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree.h>
#include <farcall/trace/vmap.h>
