// FARCALL_DEFINE_HANDLER: turns a C++ function into an exported handler.
#pragma once

#include <farcall/handler/detail/handler.h>

// FARCALL_DEFINE_HANDLER(symbol, function, options...);
//
// Exports the C function `symbol`, which runtimes call, and the constant
// `farcall_handler_<symbol>`, which describes the handler to tools. The types of the function's
// parameters, in any order, define what the handler takes:
//   Buffer, AnyBuffer, std::optional of them, RemainingArgs      arguments
//   Result<...>, std::optional of them, RemainingRets            results
//   Stream, ScratchAllocator, ThreadPool, State<T>, Context ...  context items
//   all other types                                              attributes
// Options are the attributes' names, in the order of their parameters ("eps", or
// ffi::attr("eps").default_to(1e-5f)), a stage (ffi::kInstantiate, ffi::kPrepare, ffi::kInitialize,
// ffi::kRecord; the default is execute), and traits (ffi::kCmdBufferCompatible).
// ffi::all_attributes in place of names passes all attributes to one Dictionary or struct. A
// function without attribute parameters ignores attributes. Stages before execute ignore arguments
// and results unless the function takes some. The macro must be used outside unnamed namespaces,
// which would prevent the export.
#define FARCALL_DEFINE_HANDLER(symbol, ...)                                                 \
  namespace {                                                                               \
  struct farcall_definition_##symbol {                                                      \
    static constexpr auto spec() { return ::farcall::ffi::detail::make_spec(__VA_ARGS__); } \
    static constexpr const char* name() { return #symbol; }                                 \
  };                                                                                        \
  }                                                                                         \
  extern "C" FARCALL_FFI_EXPORT FARCALL_FFI_Error* symbol(FARCALL_FFI_CallFrame* frame) {   \
    return ::farcall::ffi::detail::Handler<farcall_definition_##symbol>::call(frame);       \
  }                                                                                         \
  extern "C" {                                                                              \
  FARCALL_FFI_EXPORT extern const ::farcall::ffi::HandlerDesc farcall_handler_##symbol;     \
  const ::farcall::ffi::HandlerDesc farcall_handler_##symbol =                              \
      ::farcall::ffi::detail::Handler<farcall_definition_##symbol>::kDesc;                  \
  }                                                                                         \
  static_assert(true, "")

// For a header: declares a handler that another file defines.
#define FARCALL_DECLARE_HANDLER(symbol) \
  extern "C" FARCALL_FFI_Error* symbol(FARCALL_FFI_CallFrame* frame)
