// What run and trace execute: a program and its arguments, made from the options.
#pragma once

#include <memory>
#include <vector>

#include <farcall/program/engine.h>
#include <farcall/trace/array.h>

#include "farcall/run_options.h"

namespace farcall::runner {

struct Job {
  ProgramPtr program;
  std::vector<Array> arguments;
};

// Registers the targets, reads the program and makes the arguments. Raises tools::Failure for
// options that do not fit, and Error if the program does not parse or a library does not load.
Job make_job(const command::RunOptions& options);

}  // namespace farcall::runner
