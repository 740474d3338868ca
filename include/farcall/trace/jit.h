// jit: compiles a function once for each signature of its arguments and runs the compiled program.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/engine.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall {

// Executables by the types of their inputs. Lookups take no lock; any thread may add.
class FARCALL_API SignatureCache {
 public:
  SignatureCache();
  ~SignatureCache();
  SignatureCache(const SignatureCache&) = delete;
  SignatureCache& operator=(const SignatureCache&) = delete;

  // Null when there is none yet.
  const Executable* find(std::span<const Array> inputs) const;
  // The executable kept for these types, which is another one if a thread was faster.
  const Executable* insert(std::shared_ptr<const Executable> executable);
  size_t size() const;

 private:
  struct Table;
  std::atomic<const Table*> table_;
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

// How executables are run. A front may install a function that lets go of a lock of its own
// meanwhile (Python's); the default calls execute().
using Executor = void (*)(const Executable& executable, std::span<const Storage* const> inputs,
                          std::span<Storage> outputs, const ExecutionOptions& options);
FARCALL_API void set_executor(Executor executor);

// Runs an executable on arrays of its input types.
FARCALL_API std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                                   const ExecutionOptions& options = {});

// A flat function with its compiled programs. Thread-safe. Called while another function is being
// recorded or transformed, it becomes one equation there.
class FARCALL_API CompiledFunction {
 public:
  explicit CompiledFunction(FlatFunction function, std::string name = {},
                            const Engine* engine = nullptr);

  std::vector<Array> operator()(std::span<const Array> inputs) const;
  std::shared_ptr<const Executable> compile(std::span<const ShapeDtype> inputs) const;
  ProgramPtr record(std::span<const ShapeDtype> inputs) const;
  size_t cache_size() const { return cache_.size(); }

 private:
  FlatFunction function_;
  std::string name_;
  const Engine* engine_;
  mutable SignatureCache cache_;
};

namespace detail {

template <class T>
inline constexpr bool kIsArray = std::is_same_v<std::remove_cvref_t<T>, Array>;

template <class... Results>
std::vector<Array> flatten_results(std::tuple<Results...> results) {
  return std::apply([](auto&&... r) { return std::vector<Array>{std::move(r)...}; },
                    std::move(results));
}
inline std::vector<Array> flatten_results(Array result) { return {std::move(result)}; }
inline std::vector<Array> flatten_results(std::vector<Array> results) { return results; }

template <class Result>
Result unflatten_results(std::vector<Array> flat) {
  if constexpr (std::is_same_v<Result, Array>) {
    return std::move(flat[0]);
  } else if constexpr (std::is_same_v<Result, std::vector<Array>>) {
    return flat;
  } else {
    return [&]<size_t... I>(std::index_sequence<I...>) { return Result{std::move(flat[I])...}; }
    (std::make_index_sequence<std::tuple_size_v<Result>>());
  }
}

template <class F, size_t... I>
auto call_flat(F& f, [[maybe_unused]] std::span<const Array> inputs, std::index_sequence<I...>) {
  return f(inputs[I]...);
}

template <class>
struct Arity;
template <class R, class... Args>
struct Arity<R(Args...)> {
  static constexpr size_t value = sizeof...(Args);
  using Result = std::remove_cvref_t<R>;
  static_assert((kIsArray<Args> && ...), "farcall::jit: every argument must be an Array");
};
template <class R, class... Args>
struct Arity<R (*)(Args...)> : Arity<R(Args...)> {};
template <class C, class R, class... Args>
struct Arity<R (C::*)(Args...) const> : Arity<R(Args...)> {};
template <class C, class R, class... Args>
struct Arity<R (C::*)(Args...)> : Arity<R(Args...)> {};
template <class F>
requires requires { &F::operator(); }
struct Arity<F> : Arity<decltype(&F::operator())> {};

}  // namespace detail

// A compiled version of `function`, which takes Arrays and returns an Array, a tuple of Arrays or a
// vector of Arrays. The result is callable with as many Arrays and returns the same.
template <class F>
auto jit(F function, std::string name = {}) {
  using Signature = detail::Arity<std::decay_t<F>>;
  constexpr auto kIndices = std::make_index_sequence<Signature::value>();
  auto compiled = std::make_shared<const CompiledFunction>(
      [function = std::move(function), kIndices](std::span<const Array> inputs) mutable {
        return detail::flatten_results(detail::call_flat(function, inputs, kIndices));
      },
      std::move(name));
  return [compiled](const auto&... args) -> typename Signature::Result {
    static_assert(sizeof...(args) == Signature::value,
                  "farcall::jit: another number of arguments than the function takes");
    const Array inputs[] = {args..., Array()};  // one more: an array of size zero is not C++
    return detail::unflatten_results<typename Signature::Result>(
        (*compiled)(std::span(inputs, sizeof...(args))));
  };
}

}  // namespace farcall
