// farcall new: creates a project around one kernel, which builds, passes its tests and makes a
// wheel.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/core/quote.h>

#include "farcall/commands.h"
#include "farcall/template_files.h"
#include "tools/failure.h"
#include "tools/json.h"
#include "tools/operand.h"
#include "tools/python.h"
#include "tools/terminal.h"

namespace farcall::command {
namespace {

namespace fs = std::filesystem;
using tools::Failure;
using tools::Style;

// Names in the template that the project's own names replace.
constexpr std::string_view kTemplateName = "my_kernel", kTemplateType = "MyKernel";

// Names, separated by spaces, that a project cannot have, and what they are.
struct Taken {
  std::string_view what, names;
};
constexpr Taken kTaken[] = {
    {"a keyword of C++ or Python",
     "alignas alignof and and_eq as asm assert async await auto bitand bitor bool break case "
     "catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept "
     "const const_cast consteval constexpr constinit continue decltype def default del delete "
     "do double dynamic_cast elif else enum except explicit export extern false finally float "
     "for friend from global goto if import in inline int is lambda long mutable namespace new "
     "noexcept nonlocal not not_eq nullptr operator or or_eq pass private protected public "
     "raise register reinterpret_cast requires return short signed sizeof static static_assert "
     "static_cast struct switch template this thread_local throw true try typedef typeid "
     "typename union unsigned using virtual void volatile wchar_t while with xor xor_eq yield"},
    {"a macro of C++ compilers", "linux unix"},
    // Those that the project needs, and test, which sys.stdlib_module_names leaves out.
    {"the name of a Python package",
     "farcall jax jaxlib ml_dtypes numpy pip pytest scikit_build_core test"},
    {"a name that the project's files use", "build dist ffi main std tests xla"},
};

struct NewArguments {
  std::string name, header = "farcall", folder;
  bool has_cuda = false, is_json = false;
};

// What else has the name; empty if nothing has.
std::string_view what_has(const std::string& name) {
  for (const auto& [what, names] : kTaken) {
    if (std::ranges::count(tools::split(names, ' '), name)) return what;
  }
  // The handler is a C function of this name.
  if (dlsym(RTLD_DEFAULT, name.c_str()) != nullptr) return "a function of the C library";
  const std::string answer =
      tools::ask_python(fmt::format("import sys; print('{}' in sys.stdlib_module_names)", name));
  return answer.starts_with("True") ? "a module of Python's standard library" : "";
}

void check_name(const std::string& name) {
  const auto fits = [](char c) { return std::islower(c) || std::isdigit(c) || c == '_'; };
  if (name.empty() || !std::islower(name[0]) || !std::ranges::all_of(name, fits)) {
    throw Failure(tools::kUsage,
                  fmt::format("new: invalid kernel name {}: use lower-case letters, digits and _, "
                              "such as rms_norm.",
                              farcall::quoted(name)));
  }
  const std::string_view taken = what_has(name);
  if (taken.empty()) return;
  throw Failure(tools::kUsage, fmt::format("new: {} is {}; choose another name, such as my_{}.",
                                           farcall::quoted(name), taken, name));
}

// "rms_norm" as "RmsNorm".
std::string type_name(const std::string& name) {
  std::string text;
  bool is_first = true;
  for (const char c : name) {
    if (c != '_') text += is_first ? static_cast<char>(std::toupper(c)) : c;
    is_first = c == '_';
  }
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

bool is_about_cuda(std::string_view path) {
  return path.find("cuda") != std::string_view::npos || path.ends_with(".cu");
}

// The files of the project and their texts. Leaves out the files for the other header, and those
// for CUDA unless it is wanted.
std::vector<std::pair<std::string, std::string>> project_files(const NewArguments& options) {
  const std::string own = "." + options.header + ".";
  const std::string other = options.header == "xla" ? ".farcall." : ".xla.";
  std::vector<std::pair<std::string, std::string>> files;
  std::string cuda_lines;
  for (const TemplateFile& file : kTemplateFiles) {
    if (file.path.find(other) != std::string_view::npos) continue;
    if (is_about_cuda(file.path) && !options.has_cuda) continue;
    const auto text = [&](std::string_view raw) {
      return replaced(replaced(std::string(raw), kTemplateName, options.name), kTemplateType,
                      type_name(options.name));
    };
    if (file.path == "CMakeLists.cuda.txt") {
      cuda_lines = text(file.text);
    } else {
      files.emplace_back(replaced(text(file.path), own, "."), text(file.text));
    }
  }
  for (auto& [path, text] : files) {
    if (path == "CMakeLists.txt") text += cuda_lines;
  }
  return files;
}

void write_file(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw Failure(tools::kCouldNotRun, fmt::format("new: {} cannot be written.", path.string()));
}

int run(const NewArguments& options) {
  check_name(options.name);
  const fs::path folder = options.folder.empty() ? options.name : options.folder;
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    throw Failure(tools::kUsage,
                  fmt::format("new: {} exists already, and is not empty. Choose another name, or "
                              "another folder with --folder.",
                              folder.string()));
  }
  tools::Json files = tools::Json::array();
  for (const auto& [path, text] : project_files(options)) {
    write_file(folder / path, text);
    files.push_back(path);
  }
  if (options.is_json) {
    fmt::print("{}\n", tools::Json({{"folder", folder.string()}, {"files", files}}).dump(2));
    return tools::kFine;
  }
  fmt::print("{}: a project with {} files; the handler is in {}\n",
             tools::styled(Style::kBold, folder.string()), files.size(),
             (folder / "src" / (options.name + ".cpp")).string());
  fmt::print("  cd {}\n  pip install --no-build-isolation .\n  pytest tests\n", folder.string());
  return tools::kFine;
}

}  // namespace

Action add_new(CLI::App& app) {
  auto options = std::make_shared<NewArguments>();
  CLI::App* command = app.add_subcommand(
      "new", "Makes a project: a kernel with its derivative, tests, benchmark, Python package.");
  command->add_option("name", options->name, "Of the kernel, of the package and of the folder")
      ->required();
  command->add_option("--header", options->header, "What the handler is written with")
      ->check(CLI::IsMember({"farcall", "xla"}))
      ->capture_default_str();
  command->add_flag("--cuda", options->has_cuda, "Add the same handler for CUDA");
  command->add_option("--folder", options->folder, "Where to put it");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "It builds with CMake and scikit-build-core, and works in farcall and in JAX.\n"
      "Example: farcall new rms_norm");
  return [options] { return run(*options); };
}

}  // namespace farcall::command
