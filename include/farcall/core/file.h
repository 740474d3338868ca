// Atomic replacement of files.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include <farcall/core/export.h>

namespace farcall {

// Replaces the contents of the file by `bytes`, or leaves it unchanged. The replacement is atomic:
// concurrent readers see the old or the new contents, and one of several concurrent writers wins. A
// symbolic link stays; the file it leads to is replaced. An existing file keeps its permissions; a
// new one gets the process's default. Fails if the path is something other than a regular file.
FARCALL_API std::error_code replace_file(const std::string& path, std::string_view bytes);

}  // namespace farcall
