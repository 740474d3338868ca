#include "farcall/run_options.h"

#include <CLI/CLI.hpp>

#include "farcall/validators.h"

namespace farcall::command {
namespace {

void add_common(CLI::App& command, RunOptions& o) {
  command
      .add_option("program", o.program,
                  "A file of program text, a saved program, - for text from standard input, or a "
                  "handler, LIBRARY:SYMBOL")
      ->required();
  command
      .add_option("--arg", o.arguments,
                  "An argument, in order: 'f32[4]=1,2,3,4', 'f32[4]=0', x.npy, 'f32[4]' or random. "
                  "Those that are left out are random")
      ->allow_extra_args(false);
  command
      .add_option("--lib", o.libraries,
                  "A target that the program calls: LIBRARY:SYMBOL=TARGET, or LIBRARY:SYMBOL where "
                  "both have one name. SYMBOL_instantiate and so on are its other stages")
      ->allow_extra_args(false);
  command.add_option("--ret", o.results, "A result of a handler: 'f32[4]'")
      ->allow_extra_args(false)
      ->group("A handler");
  command.add_option("--attr", o.attributes, "An attribute of a handler: eps:f32=1e-5")
      ->allow_extra_args(false)
      ->group("A handler");
  command.add_flag("--check", o.is_checked,
                   "Run foreign calls between guards; what they do wrong ends the run with 1");
  command.add_option("--seed", o.seed, "Of random arguments")->check(not_negative());
  command.add_option("--timeout", o.timeout, "Seconds after which the run ends with 124")
      ->check(positive());
  command.add_flag("--json", o.is_json, "Print JSON");
}

}  // namespace

CLI::App* add_run_options(CLI::App& app, RunOptions& options) {
  CLI::App* command = app.add_subcommand(
      "run", "Runs a program, or one call of a handler, and prints the results.");
  add_common(*command, options);
  command->add_option(
      "--save", options.save,
      "Write the results as .npy files: out.npy, or out.0.npy, out.1.npy and so on if "
      "there are several");
  command->footer(
      "Example: farcall run model.txt --lib librms_norm.so:rms_norm --arg 'f32[2,3]=1' --arg "
      "w.npy");
  return command;
}

CLI::App* add_trace_options(CLI::App& app, RunOptions& options) {
  CLI::App* command =
      app.add_subcommand("trace", "Runs a program, or a handler, and tells what takes the time.");
  add_common(*command, options);
  command
      ->add_option("--out", options.output,
                   "Where the trace goes, for chrome://tracing and ui.perfetto.dev")
      ->capture_default_str();
  command->add_option("--runs", options.num_runs, "How often it is run")
      ->check(positive())
      ->capture_default_str();
  command->footer(
      "Example: farcall trace model.txt --lib librms_norm.so:rms_norm --out trace.json");
  return command;
}

}  // namespace farcall::command
