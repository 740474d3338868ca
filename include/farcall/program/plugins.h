// How a front end tells the PJRT engine where a plugin is installed.
#pragma once

#include <string>

#include <farcall/core/export.h>

namespace farcall {

// Returns the path of a plugin's library, or an empty string. Called if no environment variable
// names a plugin.
using PluginFinder = std::string (*)();
FARCALL_API void set_plugin_finder(PluginFinder finder);

}  // namespace farcall
