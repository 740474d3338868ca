#include "tools/check/other_attributes.h"

#include <cstring>
#include <vector>

namespace farcall::tools {
namespace {

template <typename T>
void change_numbers(std::vector<std::byte>& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, &bytes[at], sizeof(T));
    number = number * T{1.5} + T{0.25};
    std::memcpy(&bytes[at], &number, sizeof(T));
  }
}

Attribute with_other_numbers(const Attribute& attribute) {
  if (attribute.kind() == Attribute::Kind::kDictionary)
    return Attribute(tools::with_other_numbers(attribute.as_dictionary()));
  const DType dtype = attribute.dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return attribute;
  std::vector<std::byte> bytes(attribute.bytes().begin(), attribute.bytes().end());
  dtype == DType::kFloat32 ? change_numbers<float>(bytes) : change_numbers<double>(bytes);
  return attribute.kind() == Attribute::Kind::kScalar
             ? Attribute::scalar(dtype, bytes)
             : Attribute::array(dtype, attribute.count(), bytes);
}

}  // namespace

Attributes with_other_numbers(const Attributes& attributes) {
  std::vector<Attributes::value_type> entries;
  for (const auto& [name, attribute] : attributes)
    entries.emplace_back(name, with_other_numbers(attribute));
  return Attributes(std::move(entries));
}

}  // namespace farcall::tools
