#include "jit_object.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <structmember.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/program/donation.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/cache_key.h>
#include <farcall/trace/call.h>
#include <farcall/trace/debug_checks.h>
#include <farcall/trace/divisions.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/program_cache.h>
#include <farcall/trace/record.h>

#include "caches.h"
#include "call.h"
#include "call_pattern.h"
#include "callbacks/owned_functions.h"
#include "convert.h"
#include "errors.h"
#include "lowered.h"
#include "static_node.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

using farcall::detail::CachedProgram;
using farcall::detail::CachedProgramPtr;

ResultForm form_of(const TreeDef& tree) {
  const auto is_array = [](const TreeDef& node) { return node.is_leaf() && !node.data(); };
  if (is_array(tree)) return ResultForm::kSingle;
  if (!std::ranges::all_of(tree.children(), is_array)) return ResultForm::kTree;
  if (tree.kind() == TreeDef::Kind::kTuple) return ResultForm::kTuple;
  if (tree.kind() == TreeDef::Kind::kList) return ResultForm::kList;
  return ResultForm::kTree;
}

// The place of arguments that are all placed arrays on one device.
struct PlacedArguments {
  const Device* device = nullptr;  // null for ordinary arrays
  uint32_t committed = 0;          // a bit for each argument
  bool operator==(const PlacedArguments&) const = default;
};

// A cached signature of a call whose arguments are all arrays. It is matched by comparing the
// addresses of interned types. All calls that match an entry run on the same device.
struct FastEntry {
  size_t nargs;
  uint64_t config;
  std::array<ShapeDtype, kMaxFastArguments> types;
  PlacedArguments placed;
  bool is_committed;  // whether results are
  const Executable* executable;
  ResultForm form;
  CachedProgramPtr owner;  // of the executable
};

// A cached signature of calls with containers, keywords or static arguments. Valid while the cache
// keeps the program.
struct PatternEntry {
  CallPattern pattern;
  farcall::detail::CallSignature signature;
  const Executable* executable;
  ResultForm form;
  std::weak_ptr<const CachedProgram> cached;  // owns the executable
  bool shares_memory;                         // may read numpy's memory, of which it keeps nothing
  bool was_used = false;                      // since the last update of the cache's LRU order
};

constexpr size_t kMaxFastEntries = 16;

// Guarded by the interpreter lock. Other threads run, and may change the state, whenever Python
// code is called or an executable releases the lock. Do not hold references into the state across
// such calls.
struct JitState {
  nb::object function;
  std::string name;
  std::string where;  // "jit(f)"
  StaticArguments statics;
  std::vector<int64_t> donated_numbers;
  std::vector<std::string> donated_names;
  bool is_inline = false;
  const Device* device = nullptr;  // where it runs; null: as place_of_call() decides
  // Wraps jit_run with the placement of arguments and results; null if there is none.
  nb::object around;
  farcall::detail::ProgramCache programs;
  std::vector<PatternEntry> patterns;
  size_t next_pattern = 0;  // the one to replace when full
  std::vector<FastEntry> fast;
  size_t next_fast = 0;  // the one to replace when full
  // Fast calls hold no reference to their executable while they run; entries removed from `fast`
  // are kept in `cleared` meanwhile.
  size_t num_running = 0;
  std::vector<CachedProgramPtr> cleared;
};

class Running {
 public:
  explicit Running(JitState& state) : state_(state) { ++state_.num_running; }
  ~Running() {
    if (--state_.num_running == 0 && !state_.cleared.empty()) {
      const std::vector<CachedProgramPtr> dying = std::move(state_.cleared);
      state_.cleared.clear();
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  JitState& state_;
};

struct JitObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  JitState* state;
  PyObject* dict;
  PyObject* weak_references;
};

PyTypeObject* jit_type = nullptr;

JitState& state_of(PyObject* self) { return *reinterpret_cast<JitObject*>(self)->state; }

farcall::detail::CallSignature signature_of(const CallArguments& arguments,
                                            std::vector<ShapeDtype> types) {
  using Kind = TreeDef::Kind;
  std::vector<TreeDef> positional, keywords;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (arguments.is_static[i]) positional.push_back(static_node(arguments.positional[i]));
  }
  nb::list names = arguments.static_keywords.keys();
  names.sort();
  for (nb::handle name : names) {
    keywords.push_back(static_node(nb::borrow(name)));
    keywords.push_back(static_node(nb::object(arguments.static_keywords[name])));
  }
  if (positional.empty() && keywords.empty()) return {arguments.tree, std::move(types)};
  return {TreeDef(Kind::kTuple, {arguments.tree, TreeDef(Kind::kTuple, std::move(positional)),
                                 TreeDef(Kind::kTuple, std::move(keywords))}),
          std::move(types)};
}

// For each leaf, whether it belongs to a donated argument.
std::vector<bool> donated_leaves(const JitState& state, const CallArguments& arguments) {
  if (state.donated_numbers.empty() && state.donated_names.empty()) return {};
  std::vector<bool> donated;
  const TreeDef& positional = arguments.tree.children()[0];
  const TreeDef& keywords = arguments.tree.children()[1];
  size_t next = 0;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (arguments.is_static[i]) continue;
    const bool is_donated = std::ranges::find(state.donated_numbers, static_cast<int64_t>(i)) !=
                            state.donated_numbers.end();
    donated.insert(donated.end(), positional.children()[next++].num_leaves(), is_donated);
  }
  const nb::list names = keys_of(keywords);
  for (size_t i = 0; i < keywords.children().size(); ++i) {
    const auto name = nb::cast<std::string>(nb::object(names[i]));
    const bool is_donated =
        std::ranges::find(state.donated_names, name) != state.donated_names.end();
    donated.insert(donated.end(), keywords.children()[i].num_leaves(), is_donated);
  }
  return donated;
}

CachedProgramPtr find_or_trace(JitState& state, const CallArguments& arguments,
                               const farcall::detail::CallSignature& signature,
                               std::vector<Array>& captured) {
  // Fast calls do not update the cache's LRU order; do so before an entry may be evicted.
  for (PatternEntry& entry : state.patterns) {
    if (std::exchange(entry.was_used, false)) state.programs.find(entry.signature);
  }
  const auto record = [&] {
    return trace(state.function, state.where, state.name, arguments, signature.types);
  };
  return state.programs.find_or_record(signature, record, captured);
}

bool are_arrays(PyObject* const* args, size_t nargs) {
  return std::all_of(args, args + nargs, [](PyObject* arg) { return is_array(arg); });
}

// Collects the memory of placed arrays. The device of the result is null unless all arguments are
// placed arrays that are whole on one device.
PlacedArguments collect_placed(PyObject* const* args, size_t nargs, const Storage** storages) {
  PlacedArguments found;
  for (size_t i = 0; i < nargs; ++i) {
    const PlacedNode* node = is_array(args[i]) ? array_of(args[i]).node().placed() : nullptr;
    if (!node) return {};
    storages[i] = &node->memory();
    if (i == 0) found.device = &device_of(*storages[i]);
    if (!is_on(*found.device, *storages[i])) return {};
    if (node->is_committed()) found.committed |= 1U << i;
  }
  return found;
}

// Adds a fast entry for this call, unless its arguments are not on the device where the program
// runs. There are at most kMaxFastArguments, all arrays. The program must not overwrite arguments,
// and its results must not be checked nor be in containers within containers.
void remember_fast(JitState& state, PyObject* const* args, size_t nargs, uint64_t config,
                   const CachedProgramPtr& cached, const Executable& executable,
                   bool is_committed) {
  const Storage* storages[kMaxFastArguments];
  PlacedArguments placed;
  if (!collect(args, nargs, storages)) {
    placed = collect_placed(args, nargs, storages);
    if (placed.device != &executable.device()) return;
  } else if (!executable.device().is_host()) {
    return;
  }
  FastEntry fast{nargs, config, {}, placed, is_committed, &executable, form_of(cached->result()),
                 cached};
  for (size_t i = 0; i < nargs; ++i) fast.types[i] = array_of(args[i]).type();
  if (state.fast.size() < kMaxFastEntries) {
    state.fast.push_back(std::move(fast));
    return;
  }
  std::swap(state.fast[state.next_fast++ % kMaxFastEntries], fast);
  if (state.num_running > 0) state.cleared.push_back(std::move(fast.owner));
}

// Adds a pattern for a call on the host with containers, keywords, static arguments, numpy's data
// or numbers, under the same conditions for the program.
void remember_pattern(JitState& state, const CallArguments& arguments, PyObject* kwnames,
                      farcall::detail::CallSignature signature, const CachedProgramPtr& cached,
                      const Executable& executable) {
  std::optional<CallPattern> pattern = CallPattern::of(arguments, signature.types, kwnames);
  if (!pattern) return;
  // Foreign code relies on alignment, and callbacks may keep views of their arguments.
  const bool shares_memory = !executable.program().holds_callback && executable.report().empty();
  PatternEntry entry{
      std::move(*pattern), std::move(signature), &executable, form_of(cached->result()), cached,
      shares_memory};
  if (state.patterns.size() < kMaxFastEntries) {
    state.patterns.push_back(std::move(entry));
  } else {
    std::swap(state.patterns[state.next_pattern++ % kMaxFastEntries], entry);
  }
}

PyObject* run_pattern(const Executable& executable, ResultForm form, const CachedProgram& cached,
                      CallPattern::Leaves& leaves, bool shares_memory) {
  const HeldLeaves held(leaves, executable.input_types().size(), shares_memory);
  const auto types = executable.output_types();
  StorageArray outputs(types.size());
  execute(executable, held.storages(), outputs.span());
  if (form != ResultForm::kTree) return wrap_results(form, types, outputs);
  std::vector<nb::object> results;
  results.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(wrap_object(Array(types[i], std::move(outputs[i]))));
  }
  return unflatten(cached.result(), results).release().ptr();
}

constexpr std::string_view kMakeStatic =
    ". Name it in static_argnums or static_argnames if it is to be a constant";

// With the flag disable_jit, calls the function itself.
PyObject* plain_call(const JitState& state, PyObject* const* args, size_t nargs,
                     PyObject* kwnames) {
  const nb::object function = state.function;  // the call may clear the state
  return PyObject_Vectorcall(function.ptr(), args, nargs, kwnames);
}

PyObject* slow_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  JitState& state = state_of(self);

  if (is_on(Flag::kDisableJit)) return plain_call(state, args, nargs, kwnames);
  const CallArguments arguments = sort_arguments(state.where, state.statics, args, nargs, kwnames);
  const std::vector<Array> inputs = leaves_to_arrays(state.where, arguments, kMakeStatic);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_concrete()) continue;
    if (inputs[i].is_deleted()) deleted_array(inputs[i]);
    const std::string origin = origin_of_leak(inputs[i]);
    throw LeakedTracerError(fmt::format(
        "{}: {} is a leaked traced array {}: the function that it belongs to has ended{}",
        state.where, describe_parameter(state.function, arguments, i), inputs[i].type().to_string(),
        origin.empty() ? "" : "; " + origin));
  }
  std::vector<Array> captured;
  auto signature = signature_of(arguments, types_of(inputs));
  const CachedProgramPtr cached = find_or_trace(state, arguments, signature, captured);
  const CallPlace place = place_of_call(state.where, inputs, state.device);
  const auto executable =
      cached->executable_on(*place.device, state.where, donated_leaves(state, arguments));
  const bool is_plain = !kwnames || PyTuple_GET_SIZE(kwnames) == 0;
  const auto& overwrites = executable->overwrites();
  const bool is_fast = !checks_results() &&
                       std::ranges::find(overwrites, true) == overwrites.end() &&
                       !executable->has_output_shardings() && !has_home(*executable);
  const bool is_flat = is_plain && nargs <= kMaxFastArguments && are_arrays(args, nargs) &&
                       form_of(cached->result()) != ResultForm::kTree;
  if (is_fast && is_flat) {
    remember_fast(state, args, nargs, signature.config, cached, *executable, place.is_committed);
  } else if (is_fast && place.device->is_host() && !place.is_committed) {
    remember_pattern(state, arguments, kwnames, std::move(signature), cached, *executable);
  }
  const std::vector<Array> results = is_fast
                                         ? run(*executable, inputs, {}, place.is_committed)
                                         : run_donating(*executable, inputs, place.is_committed);
  return unflatten_arrays(cached->result(), results).release().ptr();
}

// Inside another traced function, the call is recorded as one operation.
PyObject* nested_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  JitState& state = state_of(self);
  if (is_on(Flag::kDisableJit)) return plain_call(state, args, nargs, kwnames);
  const CallArguments arguments = sort_arguments(state.where, state.statics, args, nargs, kwnames);
  const std::vector<Array> inputs = leaves_to_arrays(state.where, arguments, kMakeStatic);
  std::vector<Array> operands;
  auto signature = signature_of(arguments, types_of(inputs));
  signature.add_varying_axes(inputs);
  const CachedProgramPtr cached = find_or_trace(state, arguments, signature, operands);
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  const std::vector<Array> results = state.is_inline ? evaluate(*cached->program(), operands)
                                                     : call_program(cached->program(), operands);
  return unflatten_arrays(cached->result(), results).release().ptr();
}

// The entry for arrays on this place; null if there is none.
const FastEntry* find_fast(const JitState& state, PyObject* const* args, size_t nargs,
                           uint64_t config, const PlacedArguments& placed) {
  for (const FastEntry& entry : state.fast) {
    if (entry.nargs != nargs || entry.config != config || entry.placed != placed) continue;
    size_t i = 0;
    while (i < nargs && array_of(args[i]).type() == entry.types[i]) ++i;
    if (i == nargs) return &entry;
  }
  return nullptr;
}

PyObject* run_fast(JitState& state, const FastEntry& entry,
                   std::span<const Storage* const> storages) {
  const Executable& executable = *entry.executable;
  const ResultForm form = entry.form;
  const bool is_committed = entry.is_committed;
  const bool is_placed = is_committed || entry.placed.device != nullptr;
  const auto types = executable.output_types();
  StorageArray outputs(types.size());
  const Running running(state);  // the entry may be removed meanwhile
  execute(executable, storages, outputs.span());
  if (!is_placed) return wrap_results(form, types, outputs);
  return wrap_results(form, types.size(), [&](size_t i) {
    return placed_array(types[i], std::move(outputs[i]), is_committed);
  });
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  JitState& state = state_of(self);
  try {
    if (!is_evaluating()) return nested_call(self, args, nargs, kwnames);
    const Storage* storages[kMaxFastArguments];
    const uint64_t config = cache_key();
    if (!kwnames && nargs <= kMaxFastArguments) {
      PlacedArguments placed;
      const bool is_on_host = collect(args, nargs, storages);
      if (!is_on_host) placed = collect_placed(args, nargs, storages);
      if (is_on_host || placed.device) {
        const FastEntry* entry = find_fast(state, args, nargs, config, placed);
        if (entry) return run_fast(state, *entry, {storages, nargs});
      }
    }
    CallPattern::Leaves leaves;
    for (PatternEntry& entry : state.patterns) {
      if (entry.signature.config != config) continue;
      if (!entry.pattern.matches(args, nargs, kwnames, leaves)) continue;
      if (const CachedProgramPtr cached = entry.cached.lock()) {
        entry.was_used = true;
        return run_pattern(*entry.executable, entry.form, *cached, leaves, entry.shares_memory);
      }
    }
    return slow_call(self, args, nargs, kwnames);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// A call of a function with placed arguments or results.
PyObject* placed_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (!is_evaluating() || is_on(Flag::kDisableJit)) return jit_call(self, args, nargsf, kwnames);
  const nb::object around = state_of(self).around;  // the call may clear the state
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  const size_t count = nargs + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + count);
  return PyObject_Vectorcall(around.ptr(), all.data(), nargs + 1, kwnames);
}

// ---- the type ----

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* object = reinterpret_cast<JitObject*>(self);
  Py_VISIT(object->dict);
  if (!object->state) return 0;
  Py_VISIT(object->state->function.ptr());
  Py_VISIT(object->state->around.ptr());
  std::vector<HeldProgram> held;
  object->state->programs.for_each([&](const CachedProgramPtr& cached) {
    if (!cached->program()->holds_callback) return;
    // The callbacks may be visited only if nothing but this object holds the program. A call in
    // progress, for example, holds it too.
    const auto ours = 1 + std::ranges::count(object->state->fast, cached, &FastEntry::owner);
    if (cached.use_count() == ours) held.push_back({cached->program(), cached->executables()});
  });
  return held.empty() ? 0 : visit_owned_functions(held, visit, arg);
}

int clear(PyObject* self) {
  auto* object = reinterpret_cast<JitObject*>(self);
  Py_CLEAR(object->dict);
  if (!object->state) return 0;
  object->state->function.reset();
  object->state->around.reset();
  // Releasing these may run code that accesses this object.
  object->state->programs.clear();
  const auto patterns = std::exchange(object->state->patterns, {});
  const auto fast = std::exchange(object->state->fast, {});
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<JitObject*>(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(object->dict);
  delete object->state;
  type->tp_free(self);
  Py_DECREF(type);
}

// In a class, a jitted function becomes a method.
PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* representation(PyObject* self) {
  return guarded(
      [&] { return from_text(fmt::format("<jitted {}>", state_of(self).name)).release().ptr(); });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weak_references), READONLY, nullptr},
    {}};

PyGetSetDef getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A function made by farcall.jit.")},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
                       {Py_tp_repr, reinterpret_cast<void*>(representation)},
                       {Py_tp_members, members},
                       {Py_tp_getset, getters},
                       {0, nullptr}};

PyType_Spec spec = {"farcall.JitFunction", sizeof(JitObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

nb::object make_jit(nb::callable function, std::string name, std::vector<int64_t> static_numbers,
                    std::vector<std::string> static_names, std::vector<int64_t> donated_numbers,
                    std::vector<std::string> donated_names, bool is_inline, const Device* device,
                    nb::object around) {
  PyObject* made = jit_type->tp_alloc(jit_type, 0);
  if (!made) nb::raise_python_error();
  nb::object owner = nb::steal(made);
  auto* object = reinterpret_cast<JitObject*>(made);
  object->vectorcall = around.is_none() ? jit_call : placed_call;
  auto state = std::make_unique<JitState>();
  state->function = function;
  state->where = "jit(" + name + ")";
  state->name = std::move(name);
  state->statics = {std::move(static_numbers), std::move(static_names)};
  state->donated_numbers = std::move(donated_numbers);
  state->donated_names = std::move(donated_names);
  state->is_inline = is_inline;
  state->device = device;
  if (!around.is_none()) state->around = std::move(around);
  object->state = state.release();
  return owner;
}

JitState& checked_state(nb::handle object) {
  if (Py_TYPE(object.ptr()) != jit_type) throw TypeError("expected a jitted function");
  return state_of(object.ptr());
}

Lowered lower(nb::handle function, const nb::list& in_shardings, nb::args args, nb::kwargs kwargs) {
  JitState& state = checked_state(function);
  const CallArguments arguments = sort_arguments(state.where, state.statics, args, kwargs);
  const auto types = leaves_to_types(state.where, arguments);
  farcall::detail::TracedFunction traced =
      trace(state.function, state.where, state.name, arguments, types);
  if (!traced.captured.empty()) {
    leaked_array(traced.captured[0], fmt::format("while {} was lowered", state.where));
  }
  std::vector<bool> donated = donated_leaves(state, arguments);
  warn_of_unusable_donations(state.where, *traced.program, donated);
  Lowered lowered{{state.where, std::move(traced.program), arguments.tree, std::move(traced.result),
                   std::move(donated), state.device},
                  state.statics};
  place_for(lowered, in_shardings, arguments);
  return lowered;
}

}  // namespace

void bind_jit(nb::module_& module) {
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) nb::raise_python_error();
  jit_type = reinterpret_cast<PyTypeObject*>(made);
  module.attr("JitFunction") = nb::handle(made);

  // Programs that transformations run are executed like jitted calls.
  set_executor([](const Executable& executable, std::span<const Storage* const> inputs,
                  std::span<Storage> outputs, const ExecutionOptions& options) {
    if (PyGILState_Check()) return execute(executable, inputs, outputs, options);
    executable.execute(inputs, outputs, options);
  });
  module.def("make_jit", make_jit, nb::arg("function"), nb::arg("name"), nb::arg("static_argnums"),
             nb::arg("static_argnames"), nb::arg("donate_argnums"), nb::arg("donate_argnames"),
             nb::arg("inline"), nb::arg("device").none(), nb::arg("around").none());
  // A call without the placement wrapper.
  module.def("jit_run", [](nb::handle f, nb::args args, nb::kwargs kwargs) {
    checked_state(f);
    std::vector<PyObject*> all;
    for (nb::handle arg : args) all.push_back(arg.ptr());
    const nb::list names = kwargs.keys(), values = kwargs.values();
    for (nb::handle value : values) all.push_back(value.ptr());
    const nb::tuple kwnames(names);
    PyObject* result =
        jit_call(f.ptr(), all.data(), nb::len(args), nb::len(names) > 0 ? kwnames.ptr() : nullptr);
    if (!result) nb::raise_python_error();
    return nb::steal(result);
  });
  module.def("jit_cache_info",
             [](nb::handle f) { return to_tuple(checked_state(f).programs.info()); });
  module.def("jit_clear_cache", [](nb::handle f) {
    JitState& state = checked_state(f);
    state.programs.clear();
    const auto patterns = std::exchange(state.patterns, {});
    const auto fast = std::exchange(state.fast, {});
    if (state.num_running == 0) return;
    for (const FastEntry& entry : fast) state.cleared.push_back(entry.owner);
  });
  module.def("jit_lower", lower);
  // A function's program and the structure of its result. Traced arrays of closures are inputs.
  module.def("trace", [](nb::callable function, std::string where, std::string name,
                         std::vector<int64_t> numbers,
                         const std::vector<std::pair<std::string, int64_t>>& axes, nb::args args,
                         nb::kwargs kwargs) {
    const AxisEnvironment environment(axes);
    const CallArguments arguments = sort_arguments(where, {std::move(numbers), {}}, args, kwargs);
    const auto types = leaves_to_types(where, arguments);
    const farcall::detail::TracedFunction traced = trace(function, where, name, arguments, types);
    return nb::make_tuple(std::const_pointer_cast<Program>(traced.program), traced.result);
  });
  bind_lowered(module);
}

}  // namespace farcall::python
