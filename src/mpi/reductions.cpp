#include "reductions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::mpi {
namespace {

struct Reducer {
  std::string_view name;
  MPI_Op op;
  bool takes_bool, takes_integers, takes_floats, takes_complex;
};
const Reducer kReducers[] = {
    {"sum", MPI_SUM, false, true, true, true},    {"prod", MPI_PROD, false, true, true, true},
    {"max", MPI_MAX, false, true, true, false},   {"min", MPI_MIN, false, true, true, false},
    {"land", MPI_LAND, true, true, false, false}, {"lor", MPI_LOR, true, true, false, false},
    {"lxor", MPI_LXOR, true, true, false, false}, {"band", MPI_BAND, false, true, false, false},
    {"bor", MPI_BOR, false, true, false, false},  {"bxor", MPI_BXOR, false, true, false, false},
};

struct Element {
  DType dtype;
  MPI_Datatype type;
};
const Element kElements[] = {
    {DType::kBool, MPI_C_BOOL},
    {DType::kInt8, MPI_INT8_T},
    {DType::kInt16, MPI_INT16_T},
    {DType::kInt32, MPI_INT32_T},
    {DType::kInt64, MPI_INT64_T},
    {DType::kUInt8, MPI_UINT8_T},
    {DType::kUInt16, MPI_UINT16_T},
    {DType::kUInt32, MPI_UINT32_T},
    {DType::kUInt64, MPI_UINT64_T},
    {DType::kFloat32, MPI_FLOAT},
    {DType::kFloat64, MPI_DOUBLE},
    {DType::kComplex64, MPI_C_FLOAT_COMPLEX},
    {DType::kComplex128, MPI_C_DOUBLE_COMPLEX},
};

bool takes(const Reducer& reducer, DTypeKind kind) {
  switch (kind) {
    case DTypeKind::kBool:
      return reducer.takes_bool;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return reducer.takes_integers;
    case DTypeKind::kFloat:
      return reducer.takes_floats;
    case DTypeKind::kComplex:
      return reducer.takes_complex;
    default:
      return false;
  }
}

// The names of the reductions, of all or of those for elements of this kind.
std::string names_of_reductions(std::optional<DTypeKind> kind = {}) {
  std::string names;
  for (const Reducer& each : kReducers) {
    if (kind && !takes(each, *kind)) continue;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

bool is_logical(MPI_Op op) { return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR; }

// A type that MPI reduces and that holds the values of all smaller types of this kind.
const char* wider_than(DTypeKind kind) {
  if (kind == DTypeKind::kFloat) return "float32";
  return kind == DTypeKind::kSigned ? "int8" : "uint8";
}

template <class T>
void make_truth(void* data, size_t count) {
  for (T& value : std::span(static_cast<T*>(data), count)) value = value != 0;
}

}  // namespace

Reduce reduction(std::string_view name, DType dtype) {
  const auto reducer = std::ranges::find(kReducers, name, &Reducer::name);
  if (reducer == std::end(kReducers)) {
    invalid_argument(fmt::format("op must be one of {}; got \"{}\"", names_of_reductions(), name));
  }
  const DTypeKind kind = dtype_info(dtype).kind;
  const auto element = std::ranges::find(kElements, dtype, &Element::dtype);
  const bool fits = takes(*reducer, kind);
  if (fits && element != std::end(kElements)) return {reducer->op, element->type, dtype};
  const std::string others = names_of_reductions(kind);
  std::string remedy = others.empty() ? "" : fmt::format("; there are {} for them", others);
  if (fits) remedy = fmt::format("; convert them to {} first", wider_than(kind));
  invalid_argument(fmt::format("op \"{}\" cannot reduce elements of type {}{}", name,
                               dtype_name(dtype), remedy));
}

void Reduce::finish(void* data, size_t count) const {
  if (!is_logical(op)) return;
  switch (dtype_info(dtype).byte_width) {
    case 1:
      return make_truth<uint8_t>(data, count);
    case 2:
      return make_truth<uint16_t>(data, count);
    case 4:
      return make_truth<uint32_t>(data, count);
    default:
      return make_truth<uint64_t>(data, count);
  }
}

}  // namespace farcall::mpi
