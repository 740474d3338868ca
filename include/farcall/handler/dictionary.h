// Dictionary: attributes looked up by name at run time.
#pragma once

#include <farcall/handler/attribute.h>
#include <farcall/handler/detail/describe.h>
#include <farcall/handler/detail/names.h>
#include <farcall/handler/detail/text.h>
#include <farcall/handler/error.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace farcall::ffi {

// A view of named attributes, sorted by name. Valid during the call.
class Dictionary {
 public:
  Dictionary() = default;
  explicit Dictionary(const FARCALL_FFI_Attrs* attrs) : attrs_(attrs) {}

  class Iterator {
   public:
    Iterator(const FARCALL_FFI_Attrs* attrs, int64_t index) : attrs_(attrs), index_(index) {}
    std::string_view operator*() const { return detail::attr_name(*attrs_, index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    friend class Dictionary;
    const FARCALL_FFI_Attrs* attrs_;
    int64_t index_;
  };

  size_t size() const { return attrs_ == nullptr ? 0 : static_cast<size_t>(attrs_->size); }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return Iterator(attrs_, 0); }
  Iterator end() const { return Iterator(attrs_, static_cast<int64_t>(size())); }

  bool contains(std::string_view name) const { return find(name) != end(); }

  template <typename T>
  bool contains(std::string_view name) const {
    const Iterator found = find(name);
    return found != end() && isa<T>(found);
  }

  template <typename T>
  bool isa(const Iterator& it) const {
    T value{};
    return decode(it, value);
  }

  // Returns NOT_FOUND if the name is absent, INVALID_ARGUMENT if the value has another type.
  template <typename T>
  ErrorOr<T> get(std::string_view name) const {
    const Iterator found = find(name);
    if (found == end()) return absent(name);
    return get<T>(found);
  }

  template <typename T>
  ErrorOr<T> get(const Iterator& it) const {
    T value{};
    if (!decode(it, value)) return mismatch(it, AttrDecoding<T>::kType);
    return value;
  }

  Iterator find(std::string_view name) const {
    Iterator it = begin();
    while (it != end() && *it != name) ++it;
    return it;
  }

  const FARCALL_FFI_Attrs* attrs() const { return attrs_; }

 private:
  template <typename T>
  bool decode(const Iterator& it, T& out) const {
    static_assert(detail::kIsDecodable<T>,
                  "farcall: this type cannot be decoded from an attribute");
    return AttrDecoding<T>::decode(attrs_->types[it.index_], attrs_->attrs[it.index_], out);
  }

  FARCALL_FFI_COLD Error absent(std::string_view name) const {
    detail::Text text;
    text << "attribute \"" << name << "\": missing";
    return Error::NotFound(text.view());
  }

  FARCALL_FFI_COLD Error mismatch(const Iterator& it, const TypeDesc& wanted) const {
    detail::Text text;
    text << "attribute \"" << *it << "\": wanted ";
    detail::print_type(text, wanted);
    text << ", got ";
    detail::print_attribute(text, attrs_->types[it.index_], attrs_->attrs[it.index_],
                            wanted.kind == TypeKind::kEnum);
    return Error::InvalidArgument(text.view());
  }

  const FARCALL_FFI_Attrs* attrs_ = nullptr;
};

template <>
struct AttrDecoding<Dictionary> {
  static constexpr TypeDesc kType = {TypeKind::kDictionary};
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, Dictionary& out) {
    if (kind != FARCALL_FFI_AttrType_DICTIONARY || attribute == nullptr) return false;
    const auto* attrs = static_cast<const FARCALL_FFI_Attrs*>(attribute);
    out = Dictionary(attrs);
    return detail::attrs_are_whole(*attrs);
  }
};

}  // namespace farcall::ffi
