// Functions of farcall as handlers, which XLA and other runtimes with its binary interface can
// register and call.
//
// A handler is a plain, thread-safe function. It reads the operands in place and writes the results
// to the caller's buffers, see run_on_memory(). Its errors become errors of the caller's runtime.
// It is never destroyed, because no runtime reports the last call of a handler. So a process has
// room for 1,024 handlers; exporting the same program under the same name again returns the same
// one.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/registry.h>
#include <farcall/program/engine.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// A handler for operands and results of the program's types. It also takes batches: operands with
// more leading dimensions, as vmap_method "broadcast_all", "expand_dims" and "legacy_vectorized" of
// jax.ffi.ffi_call pass them. They run a batched program, which is compiled at the first such call.
// `name` appears in messages. Raises INVALID_ARGUMENT for a type that the interface does not have,
// RESOURCE_EXHAUSTED if there is no room left, and what compiling raises.
FARCALL_API FARCALL_FFI_Handler* export_handler(std::string name, ProgramPtr program);

// Returns the program for a call with operands and results of these types and with these
// attributes. The program may take operands with fewer dimensions: additional leading dimensions of
// the operands are then a batch. Called on the thread that calls the handler, once for each list of
// types and attributes while it is cached (see cache_limit()). Must be thread-safe.
using RecordForCall =
    std::function<ProgramPtr(std::span<const ShapeDtype> operands,
                             std::span<const ShapeDtype> results, const Attributes& attributes)>;
// `attributes`: the names of the attributes that calls may have.
FARCALL_API FARCALL_FFI_Handler* export_handler(std::string name, RecordForCall record,
                                                std::vector<std::string> attributes);

// A handler that records and compiles the function for each list of operand types.
FARCALL_API FARCALL_FFI_Handler* export_handler(std::string name, FlatFunction function);

namespace detail {

FARCALL_API void check_operand_count(size_t wanted, size_t given);

template <class F>
FlatFunction flat_function(F function) {
  using All = Parameters<F>;
  static_assert(has_fixed_structure<All>(),
                "farcall::export_handler: the parameters' types must tell how many arrays there "
                "are, which vectors and maps do not");
  return [function = std::move(function)](std::span<const Array> operands) {
    const TreeDef& tree = fixed_tree<All>();
    check_operand_count(tree.num_leaves(), operands.size());
    F called = function;
    return flat(std::apply(called, build<All>(tree, operands)));
  };
}

}  // namespace detail

// The same for a function of arrays, or of tuples and structs of arrays. Its operands and results
// are their leaves in order.
template <class F>
requires(!std::is_void_v<detail::Parameters<F>> &&
         detail::OverTrees<F>) FARCALL_FFI_Handler* export_handler(std::string name, F function) {
  return export_handler(std::move(name), detail::flat_function(std::move(function)));
}

// The handlers of the target "farcall.program", whose string attribute `program` is the text of a
// program. The instantiate stage compiles it, once for each executable of the caller's runtime.
// With one registration, a runtime can hold any number of programs, and serializes them with its
// own.
FARCALL_API HandlerBundle program_handlers();

}  // namespace farcall
