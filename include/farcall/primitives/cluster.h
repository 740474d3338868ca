// Parameters of cluster.
#pragma once

#include <tuple>

#include <farcall/program/params.h>
#include <farcall/program/program.h>

namespace farcall {

// cluster: runs `jaxpr`; equivalent to its equations. An engine forms clusters of elementwise
// equations and of reductions along the last dimensions, and keeps their values in the cache.
struct ClusterParams {
  ProgramPtr jaxpr;
  static constexpr auto fields() { return std::tuple(field("jaxpr", &ClusterParams::jaxpr)); }
};

}  // namespace farcall
