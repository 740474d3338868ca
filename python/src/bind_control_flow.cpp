// Loops and branches over pytrees.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/platform.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "body_cache.h"
#include "convert.h"
#include "flat_tree.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

using Arrays = std::span<const Array>;
using lax::detail::paths;

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

RecordedBody record_scan_body(nb::handle f, const FlatTree& init, const FlatTree& xs) {
  RecordedBody body;
  const lax::ScanBody flat = [&](Arrays carry, Arrays x) {
    nb::object result = call_with_trees(
        "scan", f,
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
  body.programs = {lax::record_scan(flat, init.arrays, xs.arrays, paths("carry", init.tree))};
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
                           [&] { return record_scan_body(f, carry, slices); });
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
    FlatTree result =
        flatten_arrays(call_with_trees("map", f, nb::make_tuple(unflatten_arrays(slices.tree, x))),
                       "map: f's result");
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
    RecordedBody made{{lax::record_scan(step, {}, slices.arrays, {})}, {}};
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
    nb::object result = call_with_trees(
        "associative_scan", fn,
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
      FlatTree decision =
          flatten_arrays(call_with_trees("while_loop", cond_fun,
                                         nb::make_tuple(unflatten_arrays(init.tree, carry))),
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
      return returned_carry("while_loop", init.tree,
                            call_with_trees("while_loop", body_fun,
                                            nb::make_tuple(unflatten_arrays(init.tree, carry))));
    };
    return body_of(lax::record_while(cond, step, init.arrays, paths("carry", init.tree)));
  });
  return unflatten_arrays(
      init.tree, run_recorded([&] { return lax::run_while(loop_of(*body), init.arrays); }));
}

// The first counter, and how many steps there are; None if that is not known.
nb::tuple for_bounds(nb::handle lower, nb::handle upper) {
  const lax::ForBounds bounds =
      lax::for_bounds(to_array(lower, "fori_loop: lower"), to_array(upper, "fori_loop: upper"), {});
  return nb::make_tuple(wrap_object(bounds.lower),
                        bounds.trip_count ? nb::cast(*bounds.trip_count) : nb::object(nb::none()));
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
          call_with_trees("fori_loop", body_fun,
                          nb::make_tuple(wrap_object(i), unflatten_arrays(init.tree, carry))));
    };
    return body_of(lax::record_for(step, bounds, init.arrays, paths("init_val", init.tree)));
  });
  return unflatten_arrays(init.tree, run_recorded([&] {
                            return lax::run_for(loop_of(*body), bounds, init.arrays, factor);
                          }));
}

// ---- cond and switch ----

RecordedBody record_branches(lax::BranchFunction function, const Array& choice, nb::list branches,
                             const FlatTree& operands) {
  const std::string_view front = lax::name_of(function);
  RecordedBody body;
  for (nb::handle branch : branches) {
    const FlatFunction flat = [&](Arrays inputs) {
      nb::object arguments = unflatten_arrays(operands.tree, inputs);
      nb::object value = call_with_trees(front, branch, nb::borrow<nb::tuple>(arguments));
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
    body.programs.push_back(lax::record_branch(flat, choice, operands.arrays));
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
                           [&] { return record_branches(function, given, branches, operands); });
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

}  // namespace

void bind_control_flow(nb::module_& module) {
  nb::class_<BodyCache>(module, "BodyCache").def(nb::init<>());
  module.def("scan", scan, nb::arg("f").none(), nb::arg("cache"), nb::arg("init").none(),
             nb::arg("xs").none(), nb::arg("length").none(), nb::arg("reverse"),
             nb::arg("unroll").none());
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
  module.def("for_bounds", for_bounds, nb::arg("lower").none(), nb::arg("upper").none());
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
