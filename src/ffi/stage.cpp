#include <farcall/ffi/stage.h>

#include <fmt/format.h>

namespace farcall {

std::string_view stage_name(Stage stage) {
  static constexpr std::string_view kNames[kNumStages] = {"instantiate", "prepare", "initialize",
                                                          "execute", "record"};
  const auto index = static_cast<size_t>(stage);
  return index < kNumStages ? kNames[index] : "unknown";
}

std::string version_to_string(ApiVersion version) {
  return fmt::format("{}.{}", version.major_version, version.minor_version);
}

}  // namespace farcall
