#include <farcall/trace/array.h>

#include <cstring>
#include <limits>
#include <new>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/element_text.h>
#include <farcall/core/free_blocks.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/print.h>

namespace farcall {
namespace {

// Appends the array at `data`, from dimension `axis` on, as nested brackets. With `shorten`, a long
// dimension shows only its first and last three entries.
void append_elements(std::string& out, ShapeDtype type, const std::byte*& data, size_t axis,
                     bool shorten) {
  const size_t width = byte_width(type.dtype());
  if (axis == type.rank()) {
    out += format_element(type.dtype(), data);
    data += width;
    return;
  }
  constexpr int64_t kEdge = 3;
  const int64_t size = type.shape()[axis];
  int64_t inner = static_cast<int64_t>(width);
  for (const int64_t dim : type.shape().subspan(axis + 1)) inner *= dim;
  out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (shorten && size > 2 * kEdge && i == kEdge) {
      out += ", ...";
      data += inner * (size - 2 * kEdge);
      i = size - kEdge;
    }
    if (i > 0) out += ", ";
    append_elements(out, type, data, axis + 1, shorten);
  }
  out += ']';
}

}  // namespace

ArrayNode::~ArrayNode() = default;

using ConcreteNodes = detail::FreeBlocks<sizeof(ConcreteNode)>;

// NOLINTNEXTLINE(misc-new-delete-overloads): delete is sized
void* ConcreteNode::operator new(size_t size) {
  if (size != sizeof(ConcreteNode)) return ::operator new(size);
  void* node = ConcreteNodes::take();
  if (!node) throw std::bad_alloc();
  return node;
}

void ConcreteNode::operator delete(void* node, size_t size) noexcept {
  if (size != sizeof(ConcreteNode)) return ::operator delete(node);
  ConcreteNodes::give(node);
}

void deleted_array(const Array& array) {
  throw Error(
      ErrorCode::kFailedPrecondition,
      fmt::format("Array has been deleted with shape={}: delete() was called, or it was donated "
                  "to a jitted function, which used its memory. In the latter case keep the "
                  "function's result, or do not name the argument in donate_argnums",
                  array.type().to_string()));
}

Array Array::copy_of(const void* values, size_t count, ShapeDtype type) {
  if (static_cast<int64_t>(count) != type.size()) {
    invalid_argument(fmt::format("Array: got {} values for shape {}, which has {}", count,
                                 shape_to_string(type.shape()), type.size()));
  }
  return Array(type, Storage::copy_of(values, type.nbytes()));
}

Array Array::weak(ScalarNode::Number number) {
  const auto make = [&](auto value) {
    const ShapeDtype type(dtype_of<decltype(value)>(), {}, /*weak_type=*/true);
    Storage storage = Storage::allocate(sizeof(value));
    std::memcpy(storage.data(), &value, sizeof(value));
    return Array(new ScalarNode(type, std::move(storage), number));
  };
  if (const auto* integer = std::get_if<int64_t>(&number)) {
    const auto narrow = static_cast<int32_t>(*integer);
    return narrow == *integer && !is_x64() ? make(narrow) : make(*integer);
  }
  if (const auto* real = std::get_if<double>(&number)) {
    return is_x64() ? make(*real) : make(static_cast<float>(*real));
  }
  const auto& both = std::get<std::complex<double>>(number);
  return is_x64() ? make(both) : make(std::complex<float>(both));
}

void Array::weak_overflow(uint64_t value) {
  throw OverflowError(
      fmt::format("Array: the number {} does not fit into {}; for {} use "
                  "Array::scalar(number)",
                  value, dtype_name(DType::kInt64), dtype_name(DType::kUInt64)));
}

void Array::check_dtype(DType wanted) const {
  if (dtype() != wanted) {
    invalid_argument(fmt::format("Array: requested values of dtype {}, but the array is {}",
                                 dtype_name(wanted), type().to_string()));
  }
}

void Array::check_single() const {
  if (size() != 1) {
    invalid_argument(
        fmt::format("Array: item() needs an array of one element, got {}", type().to_string()));
  }
}

void Array::null_array() {
  throw Error(ErrorCode::kFailedPrecondition,
              "this Array is empty: it was default-constructed or moved from");
}

bool Array::is_deleted() const {
  return !is_concrete() && (dynamic_cast<const ConcreteNode*>(&node()) != nullptr ||
                            dynamic_cast<const PlacedNode*>(&node()) != nullptr);
}

void Array::not_concrete() const {
  if (is_deleted()) deleted_array(*this);
  throw ConcretizationError(fmt::format(
      "the values of a traced {} are needed, but {}. Compute with array operations only (cond or "
      "where in place of if, while_loop in place of while, take in place of an index), {}",
      type().to_string(), why_unknown(*this), how_to_know(*this)));
}

std::string Array::to_string() const {
  if (is_deleted()) return fmt::format("deleted {}", type().to_string());
  if (!is_concrete()) return fmt::format("traced {}", type().to_string());
  if (type().is_token()) return "token";
  constexpr int64_t kShowAll = 1000;
  std::string out;
  const auto* data = static_cast<const std::byte*>(this->data());
  append_elements(out, type(), data, 0, size() > kShowAll);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Array& array) { return out << array.to_string(); }

}  // namespace farcall
