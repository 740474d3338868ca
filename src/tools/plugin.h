// The PJRT plugin that the engine pjrt would use here; found without that engine.
#pragma once

#include <string>

namespace farcall::tools {

struct PjrtPlugin {
  std::string path;     // empty: none was found
  std::string version;  // of the interface, such as "0.117"
  std::string problem;  // why it cannot be used; empty if it can
  std::string to_string() const;
};

// The plugin that an environment variable names, else `installed`, which a Python package provides.
// It is loaded in a separate process.
PjrtPlugin find_pjrt_plugin(const std::string& installed);

}  // namespace farcall::tools
