// Loops and branches over pytrees.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/linear_functions.h>
#include <farcall/ops/platform.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/origin.h>

#include "array_object.h"
#include "body_cache.h"
#include "callbacks/python_function.h"
#include "convert.h"
#include "float0.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

using Arrays = std::span<const Array>;

struct FlatTree {
  TreeDef tree;
  std::vector<Array> arrays;

  std::vector<ShapeDtype> types() const { return types_of(arrays); }
};

// Raises TypeError with the path of the first leaf that is not an array; `what` names the tree.
FlatTree flatten_arrays(nb::handle object, const std::string& what) {
  FlatTree flat;
  std::vector<nb::object> leaves;
  flat.tree = flatten_marked(object, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    flat.arrays.push_back(is_float0(leaves[i])
                              ? float0_stand_in(leaves[i])
                              : to_array(leaves[i], what + leaf_path(flat.tree, i)));
  }
  return flat;
}

lax::LeafName paths(std::string root, const TreeDef& tree) {
  return [root = std::move(root), tree](size_t leaf) { return root + leaf_path(tree, leaf); };
}

void check_callable(nb::handle f, std::string_view what) {
  if (PyCallable_Check(f.ptr())) return;
  throw TypeError(fmt::format("{} must be a function, got {} of type {}", what, repr_of(f),
                              Py_TYPE(f.ptr())->tp_name));
}

// Calls `f` with pytree arguments; `what` names the loop or branch in messages.
nb::object call(std::string_view what, nb::handle f, nb::tuple arguments) {
  const CallArguments sorted = all_arguments(arguments, nb::dict());
  std::vector<Array> inputs;
  for (const nb::object& leaf : sorted.leaves) {
    inputs.push_back(is_array(leaf.ptr()) ? array_of(leaf.ptr()) : Array());
  }
  const TracedCallScope names(fmt::format("{}({})", what, name_of_function(f)), inputs,
                              [&](size_t leaf) { return describe_parameter(f, sorted, leaf); });
  nb::object result = nb::steal(PyObject_CallObject(f.ptr(), arguments.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

// Flattens the carry that a body returned, after checking that its structure is `wanted`.
std::vector<Array> returned_carry(std::string_view function, const TreeDef& wanted,
                                  nb::handle result) {
  FlatTree carry =
      flatten_arrays(result, fmt::format("{}: the carry that the body returns", function));
  if (!(carry.tree == wanted)) {
    throw TypeError(
        fmt::format("{}: the body must return a carry of the structure that it gets; input:\n  "
                    "{}\noutput:\n  {}",
                    function, text_of(wanted), text_of(carry.tree)));
  }
  return std::move(carry.arrays);
}

// Runs recorded bodies. In eager mode it releases the interpreter lock meanwhile.
template <class Run>
auto run_recorded(const Run& run) {
  if (!is_evaluating()) return run();
  const nb::gil_scoped_release without_lock;
  return run();
}

// An optional integer. None, and a bool for unroll, mean the default.
std::optional<int64_t> to_count(nb::handle value, const char* what) {
  if (value.is_none()) return std::nullopt;
  check_known_integer(value, what);
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw TypeError(fmt::format("{} must be an integer, got {} of type {}", what, repr_of(value),
                                Py_TYPE(value.ptr())->tp_name));
  }
  return nb::cast<int64_t>(index);
}

std::optional<int64_t> to_unroll(nb::handle value, int64_t length, const char* what) {
  if (value.ptr() == Py_True) return std::max<int64_t>(length, 1);
  if (value.ptr() == Py_False) return 1;
  return to_count(value, what);
}

// ---- scan and map ----

RecordedBody record_scan_body(nb::handle f, const FlatTree& init, const FlatTree& xs,
                              std::span<const ShapeDtype> slices) {
  RecordedBody body;
  const lax::ScanBody flat = [&](Arrays carry, Arrays x) {
    nb::object result =
        call("scan", f,
             nb::make_tuple(unflatten_arrays(init.tree, carry), unflatten_arrays(xs.tree, x)));
    const bool is_pair =
        (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) && nb::len(result) == 2;
    if (!is_pair) {
      throw TypeError(fmt::format("scan: f must return a pair (carry, y), got {} of type {}",
                                  repr_of(result), Py_TYPE(result.ptr())->tp_name));
    }
    FlatTree ys = flatten_arrays(nb::object(result[1]), "scan: the y that f returns");
    body.result_tree = ys.tree;
    return lax::LoopResults{returned_carry("scan", init.tree, nb::object(result[0])),
                            std::move(ys.arrays)};
  };
  body.programs = {lax::record_scan(flat, init.types(), slices, paths("carry", init.tree))};
  return body;
}

nb::object scan(nb::handle f, BodyCache& cache, nb::handle init, nb::handle xs, nb::handle length,
                bool reverse, nb::handle unroll) {
  check_callable(f, "scan: f");
  const FlatTree carry = flatten_arrays(init, "scan: init");
  const FlatTree slices = flatten_arrays(xs, "scan: xs");
  lax::ScanOptions options{.length = to_count(length, "scan: length"), .reverse = reverse};
  const int64_t count = lax::scan_length("scan", slices.arrays, options, paths("xs", slices.tree));
  options.unroll = to_unroll(unroll, count, "scan: unroll").value_or(1);

  std::vector<ShapeDtype> types = carry.types();
  const std::vector<ShapeDtype> slice_types = lax::slice_types(slices.arrays);
  types.insert(types.end(), slice_types.begin(), slice_types.end());
  const auto body =
      cache.find_or_record(body_signature("scan", {carry.tree, slices.tree}, std::move(types)),
                           [&] { return record_scan_body(f, carry, slices, slice_types); });
  const lax::LoopResults results = run_recorded([&] {
    return lax::run_scan(body->programs[0], carry.arrays, slices.arrays, count, options);
  });
  return nb::make_tuple(unflatten_arrays(carry.tree, results.carry),
                        unflatten_arrays(body->result_tree, results.ys));
}

nb::object map_slices(nb::handle f, BodyCache& cache, nb::handle xs, nb::handle batch_size) {
  check_callable(f, "map: f");
  const FlatTree slices = flatten_arrays(xs, "map: xs");
  TreeDef tree;
  const FlatFunction flat = [&](Arrays x) {
    FlatTree result = flatten_arrays(
        call("map", f, nb::make_tuple(unflatten_arrays(slices.tree, x))), "map: f's result");
    tree = result.tree;
    return std::move(result.arrays);
  };
  if (const auto size = to_count(batch_size, "map: batch_size")) {
    const auto results = lax::map(flat, slices.arrays, size);
    return unflatten_arrays(tree, results);
  }
  const int64_t length = lax::scan_length("map", slices.arrays, {}, paths("xs", slices.tree));
  const auto types = lax::slice_types(slices.arrays);
  const auto body = cache.find_or_record(body_signature("map", {slices.tree}, types), [&] {
    const lax::ScanBody step = [&](Arrays, Arrays x) { return lax::LoopResults{{}, flat(x)}; };
    RecordedBody made{{lax::record_scan(step, {}, types, {})}, {}};
    made.result_tree = tree;
    return made;
  });
  const auto results = run_recorded(
      [&] { return lax::run_scan(body->programs[0], {}, slices.arrays, length, {}).ys; });
  return unflatten_arrays(body->result_tree, results);
}

nb::object associative_scan(nb::handle fn, nb::handle elems, bool reverse, int64_t axis) {
  check_callable(fn, "associative_scan: fn");
  const FlatTree all = flatten_arrays(elems, "associative_scan: elems");
  const lax::Combine flat = [&](Arrays a, Arrays b) {
    nb::object result =
        call("associative_scan", fn,
             nb::make_tuple(unflatten_arrays(all.tree, a), unflatten_arrays(all.tree, b)));
    return returned_carry("associative_scan", all.tree, result);
  };
  return unflatten_arrays(all.tree, lax::associative_scan(flat, all.arrays, reverse, axis));
}

// ---- while_loop and fori_loop ----

lax::RecordedLoop loop_of(const RecordedBody& body) {
  lax::RecordedLoop loop;
  loop.body = body.programs[0];
  if (body.programs.size() > 1) loop.cond = body.programs[1];
  return loop;
}

RecordedBody body_of(lax::RecordedLoop loop) {
  RecordedBody body;
  body.programs.push_back(std::move(loop.body));
  if (loop.cond.program) body.programs.push_back(std::move(loop.cond));
  return body;
}

nb::object while_loop(nb::handle cond_fun, nb::handle body_fun, BodyCache& cache,
                      nb::handle init_val) {
  check_callable(cond_fun, "while_loop: cond_fun");
  check_callable(body_fun, "while_loop: body_fun");
  const FlatTree init = flatten_arrays(init_val, "while_loop: init_val");
  const auto body = cache.find_or_record(body_signature("while", {init.tree}, init.types()), [&] {
    const FlatFunction cond = [&](Arrays carry) {
      FlatTree decision = flatten_arrays(
          call("while_loop", cond_fun, nb::make_tuple(unflatten_arrays(init.tree, carry))),
          "while_loop: what cond_fun returns");
      if (!decision.tree.is_leaf()) {
        throw TypeError(
            fmt::format("while_loop: cond_fun must return one scalar of dtype bool, it "
                        "returned the structure {}",
                        text_of(decision.tree)));
      }
      return std::move(decision.arrays);
    };
    const FlatFunction step = [&](Arrays carry) {
      return returned_carry(
          "while_loop", init.tree,
          call("while_loop", body_fun, nb::make_tuple(unflatten_arrays(init.tree, carry))));
    };
    return body_of(lax::record_while(cond, step, init.types(), paths("carry", init.tree)));
  });
  return unflatten_arrays(
      init.tree, run_recorded([&] { return lax::run_while(loop_of(*body), init.arrays); }));
}

nb::object fori_loop(nb::handle lower, nb::handle upper, nb::handle body_fun, BodyCache& cache,
                     nb::handle init_val, nb::handle unroll) {
  check_callable(body_fun, "fori_loop: body_fun");
  const FlatTree init = flatten_arrays(init_val, "fori_loop: init_val");
  std::optional<int64_t> factor = to_unroll(unroll, 1, "fori_loop: unroll");
  const lax::ForBounds bounds = lax::for_bounds(to_array(lower, "fori_loop: lower"),
                                                to_array(upper, "fori_loop: upper"), factor);
  if (bounds.trip_count) factor = to_unroll(unroll, *bounds.trip_count, "fori_loop: unroll");
  std::vector<ShapeDtype> types{bounds.lower.type(), bounds.upper.type()};
  for (const ShapeDtype& type : init.types()) types.push_back(type);
  auto key =
      body_signature(bounds.trip_count ? "fori, known" : "fori", {init.tree}, std::move(types));
  const auto body = cache.find_or_record(key, [&] {
    const lax::ForBody step = [&](const Array& i, Arrays carry) {
      return returned_carry(
          "fori_loop", init.tree,
          call("fori_loop", body_fun,
               nb::make_tuple(wrap_object(i), unflatten_arrays(init.tree, carry))));
    };
    return body_of(lax::record_for(step, bounds, init.types(), paths("init_val", init.tree)));
  });
  return unflatten_arrays(init.tree, run_recorded([&] {
                            return lax::run_for(loop_of(*body), bounds, init.arrays, factor);
                          }));
}

// ---- cond and switch ----

RecordedBody record_branches(lax::BranchFunction function, nb::list branches,
                             const FlatTree& operands) {
  const std::string_view front = lax::name_of(function);
  RecordedBody body;
  for (nb::handle branch : branches) {
    const FlatFunction flat = [&](Arrays inputs) {
      nb::object arguments = unflatten_arrays(operands.tree, inputs);
      nb::object value = call(front, branch, nb::borrow<nb::tuple>(arguments));
      const std::string name = lax::branch_name(function, body.programs.size());
      FlatTree result = flatten_arrays(value, fmt::format("{}: what {} returns", front, name));
      if (!body.programs.empty() && !(result.tree == body.result_tree)) {
        throw TypeError(fmt::format(
            "{}: all branches must return the same structure; {} returns\n  {}\n{} returns\n  {}",
            front, lax::branch_name(function, 0), text_of(body.result_tree), name,
            text_of(result.tree)));
      }
      body.result_tree = result.tree;
      return std::move(result.arrays);
    };
    body.programs.push_back(record_closure(flat, operands.types(), "branch"));
  }
  lax::check_branches(function, body.programs, paths("result", body.result_tree));
  return body;
}

// `branches` are ordered by index; for cond: the false branch, then the true one. The index of
// platform_dependent is always in range.
nb::object run_branches(lax::BranchFunction function, nb::handle index, nb::list branches,
                        BodyCache& cache, nb::tuple arguments) {
  const std::string front(lax::name_of(function));
  if (nb::len(branches) == 0) {
    invalid_argument(front + ": expected at least one branch");
  }
  for (size_t i = 0; i < nb::len(branches); ++i) {
    check_callable(nb::object(branches[i]), front + ": " + lax::branch_name(function, i));
  }
  const bool is_cond = function == lax::BranchFunction::kCond;
  const Array given = to_array(index, front + (is_cond ? ": pred" : ": index"));
  const FlatTree operands = flatten_arrays(arguments, front + ": operands");
  const auto body =
      cache.find_or_record(body_signature(front, {operands.tree}, operands.types()),
                           [&] { return record_branches(function, branches, operands); });
  const auto results = run_recorded([&] {
    return lax::run_branches(lax::branch_number(function, given, body->programs.size()),
                             body->programs, operands.arrays);
  });
  return unflatten_arrays(body->result_tree, results);
}

void bind_branches(nb::module_& module, const char* name, lax::BranchFunction function) {
  module.def(
      name,
      [function](nb::handle index, nb::list branches, BodyCache& cache, nb::tuple operands) {
        return run_branches(function, index, branches, cache, operands);
      },
      nb::arg("index").none(), nb::arg("branches"), nb::arg("cache"), nb::arg("operands"));
}

// ---- linear functions ----

// Flattens what a function returned, after checking that its structure is that of `whose`.
std::vector<Array> returned_like(const std::string& what, std::string_view whose,
                                 const TreeDef& wanted, nb::handle result) {
  FlatTree found = flatten_arrays(result, what);
  if (!(found.tree == wanted)) {
    throw TypeError(fmt::format("{} must have the structure of {},\n  {}\nit has\n  {}", what,
                                whose, text_of(wanted), text_of(found.tree)));
  }
  return std::move(found.arrays);
}

nb::object linear_call(nb::handle fun, nb::handle fun_transpose, nb::handle residual_args,
                       nb::handle linear_args) {
  check_callable(fun, "linear_call: fun");
  check_callable(fun_transpose, "linear_call: fun_transpose");
  const FlatTree residuals = flatten_arrays(residual_args, "linear_call: residual_args");
  const FlatTree linear = flatten_arrays(linear_args, "linear_call: linear_args");
  TreeDef tree;
  const LinearFunction forward = [&](Arrays r, Arrays x) {
    nb::object y =
        call("linear_call", fun,
             nb::make_tuple(unflatten_arrays(residuals.tree, r), unflatten_arrays(linear.tree, x)));
    FlatTree result = flatten_arrays(y, "linear_call: what fun returns");
    tree = result.tree;
    return std::move(result.arrays);
  };
  const LinearFunction backward = [&](Arrays r, Arrays y) {
    return returned_like(
        "linear_call: what fun_transpose returns", "linear_args", linear.tree,
        call("linear_call", fun_transpose,
             nb::make_tuple(unflatten_arrays(residuals.tree, r), unflatten_arrays(tree, y))));
  };
  const auto results = farcall::linear_call(forward, backward, residuals.arrays, linear.arrays);
  return unflatten_arrays(tree, results);
}

// Calls a Python solver on flat lists. `matvec` is its argument; `result` receives the structure of
// its result.
std::vector<Array> call_solver(const char* which, nb::handle solver, nb::object matvec,
                               const FlatTree& b, Arrays inputs, bool has_aux, TreeDef& result) {
  const std::string what = fmt::format("custom_linear_solve: what {} returns", which);
  nb::object found = call("custom_linear_solve", solver,
                          nb::make_tuple(std::move(matvec), unflatten_arrays(b.tree, inputs)));
  nb::object x = found;
  if (has_aux) {
    if (!PyTuple_Check(found.ptr()) || nb::len(found) != 2) {
      throw TypeError(
          fmt::format("{} must be a pair (x, aux), as has_aux is set; got {} of type {}", what,
                      repr_of(found), Py_TYPE(found.ptr())->tp_name));
    }
    x = nb::object(found[0]);
  }
  returned_like(has_aux ? what + " as x" : what, "b", b.tree, x);
  FlatTree all = flatten_arrays(found, what);
  result = all.tree;
  return std::move(all.arrays);
}

nb::object custom_linear_solve(nb::handle matvec, nb::handle b, nb::handle solve,
                               nb::handle transpose_solve, bool symmetric, bool has_aux) {
  check_callable(matvec, "custom_linear_solve: matvec");
  check_callable(solve, "custom_linear_solve: solve");
  const FlatTree right = flatten_arrays(b, "custom_linear_solve: b");
  TreeDef result, transposed_result;
  const FlatFunction flat_matvec = [&](Arrays x) {
    return returned_like(
        "custom_linear_solve: what matvec returns", "b", right.tree,
        call("custom_linear_solve", matvec, nb::make_tuple(unflatten_arrays(right.tree, x))));
  };
  const lax::LinearSolver flat_solve = [&](const FlatFunction&, Arrays inputs) {
    return call_solver("solve", solve, nb::borrow(matvec), right, inputs, has_aux, result);
  };
  lax::LinearSolveOptions options{.is_symmetric = symmetric};
  if (!transpose_solve.is_none()) {
    check_callable(transpose_solve, "custom_linear_solve: transpose_solve");
    options.transpose_solve = [&](const FlatFunction& function, Arrays inputs) {
      const auto apply = [function, tree = right.tree](nb::object x) {
        return unflatten_arrays(
            tree,
            function(returned_like("custom_linear_solve: the argument of vecmat", "b", tree, x)));
      };
      nb::object vecmat = nb::cpp_function(apply, nb::name("vecmat"));
      return call_solver("transpose_solve", transpose_solve, std::move(vecmat), right, inputs,
                         has_aux, transposed_result);
    };
  }
  const auto results = lax::custom_linear_solve(flat_matvec, right.arrays, flat_solve, options);
  return unflatten_arrays(result, results);
}

}  // namespace

void bind_control_flow(nb::module_& module) {
  nb::class_<BodyCache>(module, "BodyCache").def(nb::init<>());
  module.def("scan", scan, nb::arg("f").none(), nb::arg("cache"), nb::arg("init").none(),
             nb::arg("xs").none(), nb::arg("length").none(), nb::arg("reverse"),
             nb::arg("unroll").none());
  module.def("linear_call", linear_call, nb::arg("fun").none(), nb::arg("fun_transpose").none(),
             nb::arg("residual_args").none(), nb::arg("linear_args").none());
  module.def("custom_linear_solve", custom_linear_solve, nb::arg("matvec").none(),
             nb::arg("b").none(), nb::arg("solve").none(), nb::arg("transpose_solve").none(),
             nb::arg("symmetric"), nb::arg("has_aux"));
  // The number of steps of a scan.
  module.def(
      "scan_length",
      [](nb::handle xs, nb::handle length) {
        const FlatTree slices = flatten_arrays(xs, "scan: xs");
        return lax::scan_length("scan", slices.arrays, {.length = to_count(length, "scan: length")},
                                paths("xs", slices.tree));
      },
      nb::arg("xs").none(), nb::arg("length").none());
  module.def("map_slices", map_slices, nb::arg("f").none(), nb::arg("cache"), nb::arg("xs").none(),
             nb::arg("batch_size").none());
  module.def("associative_scan", associative_scan, nb::arg("fn").none(), nb::arg("elems").none(),
             nb::arg("reverse"), nb::arg("axis"));
  module.def("while_loop", while_loop, nb::arg("cond_fun").none(), nb::arg("body_fun").none(),
             nb::arg("cache"), nb::arg("init_val").none());
  module.def("fori_loop", fori_loop, nb::arg("lower").none(), nb::arg("upper").none(),
             nb::arg("body_fun").none(), nb::arg("cache"), nb::arg("init_val").none(),
             nb::arg("unroll").none());
  bind_branches(module, "run_cond", lax::BranchFunction::kCond);
  bind_branches(module, "run_switch", lax::BranchFunction::kSwitch);
  bind_branches(module, "run_platform_dependent", lax::BranchFunction::kPlatformDependent);
  module.def(
      "platform_index",
      [](const std::vector<std::string>& platforms, bool has_default) {
        return wrap_object(lax::platform_index(platforms, has_default));
      },
      nb::arg("platforms"), nb::arg("has_default"));
}

}  // namespace farcall::python
