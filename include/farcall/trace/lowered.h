// jit(f).lower(args…) and its compile(): a program and an executable, with the structures of their
// arguments and results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/engine.h>
#include <farcall/trace/divisions.h>
#include <farcall/trace/tree_call.h>

namespace farcall {
namespace detail {

// Where an argument of a lowered call lies.
struct ArgumentPlace {
  std::vector<const Device*> devices = {};  // that it is committed to; empty: none
  std::optional<NamedSharding> sharding = {};
};
FARCALL_API ArgumentPlace place_of(const Array& argument);
FARCALL_API ArgumentPlace place_over(NamedSharding sharding);

struct FARCALL_API LoweredCall {
  std::string where;  // "jit(f)"
  ProgramPtr program;
  TreeDef arguments, result;
  std::vector<bool> donated;       // by leaf of the arguments
  const Device* device = nullptr;  // null: the mesh's first, or the default device at compile time
  // By leaf, or empty: the requested shardings of arguments and results, and those of the arguments
  // that the call was lowered for.
  Shardings in_shardings = {}, out_shardings = {}, shardings = {};

  // Sets the shardings and the device that the call is lowered for: the requested shardings of
  // arguments, else the places of the arguments. Raises INVALID_ARGUMENT, with the names of two
  // arguments, if they are on different devices.
  void place(Shardings requested, std::vector<ArgumentPlace> places,
             const std::function<std::string(size_t leaf)>& name_of);

  std::shared_ptr<const Executable> compile() const;
  // The shardings that arguments are moved to, by leaf: those requested, else those that the call
  // was lowered for, else whole on the devices of the mesh (that of the program if there is no
  // other). No values without a mesh.
  Shardings input_shardings() const;
  // Those of the results of the compiled program. No values without a mesh.
  Shardings output_shardings(const std::shared_ptr<const Executable>& executable) const;
  // The executable for arguments with these shardings.
  DividedRun divided(const std::shared_ptr<const Executable>& executable) const;
  // Runs a compiled program. Raises TypeError for arguments of another structure or of other types;
  // `name_of` names the argument in the message: "argument 0".
  std::vector<Array> run(const Executable& executable, const TreeDef& tree,
                         std::span<const Array> leaves,
                         const std::function<std::string(size_t leaf)>& name_of) const;

 private:
  bool is_placed() const {
    return !in_shardings.empty() || !out_shardings.empty() || !shardings.empty();
  }
  // The requested shardings, else those that the call was lowered for.
  Shardings wanted_inputs() const;
};

}  // namespace detail

// What Lowered and Compiled have in common.
class FARCALL_API LoweredProgram {
 public:
  explicit LoweredProgram(detail::LoweredCall call) : call_(std::move(call)) {}
  // Moving copies: a moved-from object remains usable.
  LoweredProgram(const LoweredProgram&) = default;
  LoweredProgram& operator=(const LoweredProgram&) = default;

  // For its cost, equations and drawing, see the headers of program/.
  const ProgramPtr& program() const { return call_.program; }
  // The program's text, as to_text() prints it.
  std::string as_text() const;
  // The structures of the tuple of arguments, and of the result.
  const TreeDef& in_tree() const { return call_.arguments; }
  const TreeDef& out_tree() const { return call_.result; }

 protected:
  detail::LoweredCall call_;
};

template <class Args, class Result>
class Compiled : public LoweredProgram {
 public:
  explicit Compiled(detail::LoweredCall call)
      : LoweredProgram(std::move(call)), executable_(call_.compile()) {}
  Compiled(const Compiled&) = default;
  Compiled& operator=(const Compiled&) = default;

  // Never records or compiles. Raises TypeError unless the arguments have the types and the
  // structure that it was lowered for; static arguments must be equal.
  template <detail::Argument... T>
  Result operator()(const T&... args) const {
    const Args all{args...};
    const TreeDef tree = detail::tree_of(all);
    const auto name_of = [&](size_t leaf) { return detail::argument_name(tree, leaf); };
    return detail::build<Result>(call_.result,
                                 call_.run(*executable_, tree, detail::flat(all), name_of));
  }
  // Its report() of foreign calls and its memory() use.
  const Executable& executable() const { return *executable_; }
  // Where arguments are moved to and results are, by leaf; no values without a mesh.
  Shardings input_shardings() const { return call_.input_shardings(); }
  Shardings output_shardings() const { return call_.output_shardings(executable_); }
  // The executable for arguments over a mesh with the shardings that the call was lowered for, and
  // how its calls are divided.
  DividedRun divided() const { return call_.divided(executable_); }

 private:
  std::shared_ptr<const Executable> executable_;
};

template <class Args, class Result>
class Lowered : public LoweredProgram {
 public:
  using LoweredProgram::LoweredProgram;
  Compiled<Args, Result> compile() const { return Compiled<Args, Result>(call_); }
};

}  // namespace farcall
