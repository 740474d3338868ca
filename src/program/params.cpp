#include <farcall/program/params.h>

#include <fmt/format.h>

namespace farcall {

Params::~Params() = default;

bool params_equal(const Params* a, const Params* b) { return a == b || (a && b && a->equals(*b)); }

size_t params_hash(const Params* params) { return params ? params->hash() : 0; }

namespace detail {

void unknown_params(std::string_view wanted, const std::type_info* got) {
  throw Error(ErrorCode::kInternal, fmt::format("parameters of kind {} were expected, got {}",
                                                wanted, got ? got->name() : "none"));
}

const Value* find_field(std::span<const NamedValue> fields, std::string_view name,
                        bool is_optional) {
  for (const NamedValue& field : fields) {
    if (field.name == name) return &field.value;
  }
  if (is_optional) return nullptr;
  invalid_argument(fmt::format("parameter \"{}\" is missing", name));
}

}  // namespace detail
}  // namespace farcall
