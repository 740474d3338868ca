// jit: compiles a function once for each signature of its arguments and runs the compiled program.
#pragma once

#include <atomic>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/engine.h>
#include <farcall/trace/array.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/lowered.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/program_cache.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// Executables of the host by the types of their inputs. Thread-safe; lookups take no lock. Holds at
// most kMaxSize entries, which live as long as the cache; ProgramCache serves the others.
class FARCALL_API SignatureCache {
 public:
  static constexpr size_t kMaxSize = 256;

  SignatureCache();
  ~SignatureCache();
  SignatureCache(const SignatureCache&) = delete;
  SignatureCache& operator=(const SignatureCache&) = delete;

  // Null if there is none. Requires is_call_on_host(inputs).
  const Executable* find(std::span<const Array> inputs) const;
  // Returns the executable kept for these types: an earlier one if another thread inserted first,
  // null if the cache is full.
  const Executable* insert(std::shared_ptr<const Executable> executable);
  size_t size() const;

 private:
  struct Table;
  std::atomic<const Table*> table_;
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

// How executables are run. A front end may install a function that releases its lock (Python's GIL)
// during the run; the default calls execute().
using Executor = void (*)(const Executable& executable, std::span<const Storage* const> inputs,
                          std::span<Storage> outputs, const ExecutionOptions& options);
FARCALL_API void set_executor(Executor executor);

// Runs an executable on its device; inputs on other devices are moved there. The results are
// committed to the device if an input is committed, or with `is_committed`. Raises INVALID_ARGUMENT
// unless the arrays have the executable's input types.
FARCALL_API std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                                   const ExecutionOptions& options = {}, bool is_committed = false);
// The same, but deletes inputs that were donated when the program was compiled and that the run
// overwrote.
FARCALL_API std::vector<Array> run_donating(const Executable& executable,
                                            std::span<const Array> inputs,
                                            bool is_committed = false);

struct JitOptions {
  std::string name = {};
  // Donated arguments: their memory may be used for results. An array whose memory was used is
  // deleted. Memory that has other owners is not used.
  std::vector<int64_t> donate_argnums = {};
  // The device on which the function runs; null: see place_of_call().
  const Device* device = nullptr;
  // The shardings of arguments and results, by leaf; a single one applies to all leaves. Arguments
  // are moved. If a result has a sharding, uncommitted arguments are put whole on its devices, and
  // the calls that compute the result are divided accordingly. A call raises INVALID_ARGUMENT if
  // their number does not match, and for those that do not fit (Partition).
  Shardings in_shardings = {}, out_shardings = {};
};

namespace detail {

// Caches the programs of a function over trees by types, structure and static parts of its
// arguments. Thread-safe.
class FARCALL_API CompiledTrees {
 public:
  explicit CompiledTrees(JitOptions options);

  std::string where() const;
  // Returns the leaves of the result; call.result_tree() is its structure afterwards. `type` is the
  // type of the tuple of arguments. `is_fixed`: the C++ types determine the structures, so that
  // find() can find the program.
  std::vector<Array> operator()(TreeCall& call, const std::type_info& type, bool is_fixed) const;
  const Executable* find(std::span<const Array> leaves) const {
    return is_call_on_host(leaves) ? fixed_.find(leaves) : nullptr;
  }
  std::vector<Array> run(const Executable& executable, std::span<const Array> inputs,
                         bool is_committed = false) const;
  LoweredCall lower(TreeCall& call, const std::type_info& type) const;
  CacheInfo cache_info() const { return programs_.info(); }

 private:
  CachedProgramPtr find_or_record(TreeCall& call, const std::type_info& type,
                                  std::vector<Array>& captured) const;
  bool is_placed() const {
    return !options_.in_shardings.empty() || !options_.out_shardings.empty();
  }
  Shardings in_shardings(const TreeCall& call) const;
  Shardings out_shardings(const TreeDef& result, std::span<const ShapeDtype> types) const;
  std::vector<Array> run_placed(TreeCall& call, const CachedProgram& cached) const;
  std::vector<bool> donated_leaves(const TreeCall& call) const;

  JitOptions options_;
  mutable SignatureCache fixed_;
  mutable ProgramCache programs_;
};

FARCALL_API ProgramPtr record_call(TreeCall& call);

template <class T>
consteval size_t count_leaves() {
  if constexpr (std::same_as<T, Array>) {
    return 1;
  } else {
    return []<class... Parts>(const std::tuple<Parts...>*) {
      return (size_t{0} + ... + count_leaves<Parts>());
    }(static_cast<const PartsOf<T>*>(nullptr));
  }
}

// The cache keeps static arguments, so an argument that points to memory that it does not own is
// refused.
template <class T>
inline constexpr bool kOwnsItself =
    !std::is_same_v<T, std::string_view> &&
    (!std::is_pointer_v<T> || std::is_function_v<std::remove_pointer_t<T>>);
template <class... Args>
consteval bool can_be_kept(const std::tuple<Args...>*) {
  return ((holds_arrays<Args>() || (is_comparable<Args>() && kOwnsItself<Args>)) && ...);
}

template <class F>
class Jitted {
 public:
  using Parameters = detail::Parameters<F>;
  Jitted(F function, JitOptions options)
      : state_(std::make_shared<State>(std::move(function), std::move(options))) {}
  // Copies share the compiled programs. Moving copies: a moved-from object remains usable.
  Jitted(const Jitted&) = default;
  Jitted& operator=(const Jitted&) = default;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    using All = Kept<Args...>;
    using Result = ResultOf<F, All>;
    constexpr bool kIsFixed =
        !std::is_void_v<Parameters> && has_fixed_structure<All>() && has_fixed_structure<Result>();
    if constexpr (kIsFixed) {
      if (is_evaluating()) {
        constexpr size_t kCount = count_leaves<All>();
        Array leaves[kCount + 1];  // one more: C++ has no arrays of size zero
        collect<All>(leaves, std::index_sequence_for<Args...>(), args...);
        const std::span<const Array> inputs(leaves, kCount);
        if (const Executable* executable = state_->compiled.find(inputs)) {
          return build<Result>(fixed_tree<Result>(), state_->compiled.run(*executable, inputs));
        }
      }
    }
    TreeCallOf<F&, All> call(state_->compiled.where(), state_->function, {args...});
    const std::vector<Array> leaves = state_->compiled(call, typeid(All), kIsFixed);
    return call.result_of(leaves);
  }

  // Returns the program for such arguments, which can be inspected and compiled. Raises
  // LeakedTracerError if the function closes over traced arrays.
  template <Argument... Args>
  requires(takes<F, Args...>()) auto lower(const Args&... args) const {
    using All = Kept<Args...>;
    TreeCallOf<F&, All> call(state_->compiled.where(), state_->function, {args...});
    return Lowered<All, ResultOf<F, All>>(state_->compiled.lower(call, typeid(All)));
  }

  // Number of programs in the cache.
  size_t cache_size() const { return cache_info().size; }
  // The same with the numbers of programs that were added and evicted; set_cache_limit() sets the
  // limit.
  CacheInfo cache_info() const { return state_->compiled.cache_info(); }

 private:
  struct State {
    State(F function, JitOptions options)
        : function(std::move(function)), compiled(std::move(options)) {}
    F function;
    CompiledTrees compiled;
  };

  template <class All>
  struct CheckKept {
    static_assert(can_be_kept(static_cast<const All*>(nullptr)),
                  "farcall::jit: an argument that holds no arrays is static: its type needs "
                  "operator==, and must own its value (std::string, not const char*)");
    using type = All;
  };
  template <class... Args>
  using Kept = typename CheckKept<Arguments<F, Args...>>::type;

  template <class All, size_t... I, class... Args>
  static void collect([[maybe_unused]] Array* next, std::index_sequence<I...>,
                      const Args&... args) {
    [[maybe_unused]] const auto add = [&](const Array& leaf) { *next++ = leaf; };
    (each_leaf(static_cast<const std::tuple_element_t<I, All>&>(args), add), ...);
  }

  std::shared_ptr<State> state_;
};

}  // namespace detail

// A compiled version of `function`. It is compiled once for each combination of types, structures
// and static parts of the arguments. A parameter whose type holds no arrays is static: the function
// is compiled for each value.
template <class F>
auto jit(F function, JitOptions options = {}) {
  return detail::Jitted<F>(std::move(function), std::move(options));
}

// make_jaxpr(f)(args…) returns the program that `function` records for such arguments.
template <class F>
auto make_jaxpr(F function) {
  return [function = std::move(function)]<detail::Argument... Args>(
      const Args&... args) mutable requires(detail::takes<F, Args...>()) {
    using All = detail::Arguments<F, Args...>;
    detail::TreeCallOf<F&, All> call("make_jaxpr", function, {args...});
    return detail::record_call(call);
  };
}

}  // namespace farcall
