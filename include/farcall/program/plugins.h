// How a front tells the engine of PJRT plugins where one is installed.
#pragma once

#include <string>

#include <farcall/core/export.h>

namespace farcall {

// The path of a plugin's library, or an empty text. Asked where no environment variable names one.
using PluginFinder = std::string (*)();
FARCALL_API void set_plugin_finder(PluginFinder finder);

}  // namespace farcall
