// Parameters of platform_index.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// platform_index: the index of the first entry that names the platform that the program is compiled
// for. If no entry does and there is a default: the number of entries.
struct PlatformIndexParams {
  std::vector<std::vector<std::string>> platforms;  // lower case
  bool has_default = false;
  static constexpr auto fields() {
    return std::tuple(field("platforms", &PlatformIndexParams::platforms),
                      field("has_default", &PlatformIndexParams::has_default));
  }
};

}  // namespace farcall
