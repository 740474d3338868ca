// The PJRT plugin that the engine pjrt would use here, looked at without the engine.
#pragma once

#include <string>

namespace farcall::tools {

struct PjrtPlugin {
  std::string path;     // empty: there is none
  std::string version;  // of its interface, "0.117"
  std::string problem;  // why it cannot be used; empty for nothing
  std::string to_string() const;
};

// The one that an environment variable names, or else `installed`, which a Python package has. It
// is loaded in a process of its own.
PjrtPlugin find_pjrt_plugin(const std::string& installed);

}  // namespace farcall::tools
