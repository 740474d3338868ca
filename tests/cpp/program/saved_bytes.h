// Hand-made bytes of saved programs, with a correct checksum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <farcall/program/save.h>
#include <farcall/program/text.h>

namespace farcall::testing {

// The checksum of save.cpp; it lets tests change the bytes that it covers.
inline std::string with_checksum(std::string bytes) {
  uint64_t sum = bytes.size() - 40;
  for (size_t i = 40; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  const std::string_view sum_bytes(reinterpret_cast<const char*>(&sum), sizeof(sum));
  return bytes.replace(16, sizeof(sum), sum_bytes);
}

// A saved program with this text and data.
inline std::string saved_bytes(const std::string& text, const std::string& data) {
  const std::string saved = serialize_program(*parse_program("{ lambda ;. let in () }"));
  const uint64_t sizes[] = {text.size(), data.size()};
  const std::string_view size_bytes(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  return with_checksum(saved.substr(0, 24).append(size_bytes) + text + data);
}
inline std::string saved_bytes(const std::string& text, size_t data_size = 0) {
  return saved_bytes(text, std::string(data_size, '\0'));
}

}  // namespace farcall::testing
