// A picture of a few shapes, written as PNG: all that the C++ programs draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <png.h>

struct Color {
  double red, green, blue;
};

class Picture {
 public:
  Picture(int width, int height) : width_(width), height_(height), pixels_(3 * width * height, 1) {}

  // One pixel takes on `color` by `amount`, from 0 to 1.
  void blend(int x, int y, Color color, double amount) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    double* pixel = &pixels_[3 * (y * width_ + x)];
    const double parts[] = {color.red, color.green, color.blue};
    for (int i = 0; i < 3; ++i) pixel[i] += amount * (parts[i] - pixel[i]);
  }

  void rectangle(double left, double top, double right, double bottom, Color color,
                 double amount = 1) {
    for (int y = std::lround(top); y < std::lround(bottom); ++y) {
      for (int x = std::lround(left); x < std::lround(right); ++x) blend(x, y, color, amount);
    }
  }

  void disc(double x, double y, double radius, Color color, double amount = 1) {
    for (int py = static_cast<int>(y - radius) - 1; py <= y + radius + 1; ++py) {
      for (int px = static_cast<int>(x - radius) - 1; px <= x + radius + 1; ++px) {
        const double inside = radius + 0.5 - std::hypot(px - x, py - y);
        blend(px, py, color, amount * std::clamp(inside, 0.0, 1.0));
      }
    }
  }

  void line(double x0, double y0, double x1, double y1, double thickness, Color color) {
    const int steps = std::max(1, static_cast<int>(2 * std::hypot(x1 - x0, y1 - y0)));
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      disc(x0 + t * (x1 - x0), y0 + t * (y1 - y0), thickness / 2, color);
    }
  }

  // Digits, small letters and a few signs, the middle of small letters at height y; `zoom` is the
  // width of a stroke, a letter is six of them wide.
  void text(double x, double y, double zoom, std::string_view text, Color color) {
    for (const char letter : text) {
      const auto at_x = [&](const char* point) { return x + zoom * (point[0] - '0'); };
      const auto at_y = [&](const char* point) { return y + zoom * (point[1] - '4'); };
      for (const char* point = strokes(letter); *point; point += 2) {
        if (*point == ' ') ++point;
        const bool is_last = !point[2] || point[2] == ' ';
        if (is_last) continue;
        line(at_x(point), at_y(point), at_x(point + 2), at_y(point + 2), 0.9 * zoom, color);
      }
      x += 6 * zoom;
    }
  }
  static double width_of(std::string_view text, double zoom) {
    return 6 * zoom * static_cast<double>(text.size()) - 2 * zoom;
  }

  // An 8 x 8 scan with values 0 to 16, its centre at (x, y), each pixel of it `zoom` wide.
  void scan(double x, double y, double zoom, std::span<const float> values, Color color) {
    const int size = static_cast<int>(8 * zoom);
    for (int py = 0; py < size; ++py) {
      for (int px = 0; px < size; ++px) {
        const double ink = smooth(values, (px + 0.5) / zoom - 0.5, (py + 0.5) / zoom - 0.5) / 16;
        blend(std::lround(x - size / 2.0) + px, std::lround(y - size / 2.0) + py, color, ink);
      }
    }
  }

  void write(const std::string& path) const {
    std::vector<uint8_t> bytes(pixels_.size());
    std::transform(pixels_.begin(), pixels_.end(), bytes.begin(), [](double value) {
      return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
    });
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, path.c_str(), 0, bytes.data(), 0, nullptr)) {
      throw std::runtime_error(path + ": " + image.message);
    }
  }

 private:
  // Points as pairs of digits, column and row, on a grid with columns 0 to 4 and rows 0 to 8: small
  // letters stand on row 6 and reach row 2. Strokes are divided by blanks.
  struct Glyph {
    char letter;
    const char* strokes;
  };
  static constexpr Glyph kGlyphs[] = {{'0', "1030414536160501 0110"},
                                      {'1', "112026"},
                                      {'2', "011030414206 0646"},
                                      {'3', "00402333444536 361605"},
                                      {'4', "30044434 3036"},
                                      {'5', "40000333444536 3606"},
                                      {'6', "402002051636454433 331304"},
                                      {'7', "004016"},
                                      {'8', "1302011030414233 331304051636454433"},
                                      {'9', "062644413010 1001021343"},
                                      {'%', "4006 0010110100 3545463635"},
                                      {'.', "2526"},
                                      {',', "2617"},
                                      {':', "2223 2526"},
                                      {'-', "0444"},
                                      {'a', "42120305163645 4246"},
                                      {'b', "0006 023243453606"},
                                      {'c', "421203051646"},
                                      {'d', "421203051646 4046"},
                                      {'e', "044443321203051646"},
                                      {'f', "40302126 0242"},
                                      {'g', "421203051646 42473808"},
                                      {'h', "0006 0312324346"},
                                      {'i', "2226 2021"},
                                      {'k', "0006 320436"},
                                      {'l', "2026"},
                                      {'m', "0206 03122326 23324346"},
                                      {'n', "0206 0312324346"},
                                      {'o', "123243453616050312"},
                                      {'p', "0208 023243453606"},
                                      {'r', "0206 042242"},
                                      {'s', "42120314344536 3606"},
                                      {'t', "20253646 0242"},
                                      {'u', "02051636 3645 4246"},
                                      {'v', "022642"},
                                      {'w', "0216243642"},
                                      {'x', "0246 4206"},
                                      {'y', "02051646 42473808"}};
  static const char* strokes(char letter) {
    for (const Glyph& glyph : kGlyphs) {
      if (glyph.letter == letter) return glyph.strokes;
    }
    return "";
  }

  // The scan's value between its pixels, by linear interpolation.
  static double smooth(std::span<const float> values, double x, double y) {
    const auto at = [&](int column, int row) {
      return values[8 * std::clamp(row, 0, 7) + std::clamp(column, 0, 7)];
    };
    const int column = static_cast<int>(std::floor(x)), row = static_cast<int>(std::floor(y));
    const double dx = x - column, dy = y - row;
    return (1 - dy) * ((1 - dx) * at(column, row) + dx * at(column + 1, row)) +
           dy * ((1 - dx) * at(column, row + 1) + dx * at(column + 1, row + 1));
  }

  int width_, height_;
  std::vector<double> pixels_;  // red, green, blue of each pixel, by rows
};
