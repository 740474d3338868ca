// JSON whose members keep their order. Files that look inside include <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace farcall::tools {

using Json = nlohmann::ordered_json;

}  // namespace farcall::tools
