// Recordings of the body functions of loops and branches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <farcall/ops/control_flow.h>
#include <farcall/trace/call_signature.h>
#include <farcall/trace/varying.h>

#include "tree.h"

namespace farcall::python {

// Recorded bodies with the structure of their results.
struct RecordedBody {
  std::vector<Recording> programs;
  TreeDef result_tree;
};
using RecordedBodyPtr = std::shared_ptr<const RecordedBody>;

// The cache key. `kind` names the construct and whatever else the recording depends on.
farcall::detail::CallSignature body_signature(std::string kind, std::vector<TreeDef> trees,
                                              std::vector<ShapeDtype> types);

// Recordings of one function, or of functions that are used together. Recordings that close over
// arrays are not kept, nor those that depend on the axes over which their arguments vary.
class BodyCache : public farcall::detail::SignatureMap<RecordedBody> {
 public:
  template <class Record>
  RecordedBodyPtr find_or_record(farcall::detail::CallSignature signature, const Record& record) {
    if (is_tracking_axes()) return std::make_shared<const RecordedBody>(record());
    if (RecordedBodyPtr found = find(signature)) return found;
    auto made = std::make_shared<const RecordedBody>(record());
    for (const Recording& program : made->programs) {
      if (!program.captured.empty()) return made;
    }
    return insert(std::move(signature), std::move(made));
  }
};

}  // namespace farcall::python
