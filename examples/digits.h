// The scans of handwritten digits that come with scikit-learn.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

constexpr int64_t kPixels = 64;

struct Digits {
  std::vector<float> scans;  // 8 x 8 values from 0 to 16 for each
  std::vector<int> labels;
};

inline Digits read_digits(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("cannot read " + path);
  Digits digits;
  char line[1024];
  while (gzgets(file.get(), line, sizeof line)) {
    const char* next = line;
    for (int64_t i = 0; i <= kPixels; ++i) {
      char* end;
      const float value = std::strtof(next, &end);
      if (end == next || *end != (i < kPixels ? ',' : '\n')) {
        throw std::runtime_error(path + ": expected lines of 65 numbers");
      }
      if (i < kPixels) digits.scans.push_back(value);
      if (i == kPixels) digits.labels.push_back(static_cast<int>(value));
      next = end + 1;
    }
  }
  if (digits.labels.empty()) throw std::runtime_error(path + ": empty");
  return digits;
}
