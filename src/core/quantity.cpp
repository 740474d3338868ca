#include <farcall/core/quantity.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace farcall {

std::string quantity_text(double value, std::string_view unit, size_t width) {
  struct Prefix {
    double scale;
    const char* text;
  };
  static constexpr Prefix kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                                         {1, ""},     {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}};
  const auto* prefix =
      std::ranges::find_if(kPrefixes, [&](const Prefix& p) { return value >= 0.9995 * p.scale; });
  if (value == 0) prefix = std::ranges::find(kPrefixes, 1.0, &Prefix::scale);
  if (prefix == std::end(kPrefixes)) --prefix;
  const double shown = value / prefix->scale;
  const int digits = unit == "B" && prefix->scale == 1 ? 0
                     : shown < 9.995                   ? 2
                     : shown < 99.95                   ? 1
                                                       : 0;
  const std::string text = fmt::format("{:.{}f} {}{}", shown, digits, prefix->text, unit);
  const size_t length = text.size() - (prefix->scale == 1e-6);  // µ takes two bytes
  return fmt::format("{:{}}{}", "", length < width ? width - length : 0, text);
}

}  // namespace farcall
