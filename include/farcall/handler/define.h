// FARCALL_DEFINE_HANDLER: a C++ function becomes an exported handler.
#pragma once

#include <farcall/handler/detail/handler.h>

// FARCALL_DEFINE_HANDLER(symbol, function, options...);
//
// Exports the C function `symbol`, which runtimes call, and the constant
// `farcall_handler_<symbol>`, which describes it to tools. The function's parameters say what the
// handler takes, in any order:
//   Buffer, AnyBuffer, std::optional of them, RemainingArgs      arguments
//   Result<...>, std::optional of them, RemainingRets            results
//   Stream, ScratchAllocator, ThreadPool, State<T>, Context ...  context items
//   all other types                                              attributes
// Options are the attributes' names, in the order of their parameters ("eps", or
// ffi::attr("eps").default_to(1e-5f)), a stage (ffi::kInstantiate, ffi::kPrepare, ffi::kInitialize,
// ffi::kRecord; without one it is execute), and traits (ffi::kCmdBufferCompatible).
// ffi::all_attributes in place of names gives all of them to one Dictionary or struct. A function
// that takes no attributes ignores them; so do the stages before execute with arguments and
// results. Stands outside unnamed namespaces, which would keep the symbol from being exported.
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

// For a header: says that another file defines the handler.
#define FARCALL_DECLARE_HANDLER(symbol) \
  extern "C" FARCALL_FFI_Error* symbol(FARCALL_FFI_CallFrame* frame)
