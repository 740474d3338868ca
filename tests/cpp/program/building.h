// Helpers for building programs by hand.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/program/program.h>

namespace farcall::testing {

inline const ShapeDtype kScalar(DType::kFloat32, {});
inline const ShapeDtype kVector(DType::kFloat32, {3});
inline const ShapeDtype kMatrix(DType::kFloat32, {2, 3});

inline const Primitive& primitive(std::string_view name) {
  const Primitive* found = find_primitive(name);
  if (!found) throw Error(ErrorCode::kNotFound, std::string(name));
  return *found;
}

template <class T>
Literal literal(DType dtype, T value, bool weak_type = false) {
  Literal result{ShapeDtype(dtype, {}, weak_type), {}};
  std::memcpy(result.bytes.data(), &value, sizeof(value));
  return result;
}

template <class T>
Storage storage_of(std::initializer_list<T> values) {
  Storage storage = Storage::allocate(values.size() * sizeof(T));
  if (values.size() > 0) std::memcpy(storage.data(), values.begin(), values.size() * sizeof(T));
  return storage;
}

// A program with one equation on inputs of these types; all its results are outputs.
inline ProgramPtr program_of(std::string_view name, std::initializer_list<ShapeDtype> inputs,
                             ParamsPtr params = nullptr) {
  ProgramBuilder builder;
  std::vector<Atom> operands, outputs;
  for (const ShapeDtype& type : inputs) {
    operands.push_back(Atom::variable(builder.add_input(type)));
  }
  for (const uint32_t result : builder.add_equation(primitive(name), std::move(params), operands)) {
    outputs.push_back(Atom::variable(result));
  }
  return builder.build(outputs);
}

// The parameters of a call with this many operands and these results, otherwise with defaults.
inline FfiCallParams ffi_call_params(std::string target, size_t num_operands,
                                     std::vector<ShapeDtype> results) {
  FfiCallParams params;
  params.target_name = std::move(target);
  params.input_layouts.resize(num_operands);
  params.output_layouts.resize(results.size());
  params.result_types = std::move(results);
  return params;
}

// The message of the Error that `body` raises, which must have this code.
template <class Body>
std::string error_of(ErrorCode code, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() == code
               ? error.message()
               : std::string(error_code_name(error.code())) + ": " + error.message();
  }
  return "no error was raised";
}

}  // namespace farcall::testing
