// How a front end tells the PJRT engine where a plugin is installed.
#pragma once

#include <string>

#include <farcall/core/export.h>

namespace farcall {

// Returns the path of the library of the plugin with this name, or of any plugin if the name is
// empty; an empty string if none is installed. Called if no environment variable has a path.
using PluginFinder = std::string (*)(const std::string& name);
FARCALL_API void set_plugin_finder(PluginFinder finder);

}  // namespace farcall
