#include "callbacks/owned_functions.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <farcall/primitives/callback.h>

#include "callbacks/python_function.h"

namespace farcall::python {
namespace {

// Finds the callbacks that are held only through the given references. For each program,
// executable, parameter and callback that is reachable, counts the references that it finds, and
// compares the number with the use count. If the use count is higher, the object is also held
// elsewhere, and so is all that it refers to.
class Ownership {
 public:
  void add(const HeldProgram& held) {
    add_program(kRoot, held.program);
    for (const auto& executable : held.executables) {
      refer(kRoot, executable.get());
      executables_.push_back(&executable);
      executable->for_each_program(
          [&](const ProgramPtr& program) { add_program(executable.get(), program); });
    }
  }

  int visit(visitproc visit, void* arg) {
    find_shared();
    for (const CallbackPtr* callback : callbacks_) {
      if (things_[callback->get()].is_shared) continue;
      const PythonFunction* f = find_python_function(callback->get());
      if (!f) continue;
      Py_VISIT(f->function.ptr());
      for (const auto& [at, object] : f->statics) Py_VISIT(object.ptr());
    }
    return 0;
  }

 private:
  static constexpr const void* kRoot = nullptr;

  struct Thing {
    long found = 0;  // references found
    bool is_shared = false;
    std::vector<const void*> holds;
  };

  // Records one reference; returns true if `to` is new.
  bool refer(const void* from, const void* to) {
    if (from != kRoot) things_[from].holds.push_back(to);
    return things_[to].found++ == 0;
  }

  // Skips programs without callbacks.
  void add_program(const void* from, const ProgramPtr& program) {
    if (!program->holds_callback || !refer(from, program.get())) return;
    programs_.push_back(program);
    for (const Equation& equation : program->equations) {
      if (equation.params) add_params(program.get(), equation.params);
    }
  }

  void add_params(const void* from, const ParamsPtr& params) {
    if (const CallbackParams* p = try_callback(params.get())) {
      if (!refer(from, params.get())) return;
      params_.push_back(&params);
      if (refer(params.get(), p->callback.get())) callbacks_.push_back(&p->callback);
      return;
    }
    const std::vector<NamedProgram> inner = params->programs();
    const bool matters = std::ranges::any_of(
        inner, [](const NamedProgram& nested) { return nested.program->holds_callback; });
    if (!matters || !refer(from, params.get())) return;
    params_.push_back(&params);
    for (const NamedProgram& nested : inner) add_program(params.get(), nested.program);
  }

  void find_shared() {
    std::vector<const void*> shared;
    const auto compare = [&](const void* at, long count) {
      if (count > things_[at].found) shared.push_back(at);
    };
    for (const auto* executable : executables_) compare(executable->get(), executable->use_count());
    // The list programs_ holds one reference itself.
    for (const ProgramPtr& program : programs_) compare(program.get(), program.use_count() - 1);
    for (const ParamsPtr* params : params_) compare(params->get(), params->use_count());
    for (const CallbackPtr* callback : callbacks_) compare(callback->get(), callback->use_count());
    while (!shared.empty()) {
      Thing& thing = things_[shared.back()];
      shared.pop_back();
      if (thing.is_shared) continue;
      thing.is_shared = true;
      shared.insert(shared.end(), thing.holds.begin(), thing.holds.end());
    }
  }

  std::unordered_map<const void*, Thing> things_;
  std::vector<const std::shared_ptr<const Executable>*> executables_;
  std::vector<ProgramPtr> programs_;
  std::vector<const ParamsPtr*> params_;
  std::vector<const CallbackPtr*> callbacks_;
};

}  // namespace

int visit_owned_functions(std::span<const HeldProgram> held, visitproc visit, void* arg) {
  Ownership ownership;
  for (const HeldProgram& each : held) ownership.add(each);
  return ownership.visit(visit, arg);
}

}  // namespace farcall::python
