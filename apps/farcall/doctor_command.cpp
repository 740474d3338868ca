// farcall doctor: checks that everything needed to build and run kernels is installed.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "farcall/commands.h"
#include "tools/child.h"
#include "tools/failure.h"
#include "tools/inspect.h"
#include "tools/operand.h"
#include "tools/python.h"
#include "tools/terminal.h"

namespace farcall::command {
namespace {

using tools::Style;

struct Finding {
  std::string name;
  bool is_fine;
  bool is_needed;
  std::string text;  // what was found
  std::string mend;  // how to fix it
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string compiler() {
  const char* chosen = std::getenv("CXX");
  std::vector<std::string> names = {"c++", "g++", "clang++"};
  if (chosen && *chosen) names.insert(names.begin(), chosen);
  for (const std::string& name : names) {
    if (tools::run_program({name, "--version"}, 10).is_fine()) return name;
  }
  return "";
}

Finding check_program(const std::string& name, const std::string& what, const std::string& package,
                      bool is_needed) {
  const auto result = tools::run_program({name, "--version"}, 10);
  return {what, result.is_fine(), is_needed,
          result.is_fine() ? first_line(result.output) : "not found",
          fmt::format("apt-get install {}", package)};
}

// Compiles a small kernel as its author would.
Finding check_build(const std::string& compiler, const std::string& headers) {
  constexpr std::string_view kSource =
      "#include <farcall/ffi.h>\n"
      "static void nothing(farcall::ffi::Buffer<farcall::ffi::F32>) {}\n"
      "FARCALL_DEFINE_HANDLER(doctor, nothing);\n";
  char folder[] = "/tmp/farcall_doctor_XXXXXX";
  if (!mkdtemp(folder))
    return {"kernel", false, true, "no temporary folder could be made", "free some space in /tmp"};
  const std::string source = fmt::format("{}/kernel.cc", folder),
                    library = fmt::format("{}/kernel.so", folder);
  std::ofstream(source) << kSource;
  const auto result = tools::run_program(
      {compiler, "-std=c++17", "-shared", "-fPIC", "-I" + headers, "-o", library, source}, 60,
      /*with_errors=*/true);
  Finding finding = {"kernel", result.is_fine(), true, "a kernel of five lines builds and loads",
                     "see the compiler's message"};
  if (!result.is_fine()) {
    finding.text =
        fmt::format("a kernel of five lines does not build: {}", first_line(result.output));
  } else {
    try {
      finding.is_fine =
          tools::inspect(library, {.filter = "", .runtime = {}})["handlers"].size() == 1;
    } catch (const tools::Failure& failure) {
      finding.is_fine = false;
      finding.text = failure.what();
      finding.mend = "build for this machine";
    }
  }
  std::filesystem::remove_all(folder);
  return finding;
}

std::string fact(const Environment& environment, const std::string& name) {
  for (const auto& [key, value] : environment.facts) {
    if (key == name) return value;
  }
  return "none";
}

std::string package_version(const std::string& packages, const std::string& name) {
  for (const std::string& package : tools::split(packages, ',')) {
    if (package.starts_with(name + " ")) return package;
  }
  return "";
}

Finding check_package(const std::string& packages, const std::string& name, bool is_needed,
                      const std::string& use) {
  const std::string version = package_version(packages, name);
  return {name, !version.empty(), is_needed, version.empty() ? "not installed; " + use : version,
          fmt::format("pip install {}", name)};
}

Finding check_plugin(const tools::PjrtPlugin& plugin) {
  if (plugin.path.empty())
    return {"pjrt", false, false, "no plugin; only for the engine pjrt",
            "pip install lammps-jax-pjrt-cpu, or set FARCALL_PJRT_PLUGIN to the plugin's path"};
  return {"pjrt", plugin.problem.empty(), false, plugin.to_string(),
          "set FARCALL_PJRT_PLUGIN to another plugin; docs/engines.md has the order in which they "
          "are looked for"};
}

std::vector<Finding> examine() {
  const Environment facts = environment();
  std::vector<Finding> findings;
  const std::string cxx = compiler();
  findings.push_back(cxx.empty()
                         ? Finding{"compiler", false, true, "not found", "apt-get install g++"}
                         : check_program(cxx, "compiler", "g++", true));
  const std::string headers = fact(facts, "headers");
  const bool has_headers = headers != "none";
  findings.push_back({"headers", has_headers, true,
                      has_headers ? headers : "farcall/ffi.h not found",
                      "pip install farcall, or cmake --install of the source tree"});
  if (!cxx.empty() && has_headers) findings.push_back(check_build(cxx, headers));
  findings.push_back(check_program("cmake", "cmake", "cmake", false));
  findings.push_back(check_plugin(facts.plugin));
  const bool has_python = fact(facts, "python") != "none";
  findings.push_back({"python", has_python, false, has_python ? fact(facts, "python") : "not found",
                      "apt-get install python3 python3-venv"});
  if (has_python) {
    const std::string packages = fact(facts, "packages");
    findings.push_back(check_package(packages, "farcall", false, "programs in Python need it"));
    findings.push_back(check_package(packages, "numpy", false, "farcall in Python needs it"));
    findings.push_back(check_package(packages, "jax", false, "only to run kernels in JAX"));
  }
  return findings;
}

int run(bool is_json) {
  const auto findings = examine();
  bool is_fine = true;
  tools::Json json = tools::Json::array();
  for (const Finding& finding : findings) {
    is_fine &= finding.is_fine || !finding.is_needed;
    const char* state = finding.is_fine ? "ok" : finding.is_needed ? "missing" : "optional";
    json.push_back({{"name", finding.name}, {"state", state}, {"text", finding.text}});
    if (!finding.is_fine) json.back()["mend"] = finding.mend;
    if (is_json) continue;
    const Style style = finding.is_fine     ? Style::kGreen
                        : finding.is_needed ? Style::kRed
                                            : Style::kYellow;
    fmt::print("{} {:<10} {}\n", tools::styled(style, fmt::format("{:<8}", state)), finding.name,
               finding.text);
    if (!finding.is_fine) fmt::print("{:<19} mend: {}\n", "", finding.mend);
  }
  if (is_json) fmt::print("{}\n", tools::Json({{"fine", is_fine}, {"parts", json}}).dump(2));
  return is_fine ? tools::kFine : tools::kFindings;
}

}  // namespace

Action add_doctor(CLI::App& app) {
  auto is_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor", "Tells what is missing to build and run kernels, and how to mend it.");
  command->add_flag("--json", *is_json, "Print JSON");
  command->footer("Exit codes: 0 nothing is missing, 1 something is.\nExample:    farcall doctor");
  return [is_json] { return run(*is_json); };
}

}  // namespace farcall::command
