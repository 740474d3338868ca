// Control flow over flat lists of arrays: loops and branches whose bodies are functions. A body is
// recorded as a program, also where operations happen at once, and may close over arrays of the
// functions around it.
//
// All raise TypeError for bodies that return other types than they should, naming each array that
// differs, and Error (INVALID_ARGUMENT) for operands and options that do not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall::lax {

struct LoopResults {
  std::vector<Array> carry;
  std::vector<Array> ys;
};
using ScanBody = std::function<LoopResults(std::span<const Array> carry, std::span<const Array> x)>;
struct ScanOptions {
  std::optional<int64_t> length = {};  // needed where there are no xs
  bool reverse = false;
  int64_t unroll = 1;  // iterations that an engine may run without a test between them
};

// Calls `body` with the carry and one slice of each of xs after the other, and stacks what it
// returns besides the carry.
FARCALL_API LoopResults scan(const ScanBody& body, std::span<const Array> init,
                             std::span<const Array> xs, const ScanOptions& options = {});

// `body` as long as `cond` returns true.
FARCALL_API std::vector<Array> while_loop(const FlatFunction& cond, const FlatFunction& body,
                                          std::span<const Array> init);

// `body` with i = lower, …, upper - 1. A scan where both bounds are known, so that it can be
// differentiated in reverse mode, else a while loop.
using ForBody = std::function<std::vector<Array>(const Array& i, std::span<const Array> carry)>;
FARCALL_API std::vector<Array> fori_loop(const Array& lower, const Array& upper,
                                         const ForBody& body, std::span<const Array> init,
                                         std::optional<int64_t> unroll = {});

// One of two functions. `pred` is a bool or a number, which counts as true unless it is 0.
FARCALL_API std::vector<Array> cond(const Array& pred, const FlatFunction& true_fun,
                                    const FlatFunction& false_fun, std::span<const Array> operands);
// One of several; an index outside is clamped.
FARCALL_API std::vector<Array> switch_(const Array& index, std::span<const FlatFunction> branches,
                                       std::span<const Array> operands);

// `f` of each slice, one after the other; with a batch size, of that many at a time by vmap.
FARCALL_API std::vector<Array> map(const FlatFunction& f, std::span<const Array> xs,
                                   std::optional<int64_t> batch_size = {});

// Running results of an associative function along `axis`, in logarithmic depth.
using Combine =
    std::function<std::vector<Array>(std::span<const Array> a, std::span<const Array> b)>;
FARCALL_API std::vector<Array> associative_scan(const Combine& fn, std::span<const Array> elems,
                                                bool reverse = false, int64_t axis = 0);

// ---- in two steps, for fronts that keep what they have recorded ----

// How messages name array i of a list: "carry[i]" by default; a front with pytrees gives paths.
using LeafName = std::function<std::string(size_t)>;
FARCALL_API LeafName numbered(std::string list);

// Weakly typed carries take the dtype that the body returns.
FARCALL_API Recording record_scan(const ScanBody& body, std::span<const ShapeDtype> carry,
                                  std::span<const ShapeDtype> x, const LeafName& name);
FARCALL_API LoopResults run_scan(const Recording& body, std::span<const Array> init,
                                 std::span<const Array> xs, int64_t length,
                                 const ScanOptions& options);
// The common leading dimension of xs, or the one that the options give; `function` is who asks.
FARCALL_API int64_t scan_length(std::string_view function, std::span<const Array> xs,
                                const ScanOptions& options, const LeafName& name);
// The types of xs without their leading dimension.
FARCALL_API std::vector<ShapeDtype> slice_types(std::span<const Array> xs);

struct RecordedLoop {
  Recording cond;  // no program where the number of iterations is known
  Recording body;
};
FARCALL_API RecordedLoop record_while(const FlatFunction& cond, const FlatFunction& body,
                                      std::span<const ShapeDtype> carry, const LeafName& name);
FARCALL_API std::vector<Array> run_while(const RecordedLoop& loop, std::span<const Array> init);

struct ForBounds {
  Array lower, upper;  // of one dtype
  std::optional<int64_t> trip_count;
};
FARCALL_API ForBounds for_bounds(const Array& lower, const Array& upper,
                                 std::optional<int64_t> unroll);
FARCALL_API RecordedLoop record_for(const ForBody& body, const ForBounds& bounds,
                                    std::span<const ShapeDtype> carry, const LeafName& name);
FARCALL_API std::vector<Array> run_for(const RecordedLoop& loop, const ForBounds& bounds,
                                       std::span<const Array> init, std::optional<int64_t> unroll);

// The branch's number from a predicate or an index, which is checked.
FARCALL_API Array branch_of_predicate(const Array& pred);
FARCALL_API Array branch_of_index(const Array& index, size_t num_branches);
// "true_fun", "branch 2": how messages of cond and switch name a branch.
FARCALL_API std::string branch_name(std::string_view function, size_t i);
// Raises unless the branches' results agree; `function` is who asks, `name` names them.
FARCALL_API void check_branches(std::string_view function, std::span<const Recording> branches,
                                const LeafName& name);
FARCALL_API std::vector<Array> run_branches(const Array& branch,
                                            std::span<const Recording> branches,
                                            std::span<const Array> operands);

}  // namespace farcall::lax
