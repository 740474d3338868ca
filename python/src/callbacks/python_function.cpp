#include "callbacks/python_function.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/dtype.h>
#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/short_list.h>
#include <farcall/program/text.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "convert.h"
#include "errors.h"
#include "interpreter_lock.h"

namespace farcall::python {
namespace {

using FunctionPtr = std::shared_ptr<const PythonFunction>;

// The existing Python callbacks. Guarded by the interpreter lock.
std::unordered_map<const Callback*, const PythonFunction*>& functions() {
  static auto* all = new std::unordered_map<const Callback*, const PythonFunction*>;
  return *all;
}

std::string described(const PythonFunction& f) {
  return fmt::format("{} {}", callback_kind_name(f.kind), f.name);
}

// Adds a note with the line of the callback call to the exception, once.
void add_note(nb::python_error& error, const PythonFunction& f) {
  if (!f.where || !nb::hasattr(error.value(), "add_note")) return;
  const nb::str note(
      fmt::format("raised in {}, called at {}", described(f), to_text(*f.where)).c_str());
  try {
    nb::object notes = nb::getattr(error.value(), "__notes__", nb::list());
    if (!nb::cast<bool>(notes.attr("__contains__")(note))) error.value().attr("add_note")(note);
  } catch (nb::python_error&) {
    // The exception does not support notes.
  }
}

// A free slot (see call_plain), leading arguments, and arrays.
using Objects = ShortList<nb::object, 12>;

// The slot before `arguments` must be writable: the flag lets the callee use it during the call.
nb::object call_plain(const PythonFunction& f, std::span<const nb::object> arguments) {
  static_assert(sizeof(nb::object) == sizeof(PyObject*));
  const auto* pointers = reinterpret_cast<PyObject* const*>(arguments.data());
  return nb::steal(PyObject_Vectorcall(f.function.ptr(), pointers,
                                       arguments.size() | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

nb::object call_with_structure(const PythonFunction& f, std::span<const nb::object> first,
                               std::span<const nb::object> arrays) {
  std::vector<nb::object> leaves(arrays.begin(), arrays.end());
  for (const auto& [at, object] : f.statics) {
    leaves.insert(leaves.begin() + static_cast<int64_t>(at), object);
  }
  nb::object both = unflatten(f.arguments, leaves);
  nb::list all;
  for (const nb::object& object : first) all.append(object);
  for (nb::handle argument : nb::object(both[0])) all.append(argument);
  nb::object keywords = both[1];
  const nb::tuple positional(all);
  return nb::steal(PyObject_Call(f.function.ptr(), positional.ptr(), keywords.ptr()));
}

// Calls the function with the arrays unflattened to the structure of its arguments. Raises what the
// function raises, or KeyboardInterrupt if the user pressed Ctrl-C.
nb::object call(const PythonFunction& f, const Objects& objects, size_t num_first,
                size_t num_arrays) {
  try {
    const auto arguments = objects.span().subspan(1, num_first + num_arrays);
    nb::object result = f.is_plain ? call_plain(f, arguments)
                                   : call_with_structure(f, arguments.first(num_first),
                                                         arguments.subspan(num_first));
    if (!result.is_valid() || PyErr_CheckSignals() != 0) nb::raise_python_error();
    return result;
  } catch (nb::python_error& error) {
    add_note(error, f);
    throw;
  }
}

// ---- on buffers ----

// The arguments of one call: a free slot (see call_plain), the context, the results in their
// declared structure, and the Buffers of arguments and results. The Buffers are closed at the end.
class BufferArguments {
 public:
  BufferArguments(const PythonFunction& f, const CallbackCall& call)
      : call_(call), objects_(kFirst + call.arguments.size() + call.results.size()) {
    objects_.emplace_back();
    objects_.emplace_back(make_execution_context(call.context));
    objects_.emplace_back();
    for (const Buffer& buffer : call.arguments) push(buffer, /*is_writeable=*/false, f);
    for (const Buffer& buffer : call.results) push(buffer, /*is_writeable=*/true, f);
    const size_t first_result = kFirst + call.arguments.size();
    objects_[2] = f.result->is_leaf() ? objects_[first_result]
                                      : unflatten(*f.result, objects_.span().subspan(first_result));
  }
  ~BufferArguments() { close(); }
  BufferArguments(const BufferArguments&) = delete;
  BufferArguments& operator=(const BufferArguments&) = delete;

  const Objects& objects() const { return objects_; }

  // Overwrites the results in the host's memory that the callback did not write: those of which it
  // took neither a view nor the address. Otherwise stale memory could be mistaken for values.
  // Writes NaN, the bytes 0x80 for integers, and zeros for other dtypes without NaN. Returns the
  // index of the first result that was not written, in any memory.
  std::optional<size_t> poison_unwritten() {
    std::optional<size_t> first;
    for (size_t i = 0; i < call_.results.size(); ++i) {
      if (was_seen(objects_[kFirst + call_.arguments.size() + i])) continue;
      Buffer& result = call_.results[i];
      const bool is_alias = std::ranges::any_of(
          call_.arguments, [&](const Buffer& given) { return given.data() == result.data(); });
      if (is_alias || result.nbytes() == 0) continue;
      if (!result.device()) poison(result);
      if (!first) first = i;
    }
    return first;
  }

  // Keeps the memory of the remaining views; returns the number of Buffers that have any.
  size_t close() {
    size_t count = 0;
    std::shared_ptr<const void> memory;
    for (; num_open_ > 0; --num_open_) {
      nb::object& buffer = objects_[kFirst + num_open_ - 1];
      if (!close_buffer(buffer)) continue;
      ++count;
      if (!memory && call_.keeper) memory = call_.keeper->keep();
      keep_memory(buffer, memory);
    }
    return count;
  }

 private:
  static constexpr size_t kFirst = 3;

  static void poison(Buffer& result) {
    const DType dtype = result.dtype();
    auto* const bytes = static_cast<std::byte*>(result.data());
    const bool is_whole = is_integer(dtype) && dtype_info(dtype).bits >= 8;
    std::fill_n(bytes, result.nbytes(), is_whole ? std::byte{0x80} : std::byte{0});
    if (is_integer(dtype) || !has_nan(dtype)) return;
    const size_t width = byte_width(dtype);
    parse_element(dtype, is_complex(dtype) ? "(nan+nanj)" : "nan", bytes);
    for (size_t i = width; i < result.nbytes(); ++i) bytes[i] = bytes[i - width];
  }

  static bool has_nan(DType dtype) { return is_inexact(dtype) && dtype != DType::kFloat4E2M1FN; }

  void push(const Buffer& buffer, bool is_writeable, const PythonFunction& f) {
    objects_.emplace_back(make_buffer(buffer, is_writeable, f.python_name));
    ++num_open_;
  }

  const CallbackCall& call_;
  Objects objects_;
  size_t num_open_ = 0;
};

// Memory of its own for one call of a function that keeps views: the views then keep only that, and
// the program need not give its memory away.
class OwnMemory final : public MemoryKeeper {
 public:
  explicit OwnMemory(const CallbackCall& call) : program_(call) {
    for (const Buffer& given : call.arguments) {
      blocks_.push_back(Storage::copy_of(given.data(), given.nbytes()));
      arguments_.emplace_back(given.type(), blocks_.back().data());
    }
    for (const Buffer& given : call.results) {
      const auto alias = std::ranges::find_if(call.arguments, [&](const Buffer& argument) {
        return argument.data() == given.data() && argument.nbytes() == given.nbytes();
      });
      const auto number = static_cast<size_t>(alias - call.arguments.begin());
      blocks_.push_back(number < arguments_.size() ? blocks_[number]
                                                   : Storage::allocate(given.nbytes()));
      results_.emplace_back(given.type(), blocks_.back().data());
    }
  }

  CallbackCall call() { return {program_.context, results_, arguments_, this}; }
  std::shared_ptr<const void> keep() override {
    return std::make_shared<const std::vector<Storage>>(blocks_);
  }
  void copy_results() const {
    for (size_t i = 0; i < results_.size(); ++i) {
      const size_t nbytes = results_[i].nbytes();
      if (nbytes > 0) std::memcpy(program_.results[i].data(), results_[i].data(), nbytes);
    }
  }

 private:
  const CallbackCall& program_;
  std::vector<Storage> blocks_;
  std::vector<Buffer> arguments_, results_;
};

bool is_on_device(const CallbackCall& call) {
  const auto has_device = [](const Buffer& buffer) { return buffer.device() != nullptr; };
  return std::ranges::any_of(call.arguments, has_device) ||
         std::ranges::any_of(call.results, has_device);
}

void warn_of_views(const PythonFunction& f, size_t count, bool is_on_device) {
  const char* consequence =
      is_on_device ? "Their memory belongs to the device again; release views before returning, or "
                     "copy what is needed later with cupy.array(buffer)"
                   : "They keep their memory, and the program goes on in a copy; release views "
                     "before returning, or copy what is needed later with np.array(buffer)";
  const std::string text = fmt::format("{}: views of {} of its Buffers outlive the callback. {}",
                                       described(f), count, consequence);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) nb::raise_python_error();
}

void warn_of_unwritten(const PythonFunction& f, size_t index, const Buffer& result) {
  if (std::exchange(f.has_warned, true)) return;
  const std::string text = fmt::format(
      "{}: the callback returned without writing result {}, {}. `out = …` names another object and "
      "writes nothing; write with {}[...] = …",
      described(f), index,
      result.device() ? "whose values are undefined"
                      : "which was filled with NaN (integers: with the bytes 0x80)",
      result.device() ? "cupy.asarray(out)" : "np.asarray(out)");
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) nb::raise_python_error();
}

[[noreturn]] void raise_unwritten(const PythonFunction& f, size_t result, ShapeDtype type) {
  throw FfiError(ErrorCode::kInternal, f.name,
                 fmt::format("check_foreign_calls: unwritten-result: it wrote nothing to result "
                             "{}, {}",
                             result, type.to_string()));
}

void call_in_memory(const PythonFunction& f, const CallbackCall& given) {
  BufferArguments arguments(f, given);
  const nb::object result = call(f, arguments.objects(), 2, given.arguments.size());
  if (!result.is_none()) {
    invalid_argument(
        fmt::format("{}: the callback must not return any values, because its results are "
                    "what it writes into `out`; it returned {} of type {}",
                    described(f), repr_of(result), Py_TYPE(result.ptr())->tp_name));
  }
  const std::optional<size_t> unwritten = arguments.poison_unwritten();
  const size_t num_views = arguments.close();
  if (unwritten && is_on(Flag::kCheckForeignCalls)) {
    raise_unwritten(f, *unwritten, given.results[*unwritten].type());
  }
  if (unwritten) warn_of_unwritten(f, *unwritten, given.results[*unwritten]);
  if (num_views == 0) return;
  f.keeps_views = true;
  warn_of_views(f, num_views, is_on_device(given));
}

void call_on_buffers(const PythonFunction& f, const CallbackCall& given) {
  const WithLock lock;
  if (!f.keeps_views || is_on_device(given)) return call_in_memory(f, given);
  OwnMemory own(given);
  call_in_memory(f, own.call());
  own.copy_results();
}

// ---- on arrays ----

// True if the only nodes with leaves are tuples, lists and named tuples (which numpy.linalg
// returns): the order of the leaves is known.
bool is_in_order(const TreeDef& tree) {
  using Kind = TreeDef::Kind;
  return tree.num_leaves() == 0 || tree.kind() == Kind::kLeaf ||
         ((tree.kind() == Kind::kTuple || tree.kind() == Kind::kList || is_named_tuple(tree)) &&
          std::ranges::all_of(tree.children(), is_in_order));
}

// True if a result has the declared structure. Sequences may be nested in another way, as in JAX:
// a result in a tuple of one serves for a result alone.
bool has_structure(const TreeDef& found, const TreeDef& declared) {
  if (found.num_leaves() != declared.num_leaves()) return false;
  if (is_in_order(found) && is_in_order(declared)) return true;
  return found.has_root_of(declared) &&
         std::ranges::equal(found.children(), declared.children(), has_structure);
}

std::vector<Array> call_on_arrays(const PythonFunction& f, std::span<const Array> arrays) {
  const WithLock lock;
  Objects objects(1 + arrays.size());
  objects.emplace_back();
  for (const Array& array : arrays) objects.emplace_back(wrap_object(array));
  const nb::object result = call(f, objects, 0, arrays.size());
  if (!f.result) return {};
  if (f.result->is_leaf() && is_array(result.ptr())) return {array_of(result.ptr())};
  std::vector<nb::object> found;
  const TreeDef tree = flatten_tree(result, found);
  if (!has_structure(tree, *f.result)) {
    invalid_argument(
        fmt::format("{}: the structure of the result was declared as {}, but the function "
                    "returned {}",
                    described(f), text_of(*f.result), text_of(tree)));
  }
  std::vector<Array> results;
  for (size_t i = 0; i < found.size(); ++i) {
    // Keep 64 bits only if declared: numpy computes in 64 bits by default.
    const bool keeps = i < f.result_types.size() && is_64_bit(f.result_types[i].dtype());
    results.push_back(to_array(
        found[i], [&] { return fmt::format("{}: result{}", described(f), leaf_path(tree, i)); },
        {keeps}));
  }
  return results;
}

}  // namespace

void check_signals() {
  with_interpreter([] {
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  });
}

std::string name_of_function(nb::handle function) {
  nb::object named = nb::borrow(function);
  // functools.partial and similar wrappers
  while (named.is_valid()) {
    std::string text;
    const nb::object name = nb::getattr(named, "__name__", nb::object());
    if (name.is_valid() && nb::try_cast(name, text)) return text;
    if (name.is_valid()) break;
    named = nb::getattr(named, "func", nb::object());
  }
  return Py_TYPE(function.ptr())->tp_name;
}

CallbackPtr make_python_callback(PythonFunction function) {
  const TreeDef& given = function.arguments;
  function.is_plain = function.statics.empty() && given.children()[1].children().empty() &&
                      std::ranges::all_of(given.children()[0].children(), [](const TreeDef& child) {
                        return child.is_leaf() && !child.data();
                      });
  if (function.kind == CallbackKind::kBuffer) function.python_name = nb::str(function.name.c_str());
  const FunctionPtr shared(new PythonFunction(std::move(function)),
                           [](const PythonFunction* dying) {
                             with_interpreter([dying] {
                               functions().erase(dying->callback);
                               delete dying;
                             });
                           });
  const std::string& name = shared->name;
  CallbackFunction called;
  if (shared->kind == CallbackKind::kBuffer) {
    called = [shared](const CallbackCall& call) { call_on_buffers(*shared, call); };
  } else {
    called = on_arrays(shared->kind, name, [shared](std::span<const Array> arrays) {
      return call_on_arrays(*shared, arrays);
    });
  }
  CallbackPtr callback =
      make_program_callback(name, std::move(called), shared->is_command_buffer_compatible,
                            /*takes_lock_of_front=*/true);
  shared->callback = callback.get();
  functions().emplace(callback.get(), shared.get());
  return callback;
}

const PythonFunction* find_python_function(const Callback* callback) {
  const auto found = functions().find(callback);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace farcall::python
