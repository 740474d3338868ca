// Helpers of the files that bind programs.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include <farcall/program/program.h>

namespace farcall::python {

namespace nb = nanobind;

// {"flops": ..., "bytes accessed": ...}
inline nb::dict cost_dict(const Cost& cost) {
  nb::dict dict;
  dict["flops"] = static_cast<double>(cost.flops);
  dict["bytes accessed"] = static_cast<double>(cost.bytes);
  return dict;
}

inline nb::list type_list(std::span<const ShapeDtype> types) {
  nb::list list;
  for (const ShapeDtype& type : types) list.append(nb::cast(type));
  return list;
}

// (file, line, function), or None.
inline nb::object location_tuple(const SourceLocationPtr& where) {
  if (!where) return nb::none();
  return nb::make_tuple(where->file, where->line, where->function);
}

// Adds Equation, Var, Literal and Primitive, and the members of Program that return them.
void bind_equations(nb::module_& module, nb::class_<Program>& program);

}  // namespace farcall::python
