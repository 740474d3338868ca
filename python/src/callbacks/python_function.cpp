#include "callbacks/python_function.h"

#include <nanobind/stl/string.h>

#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "convert.h"
#include "errors.h"

namespace farcall::python {
namespace {

using FunctionPtr = std::shared_ptr<const PythonFunction>;

// The interpreter lock, for a thread that may hold it already.
class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

std::string described(const PythonFunction& f) {
  return fmt::format("{} {}", callback_kind_name(f.kind), f.name);
}

// Says on which line the failing callback was called, once.
void add_note(nb::python_error& error, const PythonFunction& f) {
  if (!f.where || !nb::hasattr(error.value(), "add_note")) return;
  const nb::str note(fmt::format("raised in {}, called at {}:{} ({})", described(f), f.where->file,
                                 f.where->line, f.where->function)
                         .c_str());
  try {
    nb::object notes = nb::getattr(error.value(), "__notes__", nb::list());
    if (!nb::cast<bool>(notes.attr("__contains__")(note))) error.value().attr("add_note")(note);
  } catch (nb::python_error&) {
    // An exception that cannot carry notes goes without.
  }
}

// Calls with leaves in the structure of the arguments, after `first`. Raises what the function
// raises, and KeyboardInterrupt when the user asked for it meanwhile.
nb::object call(const PythonFunction& f, std::vector<nb::object> leaves,
                std::span<const nb::object> first) {
  try {
    nb::object result;
    const TreeNode& positional = f.arguments->root().children[0];
    const bool is_plain = f.arguments->root().children[1].children.empty() &&
                          positional.num_leaves == positional.children.size();
    if (is_plain && f.statics.empty()) {
      PyObject* few[16];
      std::vector<PyObject*> many;
      PyObject** all = few;
      const size_t count = first.size() + leaves.size();
      if (count + 1 > std::size(few)) {
        many.resize(count + 1);
        all = many.data();
      }
      PyObject** next = all + 1;  // room for a method's self
      for (const nb::object& object : first) *next++ = object.ptr();
      for (const nb::object& object : leaves) *next++ = object.ptr();
      result = nb::steal(PyObject_Vectorcall(f.function.ptr(), all + 1,
                                             count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    } else {
      for (const auto& [at, object] : f.statics) {
        leaves.insert(leaves.begin() + static_cast<int64_t>(at), object);
      }
      nb::object both = f.arguments->unflatten(leaves);
      nb::list all;
      for (const nb::object& object : first) all.append(object);
      for (nb::handle argument : nb::object(both[0])) all.append(argument);
      nb::object keywords = both[1];
      result = nb::steal(PyObject_Call(f.function.ptr(), nb::tuple(all).ptr(), keywords.ptr()));
    }
    if (!result.is_valid() || PyErr_CheckSignals() != 0) nb::raise_python_error();
    return result;
  } catch (nb::python_error& error) {
    add_note(error, f);
    throw;
  }
}

// ---- on buffers ----

// The Buffers of one call.
class OpenBuffers {
 public:
  OpenBuffers(const CallbackCall& call, nb::handle name) : call_(call) {
    arguments_.reserve(call.arguments.size());
    for (const Buffer& buffer : call.arguments) {
      arguments_.push_back(make_buffer(buffer, /*is_writeable=*/false, name));
    }
    results_.reserve(call.results.size());
    for (const Buffer& buffer : call.results) {
      results_.push_back(make_buffer(buffer, /*is_writeable=*/true, name));
    }
  }
  ~OpenBuffers() { close(); }
  OpenBuffers(const OpenBuffers&) = delete;
  OpenBuffers& operator=(const OpenBuffers&) = delete;

  const std::vector<nb::object>& arguments() const { return arguments_; }
  const std::vector<nb::object>& results() const { return results_; }

  // Keeps the memory of views that are left; how many Buffers have any.
  size_t close() {
    size_t count = 0;
    for (auto* buffers : {&arguments_, &results_}) {
      for (const nb::object& buffer : *buffers) {
        if (!close_buffer(buffer)) continue;
        ++count;
        if (call_.keeper) keep_memory(buffer, call_.keeper->keep());
      }
      buffers->clear();
    }
    return count;
  }

 private:
  const CallbackCall& call_;
  std::vector<nb::object> arguments_, results_;
};

void warn_of_views(const PythonFunction& f, size_t count) {
  const std::string text = fmt::format(
      "{}: views of {} of its Buffers outlive the callback. They keep their memory, and the "
      "results "
      "were copied to memory of their own; let go of views before returning, or copy what is "
      "needed "
      "later with np.array(buffer)",
      described(f), count);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) nb::raise_python_error();
}

void call_on_buffers(const PythonFunction& f, const CallbackCall& given) {
  const WithLock lock;
  const nb::str name(f.name.c_str());
  OpenBuffers buffers(given, name);
  const nb::object first[] = {
      make_execution_context(given.context),
      f.result->is_leaf() ? buffers.results()[0] : f.result->unflatten(buffers.results())};
  const nb::object result = call(f, buffers.arguments(), first);
  if (!result.is_none()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the callback must not return any values, for its results are what "
                    "it writes into `out`; it returned {} of type {}",
                    described(f), nb::repr(result).c_str(), Py_TYPE(result.ptr())->tp_name));
  }
  if (const size_t count = buffers.close()) warn_of_views(f, count);
}

// ---- on arrays ----

// A number of Python's is of the declared dtype where that is no lesser kind.
Array as_declared(const Array& x, ShapeDtype declared) {
  if (!x.type().weak_type() || declared.rank() != 0) return x;
  const auto kind = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype == DType::kBool ? 0 : 1;
  };
  if (kind(x.dtype()) > kind(declared.dtype())) return x;
  return lax::convert_element_type(x, declared.dtype());
}

std::vector<Array> call_on_arrays(const PythonFunction& f, std::span<const Array> arrays) {
  const WithLock lock;
  std::vector<nb::object> leaves;
  leaves.reserve(arrays.size() + f.statics.size());
  for (const Array& array : arrays) leaves.push_back(wrap_object(array));
  const nb::object result = call(f, std::move(leaves), {});
  if (!f.result) return {};
  std::vector<nb::object> found;
  const TreeDefPtr tree = flatten_tree(result, found);
  if (!(*tree == *f.result)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the structure of the result was declared as {}, but the function "
                            "returned {}",
                            described(f), f.result->to_string(), tree->to_string()));
  }
  std::vector<Array> results;
  for (size_t i = 0; i < found.size(); ++i) {
    results.push_back(as_declared(
        to_array(found[i], fmt::format("{}: result{}", described(f), leaf_path(*tree, i))),
        f.result_types[i]));
  }
  return results;
}

}  // namespace

std::string name_of_function(nb::handle function) {
  nb::object named = nb::borrow(function);
  // functools.partial and the like
  while (!nb::hasattr(named, "__name__") && nb::hasattr(named, "func")) named = named.attr("func");
  if (nb::hasattr(named, "__name__")) {
    std::string name;
    if (nb::try_cast(nb::object(named.attr("__name__")), name)) return name;
  }
  return Py_TYPE(function.ptr())->tp_name;
}

CallbackPtr make_python_callback(PythonFunction function) {
  const FunctionPtr shared(new PythonFunction(std::move(function)),
                           [](const PythonFunction* dying) {
                             if (!Py_IsInitialized()) return;  // the objects are gone already
                             const WithLock lock;
                             delete dying;
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
  return make_program_callback(name, std::move(called), /*takes_lock_of_front=*/true);
}

}  // namespace farcall::python
