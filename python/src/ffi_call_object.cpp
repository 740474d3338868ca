#include "ffi_call_object.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <structmember.h>

#include <new>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>

#include "attributes.h"
#include "call.h"
#include "convert.h"
#include "errors.h"

namespace farcall::python {
namespace {

struct FfiCallObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  FfiCall call;
  ResultForm form;
  PyObject* result_shape_dtypes;  // as the user gave it
};

PyTypeObject* ffi_call_type = nullptr;

FfiCallObject* object_of(PyObject* self) { return reinterpret_cast<FfiCallObject*>(self); }

Attributes keyword_attributes(PyObject* const* values, PyObject* kwnames) {
  std::vector<std::pair<std::string, Attribute>> entries;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    std::string name = to_name(PyTuple_GET_ITEM(kwnames, i), "the name of an attribute");
    Attribute value = to_attribute(values[i], name);
    entries.emplace_back(std::move(name), std::move(value));
  }
  return Attributes(std::move(entries));
}

PyObject* wrap_arrays(ResultForm form, std::vector<Array> results) {
  if (form == ResultForm::kSingle) return wrap(std::move(results[0]));
  nb::list list;
  for (Array& result : results) list.append(wrap_object(std::move(result)));
  return form == ResultForm::kList ? list.release().ptr() : nb::tuple(list).release().ptr();
}

PyObject* ffi_call_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  FfiCallObject* object = object_of(self);
  try {
    const Attributes attributes =
        kwnames ? keyword_attributes(args + nargs, kwnames) : Attributes();
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
    for (Array& operand : operands) operand = strengthen(operand);
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
    Storage few_outputs[kMaxFastResults];
    std::vector<Storage> many_outputs;
    Storage* outputs = few_outputs;
    if (types.size() > kMaxFastResults) {
      many_outputs.resize(types.size());
      outputs = many_outputs.data();
    }
    execute(*executable, {storages, nargs}, {outputs, types.size()});
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

// ---- the options, in Python's form ----

nb::object optional_string(const std::optional<std::string>& text) {
  return text ? from_text(*text) : nb::none();
}
nb::object layouts(const std::optional<std::vector<MajorToMinor>>& given) {
  if (!given) return nb::none();
  nb::list list;
  for (const MajorToMinor& layout : *given) {
    list.append(layout ? nb::object(to_tuple(*layout)) : nb::none());
  }
  return nb::tuple(list);
}
nb::object has_side_effect(const FfiCallOptions& o) { return nb::bool_(o.has_side_effect); }
nb::object vmap_method(const FfiCallOptions& o) { return optional_string(o.vmap_method); }
nb::object input_layouts(const FfiCallOptions& o) { return layouts(o.input_layouts); }
nb::object output_layouts(const FfiCallOptions& o) { return layouts(o.output_layouts); }
nb::object aliases(const FfiCallOptions& o) {
  if (o.input_output_aliases.empty()) return nb::none();
  nb::dict dict;
  for (const auto& [input, output] : o.input_output_aliases) dict[nb::int_(input)] = output;
  return dict;
}
nb::object api_version(const FfiCallOptions& o) { return nb::int_(o.custom_call_api_version); }
nb::object backend_config(const FfiCallOptions& o) {
  return optional_string(o.legacy_backend_config);
}

template <auto option>
PyObject* get_option(PyObject* self, void*) {
  return guarded([&] { return option(object_of(self)->call.options()).release().ptr(); });
}

PyGetSetDef getters[] = {
    {"target_name", get_target_name, nullptr, "The name of the target.", nullptr},
    {"result_shape_dtypes", get_result_shape_dtypes, nullptr, "As given to ffi_call.", nullptr},
    {"has_side_effect", get_option<has_side_effect>, nullptr, "As given to ffi_call.", nullptr},
    {"vmap_method", get_option<vmap_method>, nullptr, "As given to ffi_call.", nullptr},
    {"input_layouts", get_option<input_layouts>, nullptr, "Major to minor, or None.", nullptr},
    {"output_layouts", get_option<output_layouts>, nullptr, "Major to minor, or None.", nullptr},
    {"input_output_aliases", get_option<aliases>, nullptr, "A dict, or None.", nullptr},
    {"custom_call_api_version", get_option<api_version>, nullptr, "4, or 0 to 3.", nullptr},
    {"legacy_backend_config", get_option<backend_config>, nullptr, "A string, or None.", nullptr},
    {}};
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
    {Py_tp_getset, getters},
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
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: layouts with tiling are for the insides of compilers; handlers get "
                    "dense buffers",
                    what));
  }
  return to_sizes(layout.attr("major_to_minor"), what);
}

std::optional<std::vector<MajorToMinor>> to_layouts(nb::handle layouts, std::string_view what) {
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

// What the arguments of make_ffi_call say.
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

nb::object make_ffi_call(nb::object target_name, nb::object result_shape_dtypes,
                         nb::object has_side_effect, nb::object vmap_method,
                         nb::object input_layouts, nb::object output_layouts, nb::object aliases,
                         nb::object api_version, nb::object backend_config) {
  auto target = to_option<std::string>(target_name, "ffi_call: target_name", "a string");
  Parsed parsed;
  try {
    parse_results(result_shape_dtypes, parsed);
    FfiCallOptions& o = parsed.options;
    o.has_side_effect = to_option<bool>(has_side_effect, "has_side_effect", "True or False");
    o.vmap_method =
        to_option<std::optional<std::string>>(vmap_method, "vmap_method", "a string or None");
    o.input_layouts = to_layouts(input_layouts, "input_layouts");
    const bool one_layout = parsed.form == ResultForm::kSingle && is_one_layout(output_layouts);
    o.output_layouts = one_layout ? std::vector{to_layout(output_layouts, "output_layouts")}
                                  : to_layouts(output_layouts, "output_layouts");
    o.input_output_aliases = to_aliases(aliases, "input_output_aliases");
    o.custom_call_api_version =
        to_option<int>(api_version, "custom_call_api_version", "a whole number");
    o.legacy_backend_config = to_option<std::optional<std::string>>(
        backend_config, "legacy_backend_config", "a string or None");
  } catch (const Error& error) {
    error.raise_with(fmt::format("ffi_call(\"{}\"): {}", target, error.message()));
  }
  FfiCall call(std::move(target), std::move(parsed.types), std::move(parsed.options));

  PyObject* made = ffi_call_type->tp_alloc(ffi_call_type, 0);
  if (!made) nb::raise_python_error();
  FfiCallObject* object = object_of(made);
  object->vectorcall = ffi_call_call;
  new (&object->call) FfiCall(std::move(call));
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
             nb::arg("result_shape_dtypes").none(), nb::arg("has_side_effect").none(),
             nb::arg("vmap_method").none(), nb::arg("input_layouts").none(),
             nb::arg("output_layouts").none(), nb::arg("input_output_aliases").none(),
             nb::arg("custom_call_api_version").none(), nb::arg("legacy_backend_config").none());
}

}  // namespace farcall::python
