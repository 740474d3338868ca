// Reports how the calls of a program on arrays over a mesh run: divided among the devices, or once
// on whole arrays.
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

// The shardings of arrays, by leaf; no value if the sharding is unspecified.
using Shardings = std::vector<std::optional<NamedSharding>>;

// A foreign call or a custom_partitioning.
struct DivisionReport {
  std::string target_name;
  std::string rule;          // the rule that divided it; empty if it runs once
  std::string why_not;       // why it was not divided; empty if it was
  bool is_gathered = false;  // runs once, and its split operands are gathered
  SourceLocationPtr where;   // may be null

  bool is_divided() const { return why_not.empty(); }
};
// One line for each call.
FARCALL_API std::string to_text(std::span<const DivisionReport> calls);

// Whether runs on uncommitted inputs use all devices of a mesh, because the program contains a
// shard_map or a sharding constraint that was recorded with one.
FARCALL_API bool has_home(const Executable& executable);

// The executable for inputs with given shardings, a report on each of its calls, in program order,
// and the shardings of its results. If no input lies over a mesh, this is the undivided executable,
// and there are no reports and no shardings.
struct DividedRun {
  std::shared_ptr<const Executable> executable;
  std::vector<DivisionReport> calls;
  Shardings results;
};
FARCALL_API DividedRun divided_run(const std::shared_ptr<const Executable>& executable,
                                   const Shardings& inputs);

}  // namespace farcall
