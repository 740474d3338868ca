// farcall completion and farcall man: the program's options, written for shells and as a manual
// page.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <farcall/version.h>

#include "farcall/commands.h"
#include "tools/failure.h"
#include "tools/operand.h"

namespace farcall::command {
namespace {

using Names = std::vector<std::string>;

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The long names of the options: "--json".
Names option_names(const CLI::App& app) {
  Names names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  std::ranges::sort(names);
  return names;
}

std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

Names subcommand_names(const CLI::App& app) {
  Names names;
  for (const CLI::App* command : subcommands(app)) names.push_back(command->get_name());
  return names;
}

// For bash; zsh reads it too. Words that start with "-" complete to options, others to file names.
std::string bash_completion(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : subcommands(app))
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(),
                         joined(option_names(*command)));
  return fmt::format(
      "# Completion of farcall. In ~/.bashrc: source <(farcall completion bash)\n"
      "_farcall() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} {}\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "  case \"$word\" in\n"
      "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _farcall farcall\n",
      joined(subcommand_names(app)), joined(option_names(app)), cases);
}

std::string fish_quoted(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return "'" + text + "'";
}

std::string fish_completion(const CLI::App& app) {
  std::string text =
      "# Completion of farcall. farcall completion fish > "
      "~/.config/fish/completions/farcall.fish\n";
  const std::string seen = "__fish_seen_subcommand_from";
  for (const CLI::App* command : subcommands(app)) {
    const std::string& name = command->get_name();
    text +=
        fmt::format("complete -c farcall -n 'not {} {}' -f -a {} -d {}\n", seen,
                    joined(subcommand_names(app)), name, fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& long_name : option->get_lnames())
        text += fmt::format("complete -c farcall -n '{} {}' -l {} {}-d {}\n", seen, name, long_name,
                            option->get_items_expected_max() > 0 ? "-r " : "",
                            fish_quoted(option->get_description()));
    }
  }
  return text;
}

// Escapes text for roff, which gives backslashes and dots at the start of a line a meaning.
std::string roff(const std::string& text) {
  std::string escaped;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) escaped += "\\&";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    is_line_start = c == '\n';
  }
  return escaped;
}

std::string man_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH FARCALL 1 \"\" \"farcall {}\" \"User Commands\"\n"
      ".SH NAME\nfarcall \\- the command for authors of kernels\n"
      ".SH SYNOPSIS\n.B farcall\n.I subcommand\n[options]\n"
      ".SH DESCRIPTION\n{}\n",
      FARCALL_VERSION, roff(app.get_description()));
  for (const CLI::App* command : subcommands(app)) {
    text += fmt::format(".SH {}\n{}\n", command->get_name(), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      const bool takes_value = option->get_items_expected_max() > 0;
      const std::string name =
          option->get_positional() ? option->get_name(true, false) : option->get_name(false, true);
      text +=
          fmt::format(".TP\n.B {}{}\n{}\n", roff(name),
                      takes_value && !option->get_positional() ? " " + option->get_type_name() : "",
                      roff(option->get_description()));
    }
    if (!command->get_footer().empty())
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
  }
  return text + fmt::format(".SH EXIT STATUS\n.nf\n{}\n.fi\n", roff(app.get_footer()));
}

}  // namespace

Action add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Prints a script that completes options.");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("Example: source <(farcall completion bash)");
  return [&app, shell] {
    const std::string start =
        *shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
    fmt::print("{}{}", start, *shell == "fish" ? fish_completion(app) : bash_completion(app));
    return tools::kFine;
  };
}

Action add_man(CLI::App& app) {
  CLI::App* command = app.add_subcommand("man", "Prints the manual page, for man.");
  command->footer("Example: farcall man | man -l -");
  return [&app] {
    fmt::print("{}", man_page(app));
    return tools::kFine;
  };
}

}  // namespace farcall::command
