#include "tools/python.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <farcall/core/quote.h>

#include "tools/child.h"
#include "tools/failure.h"
#include "tools/json.h"
#include "tools/operand.h"

namespace farcall::tools {
namespace {

// Finds capsules that are members of a module, or results of its functions: a capsule, a dict by
// stage or by name, or jaxlib's lists of (name, capsule, version). A function is called if it takes
// no arguments and its signature or code mentions capsules, or if the user named it. Compiled
// modules may have a function initialize(), as jaxlib's do, which is called first.
constexpr std::string_view kListCapsules = R"---(
import ctypes, dis, importlib, json, os, re, types
point = ctypes.pythonapi.PyCapsule_GetPointer
point.restype, point.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
stages = ("instantiate", "prepare", "initialize", "execute", "record")
found, failed = {}, {}
def walk(name, value, stage="execute"):
    if type(value).__name__ == "PyCapsule":
        if b"API" not in (name_of(value) or b""):  # that of an interface, such as numpy's
            found.setdefault((name, stage), point(value, name_of(value)))
    elif isinstance(value, dict):
        for key, item in value.items():
            if str(key).lower() in ("cuda", "rocm", "gpu", "tpu"):
                continue
            is_stage = key in stages and name
            walk(name if is_stage else str(key), item, key if is_stage else "execute")
    elif isinstance(value, (list, tuple)):
        if len(value) >= 2 and isinstance(value[0], str):
            if len(value) < 3 or value[2] != 0:
                walk(value[0], value[1])
        else:
            for item in value:
                walk("", item)
def is_compiled(value):
    path = getattr(value, "__file__", None) or ""
    return isinstance(value, types.ModuleType) and path.endswith((".so", ".pyd"))
def takes_nothing(function):
    code = function.__code__
    num_defaults = len(function.__defaults__ or ()) + len(function.__kwdefaults__ or ())
    is_plain = not code.co_flags & 0x2a0  # no generator, no coroutine
    return is_plain and code.co_argcount + code.co_kwonlyargcount == num_defaults
def gives_capsules(function):
    if not isinstance(function, types.FunctionType):  # nanobind and pybind11 tell the signature
        told = str(getattr(function, "__doc__", "")).split("\n")[0]
        return re.match(r"\w+\(\) -> (object$|dict|.*[Cc]apsule)", told)
    if not takes_nothing(function):
        return False
    if "return" in function.__annotations__:
        told = function.__annotations__["return"]
        told = told if isinstance(told, str) else getattr(told, "__name__", str(told))
        return re.search(r"^object$|^(typing.)?Any$|[Dd]ict|Mapping|[Cc]apsule", told)
    return returns_something(function) and speaks_of_capsules(function, set())
def returns_something(function):
    code = list(dis.get_instructions(function))
    return any(after.opname == "RETURN_VALUE" and before.argval is not None
               for before, after in zip(code, code[1:]))
def speaks_of_capsules(function, seen):
    seen.add(function)
    names = function.__code__.co_names
    values = [function.__globals__.get(name) for name in names]
    if any("capsule" in name.lower() for name in names) or any(
            is_compiled(value) or isinstance(value, ctypes.CDLL) for value in values):
        return True
    return any(isinstance(value, types.FunctionType) and value.__module__ == function.__module__
               and value not in seen and speaks_of_capsules(value, seen) for value in values)
def call(name, function):
    try:
        walk("" if name == "registrations" else name, function())
    except BaseException as error:
        failed[name] = f"calling it raised {type(error).__name__}: {error}"
def main(module_name, wanted, out):
    try:
        list_capsules(importlib.import_module(module_name), module_name, wanted)
    except BaseException as error:
        failed[None] = f"{type(error).__name__}: {error}"
    for (name, stage), address in found.items():
        line = {"name": name, "stage": stage, "address": address}
        os.write(out, (json.dumps(line) + "\n").encode())
    for name, why in failed.items():
        os.write(out, (json.dumps({"name": name, "problem": why}) + "\n").encode())
def list_capsules(module, module_name, wanted):
    package = module_name.split(".")[0]
    parts = [module] + [
        part for part in vars(module).values()
        if is_compiled(part) and part.__name__.split(".")[0] == package]
    for part in parts:
        if is_compiled(part) and callable(getattr(part, "initialize", None)):
            try:
                part.initialize()
            except BaseException as error:
                failed["initialize"] = f"calling it raised {type(error).__name__}: {error}"
    members = [(name, value) for part in parts for name, value in vars(part).items()]
    for part in parts:
        if callable(getattr(part, "registrations", None)):
            call("registrations", part.registrations)
    for name, value in members:
        if type(value).__name__ == "PyCapsule" or (isinstance(value, dict) and name[:2] != "__"):
            walk(name, value)
    for name, value in members:
        if name == "registrations" or isinstance(value, type) or not callable(value):
            continue
        is_python = isinstance(value, types.FunctionType)
        if name == wanted and not any(key[0] == name for key in found):
            if not is_python or takes_nothing(value):
                call(name, value)
            else:
                failed[name] = "the function takes arguments"
        elif name[0] != "_" and (not is_python or value.__module__ == module_name):
            if gives_capsules(value):
                call(name, value)
)---";

// Calls a function, copies what it returns into the results, and writes what goes wrong.
constexpr std::string_view kCallFunction = R"---(
import ctypes, importlib, os
def report(out, module, name, call, results):
    try:
        call_function(module, name, call, results)
    except BaseException as error:
        told = str(error) if type(error) is Refusal else f"it raises {type(error).__name__}: {error}"
        os.write(out, told.encode(errors="replace"))
class Refusal(Exception):
    pass
def call_function(module, name, call, results):
    global np
    try:
        import numpy as np
        import ml_dtypes
    except ImportError as error:
        if error.name == "numpy":
            raise Refusal("there is no module numpy, which references in Python need")
    try:
        function = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module + ".").startswith(error.name + "."):
            raise Refusal(f"there is no module {error.name}")
        raise
    for part in name.split("."):
        if not hasattr(function, part):
            raise Refusal(f"module {module} has no function {name}")
        function = getattr(function, part)
    found = call(function)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    results = results()
    if len(found) != len(results):
        raise Refusal(f"it returned {len(found)} arrays, wanted {len(results)}")
    for i, (result, value) in enumerate(zip(results, found)):
        value = np.asarray(value)
        if value.shape != result.shape:
            raise Refusal(f"it returned shape {value.shape} for result {i}, wanted {result.shape}")
        result[...] = value
)---";

constexpr std::string_view kDescribePython = R"(
import os, sys, sysconfig
get = sysconfig.get_config_var
print(os.path.join(get("LIBDIR") or "", get("INSTSONAME") or get("LDLIBRARY") or ""))
print(os.pathsep.join(p or os.getcwd() for p in sys.path))
print(sys.base_prefix)
)";

// A Python expression for the value.
std::string python_value(const Attribute& value) {
  if (value.kind() == Attribute::Kind::kString) return farcall::quoted(value.as_string());
  if (value.kind() == Attribute::Kind::kDictionary) {
    std::vector<std::string> parts;
    for (const auto& [key, item] : value.as_dictionary())
      parts.push_back(fmt::format("\"{}\": {}", key, python_value(item)));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  const std::string text = value.typed().to_string();
  const std::string number = text.substr(0, text.rfind(':'));
  const bool is_array = value.kind() == Attribute::Kind::kArray;
  return is_array ? fmt::format("np.array({}, \"{}\")", number, dtype_name(value.dtype()))
                  : fmt::format("np.{}({})", dtype_name(value.dtype()), number);
}

// A Python expression for an array in memory of this process.
std::string python_array(const RawBuffer& buffer) {
  const ShapeDtype& type = buffer.type;
  if (type.nbytes() == 0) {
    return fmt::format("np.empty(({}{}), \"{}\")", fmt::join(type.shape(), ", "),
                       type.rank() == 1 ? "," : "", dtype_name(type.dtype()));
  }
  return fmt::format("np.frombuffer((ctypes.c_byte * {}).from_address({}), \"{}\").reshape({})",
                     type.nbytes(), reinterpret_cast<uintptr_t>(buffer.data),
                     dtype_name(type.dtype()),
                     type.rank() == 0 ? "()" : fmt::format("{}", fmt::join(type.shape(), ", ")));
}

template <typename Function>
Function* python_function(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(library, name));
  if (!found) throw Failure(kCouldNotRun, fmt::format("Python's library has no {}.", name));
  return found;
}

void* load_interpreter(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    library = dlopen(std::filesystem::path(path).filename().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library) return library;
  throw Failure(kCouldNotRun,
                fmt::format("Python modules need a Python with a shared library, and {} does not "
                            "load. On Debian: apt-get install python3-dev.",
                            path));
}

// Starts the interpreter once per process. Its lock is released between scripts, because handlers
// may take it.
void* interpreter() {
  static void* library = [] {
    const auto lines = split(ask_python(std::string(kDescribePython)), '\n');
    if (lines.size() < 3)
      throw Failure(kCouldNotRun, fmt::format("{} does not run.", find_python()));
    void* loaded = load_interpreter(lines[0]);
    // An embedded interpreter takes the first python3 in the path for its own, and with it the
    // packages of that one's environment.
    const std::string folder = std::filesystem::path(find_python()).parent_path();
    const char* path = std::getenv("PATH");
    setenv("PATH", fmt::format("{}:{}", folder, path ? path : "").c_str(), 1);
    setenv("PYTHONPATH", lines[1].c_str(), 1);
    setenv("PYTHONHOME", lines[2].c_str(), 1);
    python_function<void(int)>(loaded, "Py_InitializeEx")(0);
    python_function<void*()>(loaded, "PyEval_SaveThread")();
    return loaded;
  }();
  return library;
}

// Of a file in memory, which is closed.
std::string contents_of(int file) {
  lseek(file, 0, SEEK_SET);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(file, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(file);
  return text;
}

bool run_script(void* library, const std::string& script) {
  const int state = python_function<int()>(library, "PyGILState_Ensure")();
  const auto run = python_function<int(const char*, void*)>(library, "PyRun_SimpleStringFlags");
  const bool is_fine = run(script.c_str(), nullptr) == 0;
  python_function<void(int)>(library, "PyGILState_Release")(state);
  return is_fine;
}

}  // namespace

std::string find_python() {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates;
  if (const char* active = std::getenv("VIRTUAL_ENV"))
    candidates.push_back(fs::path(active) / "bin/python");
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored);
  if (!own.empty()) candidates.push_back(own.parent_path() / "python");
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    candidates.push_back(fs::path(folder) / "python3");
  for (const fs::path& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::string ask_python(const std::string& script) {
  const std::string python = find_python();
  if (python.empty()) return "";
  const ChildResult result = run_program({python, "-c", script}, 60);
  return result.is_fine() ? result.output : "";
}

bool is_python_module(const std::string& target) {
  return target.find('/') == std::string::npos && !target.ends_with(".so") &&
         !std::filesystem::exists(target) && std::ranges::all_of(target, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
         });
}

std::vector<Capsule> load_capsules(const std::string& module, const std::string& wanted) {
  if (find_python().empty())
    throw Failure(
        kCouldNotRun,
        fmt::format(
            "there is no file \"{}\", and no Python was found to import a module of that name.",
            module));
  void* library = interpreter();
  const int out = memfd_create("capsules", MFD_CLOEXEC);
  const bool has_run =
      run_script(library, fmt::format("{}\nmain({}, {}, {})\n", kListCapsules,
                                      farcall::quoted(module), farcall::quoted(wanted), out));
  const std::string text = contents_of(out);
  if (!has_run)
    throw Failure(kCouldNotRun, fmt::format("the Python module \"{}\" cannot be read.", module));
  std::vector<Capsule> capsules;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    const Json json = Json::parse(line);
    if (json["name"].is_null()) {
      throw Failure(kCouldNotRun,
                    fmt::format("the Python module \"{}\" cannot be imported by {}: {}.", module,
                                find_python(), json["problem"].get<std::string>()));
    }
    capsules.push_back(
        {.name = json["name"],
         .stage = json.value("stage", ""),
         .handler = reinterpret_cast<FARCALL_FFI_Handler*>(json.value("address", uintptr_t{0})),
         .problem = json.value("problem", "")});
  }
  std::ranges::sort(capsules, {}, &Capsule::name);
  return capsules;
}

std::string call_python(const std::string& function, std::span<const RawBuffer> arguments,
                        std::span<const RawBuffer> results, const Attributes& attributes) {
  const size_t colon = function.rfind(':');
  std::vector<std::string> inputs, outputs;
  for (const RawBuffer& buffer : arguments) inputs.push_back(python_array(buffer));
  for (const RawBuffer& buffer : results) outputs.push_back(python_array(buffer));
  for (const auto& [name, value] : attributes) {
    inputs.push_back(fmt::format("{}={}", name, python_value(value)));
  }
  const int out = memfd_create("problem", MFD_CLOEXEC);
  const bool has_run = run_script(
      interpreter(), fmt::format("{}\nreport({}, {}, {}, lambda f: f({}), lambda: [{}])\n",
                                 kCallFunction, out, farcall::quoted(function.substr(0, colon)),
                                 farcall::quoted(function.substr(colon + 1)),
                                 fmt::join(inputs, ", "), fmt::join(outputs, ", ")));
  std::string problem = contents_of(out);
  if (!has_run && problem.empty()) problem = "it cannot be called; its arguments have no form";
  return problem;
}

}  // namespace farcall::tools
