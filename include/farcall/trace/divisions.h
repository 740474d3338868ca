// What became of the calls of a program that runs on arrays over a mesh: divided among the devices,
// or run once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/engine.h>
#include <farcall/program/sharding.h>

namespace farcall {

// How arrays lie, by leaf; nothing where nothing is said.
using Shardings = std::vector<std::optional<NamedSharding>>;

// A foreign call, or a custom_partitioning.
struct DivisionReport {
  std::string target_name;
  std::string rule;          // by which it was divided; empty where it runs once
  std::string why_not;       // empty where it was divided
  bool is_gathered = false;  // it runs once, and operands that are split are put together for that
  SourceLocationPtr where;   // may be null

  bool is_divided() const { return why_not.empty(); }
};
// A line for each.
FARCALL_API std::string to_text(std::span<const DivisionReport> calls);

// What runs for inputs that lie so, and what becomes of its calls, in program order. None for
// inputs of which none lies over a mesh: then the executable itself runs.
struct DividedRun {
  std::shared_ptr<const Executable> executable;
  std::vector<DivisionReport> calls;
};
FARCALL_API DividedRun divided_run(const std::shared_ptr<const Executable>& executable,
                                   const Shardings& inputs);

}  // namespace farcall
