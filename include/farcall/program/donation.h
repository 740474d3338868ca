// Which results can lie in the memory of donated inputs.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// Pairs (input, output): each donated input with the first unused output of its type. `donated` has
// an entry for each input, or is empty.
FARCALL_API std::vector<std::pair<size_t, size_t>> donation_pairs(const Program& program,
                                                                  const std::vector<bool>& donated);

// The types of the donated inputs whose memory no output can use.
FARCALL_API std::vector<ShapeDtype> unusable_donations(const Program& program,
                                                       const std::vector<bool>& donated);

// Sends one warning that names these types, if there are any. `where` names the call.
FARCALL_API void warn_of_unusable_donations(std::string_view where, const Program& program,
                                            const std::vector<bool>& donated);

}  // namespace farcall
