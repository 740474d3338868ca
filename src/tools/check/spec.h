// The input of a check: the handler, its operands, and the options of the command.
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
  std::array<std::string, kNumStages> stages;  // symbols; empty without such a stage
  std::vector<Operand> arguments;
  std::vector<Operand> results;
  Attributes attributes;
  std::vector<std::pair<size_t, size_t>> aliases;     // argument, result
  std::map<std::string, std::vector<int64_t>> sizes;  // given sizes of letters
  std::string reference;      // "library:symbol" of a handler with correct results; or empty
  bool has_operands = false;  // operands were given, not taken from the signature
  bool is_named = false;      // its symbol was given, not found in the library
  std::string problem;        // why the handler cannot be called
  // Variants with other ranks for operands of open rank, used if the handler refuses every call.
  std::vector<CheckSpec> alternatives;

  std::string name() const { return library + ":" + symbol; }
  std::string call_text() const;  // "f32[N,64], s32[] -> f32[N,64]"
};

struct CheckOptions {
  uint64_t seed = 0;
  double timeout = 120;            // seconds, for one handler
  double call_timeout = 2;         // seconds, for one call
  int num_threads = 4;             // number of concurrent calls
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

// Completes the spec from the signatures of the library: operands, attributes, stages. Operands of
// open rank get `open_rank`. Raises Failure if operands are neither given nor declared.
void complete(CheckSpec& spec, const Json& inspection, int64_t open_rank = 1);

// The letters of all operands, in order.
std::vector<std::string> letters_of(const CheckSpec& spec);

// Raises Failure(kUsage) if parts of the spec contradict each other.
void verify(const CheckSpec& spec);

// The checks of a TOML file; see docs/check.md.
std::vector<CheckSpec> read_check_file(const std::string& path);

}  // namespace farcall::tools
