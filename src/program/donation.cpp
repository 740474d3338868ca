#include <farcall/program/donation.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <farcall/core/message.h>

namespace farcall {

std::vector<std::pair<size_t, size_t>> donation_pairs(const Program& program,
                                                      const std::vector<bool>& donated) {
  std::vector<std::pair<size_t, size_t>> pairs;
  if (std::ranges::find(donated, true) == donated.end()) return pairs;
  const auto inputs = program.input_types(), outputs = program.output_types();
  std::vector<bool> is_taken(outputs.size(), false);
  for (size_t i = 0; i < donated.size(); ++i) {
    for (size_t j = 0; donated[i] && j < outputs.size(); ++j) {
      if (is_taken[j] || inputs[i].strengthened() != outputs[j].strengthened()) continue;
      is_taken[j] = true;
      pairs.emplace_back(i, j);
      break;
    }
  }
  return pairs;
}

std::vector<ShapeDtype> unusable_donations(const Program& program,
                                           const std::vector<bool>& donated) {
  const auto pairs = donation_pairs(program, donated);
  std::vector<ShapeDtype> unusable;
  for (size_t i = 0; i < donated.size(); ++i) {
    const bool is_used =
        std::ranges::find(pairs, i, &std::pair<size_t, size_t>::first) != pairs.end();
    if (donated[i] && !is_used) unusable.push_back(program.variable_types[program.inputs[i]]);
  }
  return unusable;
}

void warn_of_unusable_donations(std::string_view where, const Program& program,
                                const std::vector<bool>& donated) {
  std::string types;
  for (const ShapeDtype& type : unusable_donations(program, donated)) {
    types += (types.empty() ? "" : ", ") + type.to_string();
  }
  if (types.empty()) return;
  send_message(
      MessageKind::kWarning,
      fmt::format("{}: Some donated buffers were not usable: {}. A result takes the memory "
                  "of a donated array of its own shape and dtype, and there are no more "
                  "such results",
                  where, types));
}

}  // namespace farcall
