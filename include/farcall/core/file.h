// Files that are replaced as a whole.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include <farcall/core/export.h>

namespace farcall {

// Makes `bytes` the contents of the file, or leaves it as it was: whoever reads meanwhile sees the
// old contents or the new ones, and of several writers one wins. A symbolic link stays, and what it
// leads to is replaced. A file that was there keeps its permissions; a new one has those that the
// process gives. Fails where something other than a file has this path.
FARCALL_API std::error_code replace_file(const std::string& path, std::string_view bytes);

}  // namespace farcall
