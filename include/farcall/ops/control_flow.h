// Control flow over flat lists of arrays: loops and branches whose bodies are functions. Each body
// is recorded as a program, also in eager mode, and may close over arrays of the enclosing
// functions.
//
// All raise TypeError if a body returns the wrong types, naming each array that differs, and Error
// (INVALID_ARGUMENT) for operands and options that do not fit.
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
  std::optional<int64_t> length = {};  // required if there are no xs
  bool reverse = false;
  int64_t unroll = 1;  // iterations that an engine may run between two tests of the loop condition
};

// Calls `body` with the carry and with each slice of xs in turn, and stacks the ys that it returns.
FARCALL_API LoopResults scan(const ScanBody& body, std::span<const Array> init,
                             std::span<const Array> xs, const ScanOptions& options = {});

// Repeats `body` while `cond` returns true.
FARCALL_API std::vector<Array> while_loop(const FlatFunction& cond, const FlatFunction& body,
                                          std::span<const Array> init);

// Calls `body` with i = lower, …, upper - 1. If both bounds are known, this is a scan, so reverse
// mode works; else it is a while loop. `unroll` is that of the scan; it is refused for a while
// loop.
using ForBody = std::function<std::vector<Array>(const Array& i, std::span<const Array> carry)>;
FARCALL_API std::vector<Array> fori_loop(const Array& lower, const Array& upper,
                                         const ForBody& body, std::span<const Array> init,
                                         std::optional<int64_t> unroll = {});

// Calls one of two functions. `pred` is a bool or a number; 0 means false.
FARCALL_API std::vector<Array> cond(const Array& pred, const FlatFunction& true_fun,
                                    const FlatFunction& false_fun, std::span<const Array> operands);
// Calls one of several functions. An index out of range is clamped.
FARCALL_API std::vector<Array> switch_(const Array& index, std::span<const FlatFunction> branches,
                                       std::span<const Array> operands);

// Applies `f` to each slice in sequence; with a batch size, to that many slices at a time by vmap.
FARCALL_API std::vector<Array> map(const FlatFunction& f, std::span<const Array> xs,
                                   std::optional<int64_t> batch_size = {});

// Prefix results of an associative function along `axis`, in logarithmic depth.
using Combine =
    std::function<std::vector<Array>(std::span<const Array> a, std::span<const Array> b)>;
FARCALL_API std::vector<Array> associative_scan(const Combine& fn, std::span<const Array> elems,
                                                bool reverse = false, int64_t axis = 0);

// ---- in two steps, for front ends that cache recorded bodies ----

// How messages name array i of a list: "carry[i]" by default; a front end with pytrees gives paths.
using LeafName = std::function<std::string(size_t)>;
FARCALL_API LeafName numbered(std::string list);

// A weakly typed carry takes the dtype that the body returns. Where axes are tracked
// (trace/varying.h), a carry varies over all axes of its initial value and of the value that the
// body returns.
FARCALL_API Recording record_scan(const ScanBody& body, std::span<const Array> init,
                                  std::span<const Array> xs, const LeafName& name);
FARCALL_API LoopResults run_scan(const Recording& body, std::span<const Array> init,
                                 std::span<const Array> xs, int64_t length,
                                 const ScanOptions& options);
// The common leading dimension of xs, or options.length. `function` names the caller in messages.
FARCALL_API int64_t scan_length(std::string_view function, std::span<const Array> xs,
                                const ScanOptions& options, const LeafName& name);
// The types of xs without their leading dimension.
FARCALL_API std::vector<ShapeDtype> slice_types(std::span<const Array> xs);

struct RecordedLoop {
  Recording cond;  // holds no program if the trip count is known
  Recording body;
};
FARCALL_API RecordedLoop record_while(const FlatFunction& cond, const FlatFunction& body,
                                      std::span<const Array> init, const LeafName& name);
FARCALL_API std::vector<Array> run_while(const RecordedLoop& loop, std::span<const Array> init);

struct ForBounds {
  Array lower, upper;  // both have the same dtype
  std::optional<int64_t> trip_count;
};
FARCALL_API ForBounds for_bounds(const Array& lower, const Array& upper,
                                 std::optional<int64_t> unroll);
FARCALL_API RecordedLoop record_for(const ForBody& body, const ForBounds& bounds,
                                    std::span<const Array> init, const LeafName& name);
FARCALL_API std::vector<Array> run_for(const RecordedLoop& loop, const ForBounds& bounds,
                                       std::span<const Array> init, std::optional<int64_t> unroll);

// The functions that run one of several programs.
enum class BranchFunction : uint8_t { kCond, kSwitch, kPlatformDependent };
// Their names and those of their branches in messages: "cond", "true_fun", "branch 2".
FARCALL_API std::string_view name_of(BranchFunction function);
FARCALL_API std::string branch_name(BranchFunction function, size_t i);
// The number of the branch that cond's predicate or switch's index selects; the index of
// platform_dependent is that number. Raises TypeError for a predicate or index of a wrong type.
FARCALL_API Array branch_number(BranchFunction function, const Array& choice, size_t num_branches);
// `choice`: the predicate or index.
FARCALL_API Recording record_branch(const FlatFunction& function, const Array& choice,
                                    std::span<const Array> operands);
// Raises if the branches' result types differ. `name` names the results.
FARCALL_API void check_branches(BranchFunction function, std::span<const Recording> branches,
                                const LeafName& name);
FARCALL_API std::vector<Array> run_branches(const Array& branch,
                                            std::span<const Recording> branches,
                                            std::span<const Array> operands);

}  // namespace farcall::lax
