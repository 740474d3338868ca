#include "linalg/target.h"

#include <numeric>

#include <farcall/ffi/registry.h>

namespace farcall::linalg {

RegisterTarget::RegisterTarget(const char* name, FARCALL_FFI_Handler* handler,
                               TargetDefinition definition, size_t element_rank) {
  register_ffi_target(name, handler);
  register_ffi_target_as_batch_partitionable(name, element_rank);
  register_ffi_target_as_host_function(name);
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
