#include "ffi/isolation_protocol.h"

namespace farcall::runtime {

void Writer::attributes(const Attributes& attributes) {
  number<uint64_t>(attributes.size());
  for (const auto& [name, value] : attributes) {
    text(name);
    number(value.kind());
    switch (value.kind()) {
      case Attribute::Kind::kString:
        text(value.as_string());
        break;
      case Attribute::Kind::kDictionary:
        this->attributes(value.as_dictionary());
        break;
      default: {
        const std::span<const std::byte> data = value.bytes();
        number(value.dtype());
        number<uint64_t>(value.count());
        text({reinterpret_cast<const char*>(data.data()), data.size()});
      }
    }
  }
}

ShapeDtype Reader::type() {
  const auto dtype = number<DType>();
  Shape shape(number<uint64_t>());
  for (int64_t& size : shape) size = number<int64_t>();
  return {dtype, shape};
}

Attributes Reader::attributes() {
  Attributes attributes;
  for (auto count = number<uint64_t>(); count > 0; --count) {
    const std::string name(text());
    const auto kind = number<Attribute::Kind>();
    if (kind == Attribute::Kind::kString) {
      attributes.set(name, Attribute(std::string(text())));
    } else if (kind == Attribute::Kind::kDictionary) {
      attributes.set(name, Attribute(this->attributes()));
    } else {
      const auto dtype = number<DType>();
      const auto size = number<uint64_t>();
      const std::string_view data = text();
      const std::span bytes(reinterpret_cast<const std::byte*>(data.data()), data.size());
      attributes.set(name, kind == Attribute::Kind::kScalar ? Attribute::scalar(dtype, bytes)
                                                            : Attribute::array(dtype, size, bytes));
    }
  }
  return attributes;
}

}  // namespace farcall::runtime
