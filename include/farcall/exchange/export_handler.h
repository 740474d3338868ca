// Functions of farcall as handlers: what XLA, or whoever else speaks its binary interface,
// registers and calls.
//
// A handler is a plain function, callable from any number of threads. It reads the operands where
// they lie and writes the results where the caller wants them, see run_on_memory(). What it raises
// becomes an error of the caller's runtime. It never goes away, because no runtime says when it
// calls a handler for the last time: a process has room for 1,024, and exporting the same program
// under the same name again gives the same one.
#pragma once

#include <functional>
#include <memory>
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

// A handler for operands and results of the program's types. It takes batches too: operands with
// more dimensions in front, as vmap_method "broadcast_all", "expand_dims" and "legacy_vectorized"
// of jax.ffi.ffi_call give them, run a batched program that is made when the first one comes.
// `name` stands in messages. Raises INVALID_ARGUMENT for a type that the interface does not have,
// RESOURCE_EXHAUSTED where there is no room, and what compiling raises.
FARCALL_API FARCALL_FFI_Handler* export_handler(std::string name, ProgramPtr program);

// The program for operands of these types, in a call that wants results of these and has these
// attributes. It may be for fewer dimensions: operands with more in front are then a batch of it.
// Called from the thread that calls the handler, once for each list of types and attributes while
// it is remembered (see cache_limit()); two threads may ask at once.
using RecordForCall =
    std::function<ProgramPtr(std::span<const ShapeDtype> operands,
                             std::span<const ShapeDtype> results, const Attributes& attributes)>;
// `attributes`: the names of those that calls may have.
FARCALL_API FARCALL_FFI_Handler* export_handler(std::string name, RecordForCall record,
                                                std::vector<std::string> attributes);

// A handler that records and compiles the function for each list of types.
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

// The same for a function of arrays, or of tuples and structs of them: its operands are their
// leaves in order, and so are its results.
template <class F>
requires(!std::is_void_v<detail::Parameters<F>> &&
         detail::OverTrees<F>) FARCALL_FFI_Handler* export_handler(std::string name, F function) {
  return export_handler(std::move(name), detail::flat_function(std::move(function)));
}

// The target "farcall.program", whose string attribute `program` is the text of a program: the
// instantiate stage compiles it, once for each executable of the caller's runtime. With it, a
// runtime holds any number of programs by one registration, and saves them with what it saves.
FARCALL_API HandlerBundle program_handlers();

}  // namespace farcall
