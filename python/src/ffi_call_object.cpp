#include "ffi_call_object.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <structmember.h>

#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>

#include "call.h"
#include "convert.h"
#include "errors.h"
#include "known_attributes.h"
#include "text.h"

namespace farcall::python {
namespace {

struct FfiCallObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  FfiCall call;
  KnownAttributes known;
  ResultForm form;
  PyObject* result_shape_dtypes;  // as the user gave it
};

PyTypeObject* ffi_call_type = nullptr;

FfiCallObject* object_of(PyObject* self) { return reinterpret_cast<FfiCallObject*>(self); }

const Attributes& none() {
  static const Attributes empty;
  return empty;
}

PyObject* wrap_arrays(ResultForm form, std::vector<Array> results) {
  return wrap_results(form, results.size(), [&](size_t i) { return std::move(results[i]); });
}

PyObject* ffi_call_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  FfiCallObject* object = object_of(self);
  try {
    // Held here, because another thread may replace it while the target runs.
    std::shared_ptr<const Attributes> made;
    if (kwnames) made = object->known.find_or_make(args + nargs, kwnames);
    const Attributes& attributes = made ? *made : none();
    std::vector<Array> operands;
    operands.reserve(nargs);
    const bool evaluating = is_evaluating() && !checks_results();
    for (size_t i = 0; i < nargs; ++i) {
      Array operand = is_array(args[i])
                          ? array_of(args[i])
                          : to_array(args[i], fmt::format("ffi_call(\"{}\"): argument {}",
                                                          object->call.target_name(), i));
      operands.push_back(std::move(operand));
    }
    for (Array& operand : operands) {
      if (operand.type().weak_type()) operand = strengthen(operand);
    }
    const Executable* executable = evaluating && is_call_on_host(operands)
                                       ? object->call.executable(operands, attributes)
                                       : nullptr;
    if (!executable) return wrap_arrays(object->form, object->call(operands, attributes));
    const auto types = executable->output_types();
    const Storage* few[kMaxFastArguments];
    std::vector<const Storage*> many;
    const Storage** storages = few;
    if (nargs > kMaxFastArguments) {
      many.resize(nargs);
      storages = many.data();
    }
    for (size_t i = 0; i < nargs; ++i) storages[i] = &operands[i].storage();
    StorageArray outputs(types.size());
    execute(*executable, {storages, nargs}, outputs.span());
    return wrap_results(object->form, types, outputs);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  FfiCallObject* object = object_of(self);
  object->call.~FfiCall();
  object->known.~KnownAttributes();
  Py_CLEAR(object->result_shape_dtypes);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object_of(self)->result_shape_dtypes);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->result_shape_dtypes);
  return 0;
}

PyObject* get_target_name(PyObject* self, void*) {
  return guarded([&] { return from_text(object_of(self)->call.target_name()).release().ptr(); });
}
PyObject* get_result_shape_dtypes(PyObject* self, void*) {
  return Py_NewRef(object_of(self)->result_shape_dtypes);
}
PyObject* representation(PyObject* self) {
  return guarded([&] {
    const std::string text = fmt::format("<ffi_call \"{}\">", object_of(self)->call.target_name());
    return from_text(text).release().ptr();
  });
}

// ---- the options in Python's form ----

constexpr auto kOptions = FfiCallOptions::fields();
constexpr size_t kNumOptions = std::tuple_size_v<decltype(kOptions)>;

using Layouts = std::optional<std::vector<MajorToMinor>>;
using Aliases = std::map<int64_t, int64_t>;

nb::object shown(bool value) { return nb::bool_(value); }
nb::object shown(int value) { return nb::int_(value); }
nb::object shown(const std::optional<std::string>& text) {
  return text ? from_text(*text) : nb::none();
}
nb::object shown(const Layouts& given) {
  if (!given) return nb::none();
  nb::list list;
  for (const MajorToMinor& layout : *given) {
    list.append(layout ? nb::object(to_tuple(*layout)) : nb::none());
  }
  return nb::tuple(list);
}
nb::object shown(const Aliases& aliases) {
  if (aliases.empty()) return nb::none();
  nb::dict dict;
  for (const auto& [input, output] : aliases) dict[nb::int_(input)] = output;
  return dict;
}

template <size_t i>
PyObject* get_option(PyObject* self, void*) {
  return guarded([&] {
    return shown(object_of(self)->call.options().*(std::get<i>(kOptions).member)).release().ptr();
  });
}

template <size_t... i>
std::array<PyGetSetDef, kNumOptions + 3> make_getters(std::index_sequence<i...>) {
  constexpr const char* kAsGiven = "As given to ffi_call.";
  return {{{"target_name", get_target_name, nullptr, "The name of the target.", nullptr},
           {"result_shape_dtypes", get_result_shape_dtypes, nullptr, kAsGiven, nullptr},
           {std::get<i>(kOptions).name.data(), get_option<i>, nullptr, kAsGiven, nullptr}...,
           {}}};
}
std::array getters = make_getters(std::make_index_sequence<kNumOptions>());

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FfiCallObject, vectorcall), READONLY, nullptr},
    {}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A foreign call with its options; call it with arrays, and with "
                                  "attributes as keyword arguments.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(representation)},
    {Py_tp_getset, getters.data()},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec spec = {"farcall.ffi.FfiCall", sizeof(FfiCallObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

MajorToMinor to_layout(nb::handle layout, std::string_view what) {
  if (layout.is_none()) return std::nullopt;
  if (!nb::hasattr(layout, "major_to_minor")) return to_sizes(layout, what);
  if (nb::hasattr(layout, "tiling") && !layout.attr("tiling").is_none() &&
      nb::len(nb::object(layout.attr("tiling"))) > 0) {
    invalid_argument(
        fmt::format("{}: tiled layouts are not supported; handlers receive dense buffers", what));
  }
  return to_sizes(layout.attr("major_to_minor"), what);
}

Layouts to_layouts(nb::handle layouts, std::string_view what) {
  if (layouts.is_none()) return std::nullopt;
  if (!PyList_Check(layouts.ptr()) && !PyTuple_Check(layouts.ptr())) {
    throw TypeError(fmt::format("{} must be a sequence with one layout for each array, got {}",
                                what, repr_of(layouts)));
  }
  std::vector<MajorToMinor> result;
  for (nb::handle layout : nb::borrow<nb::sequence>(layouts)) {
    result.push_back(to_layout(layout, fmt::format("{}[{}]", what, result.size())));
  }
  return result;
}

bool is_one_layout(nb::handle layouts) {
  if (nb::hasattr(layouts, "major_to_minor")) return true;
  if (!PyList_Check(layouts.ptr()) && !PyTuple_Check(layouts.ptr())) return false;
  return nb::len(layouts) == 0 || PyIndex_Check(nb::object(layouts[0]).ptr());
}

// The parsed arguments of make_ffi_call.
struct Parsed {
  ResultForm form = ResultForm::kSingle;
  std::vector<ShapeDtype> types;
  FfiCallOptions options;
};

void parse_results(nb::handle results, Parsed& parsed) {
  if (!PyList_Check(results.ptr()) && !PyTuple_Check(results.ptr())) {
    parsed.types.push_back(to_shape_dtype(results, "result_shape_dtypes"));
    return;
  }
  parsed.form = PyList_Check(results.ptr()) ? ResultForm::kList : ResultForm::kTuple;
  for (nb::handle item : nb::borrow<nb::sequence>(results)) {
    parsed.types.push_back(
        to_shape_dtype(item, fmt::format("result_shape_dtypes[{}]", parsed.types.size())));
  }
}

void read(bool& to, nb::handle given, const char* name) {
  to = to_option<bool>(given, name, "True or False");
}
void read(int& to, nb::handle given, const char* name) {
  to = to_option<int>(given, name, "an integer");
}
void read(std::optional<std::string>& to, nb::handle given, const char* name) {
  to = to_option<std::optional<std::string>>(given, name, "a string or None");
}
void read(Layouts& to, nb::handle given, const char* name) { to = to_layouts(given, name); }
void read(Aliases& to, nb::handle given, const char* name) { to = to_aliases(given, name); }

template <class Option>
void parse_option(Parsed& parsed, const Option& option, nb::handle given) {
  auto& to = parsed.options.*(option.member);
  const char* name = option.name.data();
  if constexpr (std::is_same_v<decltype(to), Layouts&>) {
    // A single result may have a single layout, without a sequence around it.
    if (option.member == &FfiCallOptions::output_layouts && parsed.form == ResultForm::kSingle &&
        is_one_layout(given)) {
      to = std::vector{to_layout(given, name)};
      return;
    }
  }
  read(to, given, name);
}

// In the order of kOptions.
template <size_t... i>
void parse_options(Parsed& parsed, const nb::args& given, std::index_sequence<i...>) {
  if (given.size() != kNumOptions) {
    throw TypeError(fmt::format("takes {} options, got {}", kNumOptions, given.size()));
  }
  (parse_option(parsed, std::get<i>(kOptions), given[i]), ...);
}

nb::object make_ffi_call(nb::object target_name, nb::object result_shape_dtypes,
                         const nb::args& options) {
  auto target = to_name(target_name, "ffi_call: target_name");
  Parsed parsed;
  try {
    parse_results(result_shape_dtypes, parsed);
    parse_options(parsed, options, std::make_index_sequence<kNumOptions>());
  } catch (const Error& error) {
    error.raise_with(fmt::format("ffi_call(\"{}\"): {}", target, error.message()));
  }
  FfiCall call(std::move(target), std::move(parsed.types), std::move(parsed.options));

  PyObject* made = ffi_call_type->tp_alloc(ffi_call_type, 0);
  if (!made) nb::raise_python_error();
  FfiCallObject* object = object_of(made);
  object->vectorcall = ffi_call_call;
  new (&object->call) FfiCall(std::move(call));
  new (&object->known) KnownAttributes();
  object->form = parsed.form;
  object->result_shape_dtypes = result_shape_dtypes.release().ptr();
  return nb::steal(made);
}

}  // namespace

void bind_ffi_call(nb::module_& module) {
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) nb::raise_python_error();
  ffi_call_type = reinterpret_cast<PyTypeObject*>(made);
  module.attr("FfiCall") = nb::handle(made);
  module.def("clear_caches", clear_caches);
  module.def("make_ffi_call", make_ffi_call, nb::arg("target_name").none(),
             nb::arg("result_shape_dtypes").none(), nb::arg("options"));
  module.attr("option_names") = std::apply(
      [](const auto&... option) { return nb::make_tuple(option.name.data()...); }, kOptions);
}

}  // namespace farcall::python
