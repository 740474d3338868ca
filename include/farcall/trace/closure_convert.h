// closure_convert: turns the arrays that a function closes over into arguments.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>
#include <farcall/trace/tree_call.h>

namespace farcall {
namespace detail {

// A function as a program. The program's inputs are the closed-over arrays, then the leaves of the
// arguments.
struct FARCALL_API ConvertedCall {
  ProgramPtr program;
  TreeDef arguments, result;
  std::vector<Array> closed_over;  // the first inputs of the program
  std::vector<bool> is_hoisted;    // by closed-over array: whether it can have a derivative

  std::vector<Array> hoisted() const;
  // Returns the leaves of the result. Raises TypeError if the arguments have another structure, and
  // INVALID_ARGUMENT if the number of hoisted arrays differs.
  std::vector<Array> run(const TreeDef& tree, std::span<const Array> leaves,
                         std::span<const Array> hoisted) const;
};
FARCALL_API ConvertedCall convert_closure(TreeCall& call);

}  // namespace detail

// The function that closure_convert returns. It takes the hoisted arrays, then the function's
// arguments.
template <class Args, class Result>
class ConvertedFunction {
 public:
  explicit ConvertedFunction(detail::ConvertedCall call) : call_(std::move(call)) {}

  template <detail::Argument... T>
  Result operator()(std::span<const Array> hoisted, const T&... args) const {
    const Args all{args...};
    return detail::build<Result>(call_.result,
                                 call_.run(detail::tree_of(all), detail::flat(all), hoisted));
  }

 private:
  detail::ConvertedCall call_;
};

// Returns a function without traced floats in its closure, and those floats: the hoisted arrays.
// The function is recorded for the types of `args`. Arrays that cannot have a derivative stay in
// the closure.
template <class F, detail::Argument... Args>
requires(detail::takes<F, Args...>()) auto closure_convert(F function, const Args&... args) {
  using All = detail::Arguments<F, Args...>;
  detail::TreeCallOf<F&, All> call("closure_convert", function, {args...});
  detail::ConvertedCall converted = detail::convert_closure(call);
  std::vector<Array> hoisted = converted.hoisted();
  return std::pair(ConvertedFunction<All, detail::ResultOf<F, All>>(std::move(converted)),
                   std::move(hoisted));
}

}  // namespace farcall
