// The files of apps/farcall/template, which template/embed.cmake embeds in the command.
#pragma once

#include <string_view>
#include <vector>

namespace farcall::command {

struct TemplateFile {
  std::string_view path;  // in the project
  std::string_view text;
};
extern const std::vector<TemplateFile> kTemplateFiles;

}  // namespace farcall::command
