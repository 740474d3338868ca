#include "linalg/target.h"

#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>

namespace farcall::linalg {

namespace {

// Rules read operands whose number and ranks the handler checks later.
auto checked(decltype(TargetDefinition::shape) rule, size_t count, size_t least_rank) {
  return [rule = std::move(rule), count, least_rank](std::span<const ShapeDtype> operands,
                                                     const Attributes& attributes) {
    if (operands.size() != count) {
      invalid_argument(fmt::format("wanted {} operands, got {}", count, operands.size()));
    }
    if (operands[0].rank() < least_rank) {
      invalid_argument(fmt::format("operand 0 must have at least {} dimensions, got {}", least_rank,
                                   operands[0].to_string()));
    }
    return rule(operands, attributes);
  };
}

}  // namespace

RegisterTarget::RegisterTarget(const char* name, FARCALL_FFI_Handler* handler, size_t num_operands,
                               TargetDefinition definition, size_t element_rank) {
  register_ffi_target(name, handler);
  register_ffi_target_as_batch_partitionable(name, element_rank);
  register_ffi_target_as_host_function(name);
  if (definition.shape) {
    definition.shape = checked(std::move(definition.shape), num_operands, element_rank);
  }
  define_target(name, std::move(definition));
}

MajorToMinor column_major(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

std::vector<Array> call_target(const char* name, ShapeFunction shape,
                               std::initializer_list<Array> operands, const Attributes& attributes,
                               const FfiCallOptions& options) {
  std::vector<ShapeDtype> types;
  for (const Array& operand : operands) types.push_back(operand.type().strengthened());
  return FfiCall(name, shape(types, attributes), options)(operands, attributes);
}

bool flag(const Attributes& attributes, std::string_view name) {
  const Attribute* value = attributes.find(name);
  return value && value->as<bool>();
}

}  // namespace farcall::linalg
