// What run and trace run: a program with its arguments, from the options.
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
// options that do not fit, Error for a program that does not parse or a library that does not load.
Job make_job(const command::RunOptions& options);

}  // namespace farcall::runner
