// What is checked, and how: the handler, its operands, and the options of the command.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <farcall/ffi/stage.h>

#include "tools/json.h"
#include "tools/operand.h"

namespace farcall::tools {

struct CheckSpec {
  std::string library;  // a path, or the name of a Python module
  std::string symbol;
  std::array<std::string, kNumStages> stages;  // symbols; empty where there is no such stage
  std::vector<Operand> arguments;
  std::vector<Operand> results;
  Attributes attributes;
  std::vector<std::pair<size_t, size_t>> aliases;     // argument, result
  std::map<std::string, std::vector<int64_t>> sizes;  // given for letters
  std::string reference;  // "library:symbol" of a handler that gives the right results; or empty
  bool has_operands = false;  // they were given, not taken from the signature
  std::string problem;        // why there is nothing to call
  // Other ranks for operands of open rank, should the handler refuse every call.
  std::vector<CheckSpec> alternatives;

  std::string name() const { return library + ":" + symbol; }
  std::string call_text() const;  // "f32[N,64], s32[] -> f32[N,64]"
};

struct CheckOptions {
  uint64_t seed = 0;
  double timeout = 120;            // seconds, for one handler
  double call_timeout = 2;         // seconds, for one call
  int num_threads = 4;             // that call at once
  size_t alignment = 64;           // of the operands, in bytes
  std::vector<std::string> kinds;  // report these only; empty: all
  bool shows_progress = true;
};

// "arg0=1,0"
void parse_layout(std::string_view text, CheckSpec& spec);
// "0:0"
void parse_alias(std::string_view text, CheckSpec& spec);
// "instantiate=symbol,prepare=symbol"
void parse_stages(std::string_view text, CheckSpec& spec);
// "N=1,2,3"
void parse_sizes(std::string_view text, CheckSpec& spec);
// "arg0=0:9"
void parse_range(std::string_view text, CheckSpec& spec);

// Takes what was not given from the signatures of the library: operands, attributes, stages.
// Operands of open rank get this one. Raises Failure where nothing is known.
void complete(CheckSpec& spec, const Json& inspection, int64_t open_rank = 1);

// The letters of the operands, in order.
std::vector<std::string> letters_of(const CheckSpec& spec);

// Raises Failure(kUsage) for what does not fit together.
void verify(const CheckSpec& spec);

// The checks of a TOML file; see docs/check.md.
std::vector<CheckSpec> read_check_file(const std::string& path);

}  // namespace farcall::tools
