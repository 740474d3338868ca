#include "body_cache.h"

#include <farcall/trace/tree.h>

namespace farcall::python {

farcall::detail::CallSignature body_signature(std::string kind, std::vector<TreeDef> trees,
                                              std::vector<ShapeDtype> types) {
  trees.push_back(farcall::detail::tree_of(kind));
  return {TreeDef(TreeDef::Kind::kTuple, std::move(trees)), std::move(types)};
}

}  // namespace farcall::python
