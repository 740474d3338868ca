// Parameters of primitives that hold programs: scan, while and cond.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>
#include <farcall/program/program.h>

namespace farcall {

// scan: runs `jaxpr` `length` times. Operands: num_consts constants, num_carry initial values of
// the carry, then arrays whose leading dimension is `length`. The program takes the constants, the
// carry and one slice of each array, and returns the carry and one slice of each further result.
// Results: the last carry, then the slices stacked. `reverse` runs from the last slice to the
// first.
struct ScanParams {
  ProgramPtr jaxpr;
  int64_t length = 0;
  int64_t num_carry = 0;
  int64_t num_consts = 0;
  bool reverse = false;
  int64_t unroll = 1;
  static constexpr auto fields() {
    return std::tuple(field("jaxpr", &ScanParams::jaxpr), field("length", &ScanParams::length),
                      field("num_carry", &ScanParams::num_carry),
                      field("num_consts", &ScanParams::num_consts),
                      field("reverse", &ScanParams::reverse), field("unroll", &ScanParams::unroll));
  }
};

// while: runs `body_jaxpr` as long as `cond_jaxpr`, which returns one bool, is true. Operands: the
// constants of the condition, those of the body, the initial carry. Both programs take their
// constants and the carry. Results: the last carry.
struct WhileParams {
  ProgramPtr body_jaxpr;
  int64_t body_nconsts = 0;
  ProgramPtr cond_jaxpr;
  int64_t cond_nconsts = 0;
  static constexpr auto fields() {
    return std::tuple(field("body_jaxpr", &WhileParams::body_jaxpr),
                      field("body_nconsts", &WhileParams::body_nconsts),
                      field("cond_jaxpr", &WhileParams::cond_jaxpr),
                      field("cond_nconsts", &WhileParams::cond_nconsts));
  }
};

// cond: runs one of `branches`, which have the same types. Operands: the number of the branch
// (int32, clamped to the valid range), then the operands of the branches.
struct CondParams {
  std::vector<ProgramPtr> branches;
  static constexpr auto fields() { return std::tuple(field("branches", &CondParams::branches)); }
};

}  // namespace farcall
