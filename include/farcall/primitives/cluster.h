// Parameters of cluster.
#pragma once

#include <tuple>

#include <farcall/program/params.h>
#include <farcall/program/program.h>

namespace farcall {

// cluster: runs `jaxpr`, and is the same as its equations. An engine makes clusters of elementwise
// equations and of reductions along the last dimensions, whose values it keeps in the cache.
struct ClusterParams {
  ProgramPtr jaxpr;
  static constexpr auto fields() { return std::tuple(field("jaxpr", &ClusterParams::jaxpr)); }
};

}  // namespace farcall
