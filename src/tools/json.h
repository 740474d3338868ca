// JSON whose members keep their order. Files that access members include <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace farcall::tools {

using Json = nlohmann::ordered_json;

}  // namespace farcall::tools
