#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/registry.h>

namespace farcall {

std::vector<std::string> parse_platform(std::string_view platform) {
  std::string name(platform);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "host") return {"cpu"};
  if (name == "gpu") return {"cuda", "rocm"};
  for (const char* known : {"cpu", "cuda", "rocm", "tpu", "oneapi", "metal"}) {
    if (name == known) return {name};
  }
  invalid_argument(
      fmt::format("registry: unknown platform \"{}\". Known ones: cpu (or host), cuda, "
                  "rocm, gpu (cuda and rocm), tpu, oneapi, metal.",
                  platform));
}

}  // namespace farcall
