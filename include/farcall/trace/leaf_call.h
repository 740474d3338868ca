// A call of a C++ or Python function as a function of flat lists of arrays: the leaves of its
// arguments and of its result. Transformations are written for such calls.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_def.h>

namespace farcall::detail {

class FARCALL_API LeafCall {
 public:
  // `where` names the transformation in messages: "grad".
  LeafCall(std::string where, std::vector<Array> leaves)
      : where_(std::move(where)), leaves_(std::move(leaves)) {}
  virtual ~LeafCall();
  LeafCall(const LeafCall&) = delete;
  LeafCall& operator=(const LeafCall&) = delete;

  const std::string& where() const { return where_; }
  const std::vector<Array>& leaves() const { return leaves_; }

  // Calls the function. A null input stands for the leaf of the call.
  std::vector<Array> operator()(std::span<const Array> inputs);
  // The result refers to this.
  FlatFunction as_function() {
    return [this](std::span<const Array> inputs) { return (*this)(inputs); };
  }

  // "argument 0.weights"
  virtual std::string argument_name(size_t leaf) const = 0;
  // The same with the parameter's name if it is known: "argument weights".
  virtual std::string parameter_name(size_t leaf) const { return argument_name(leaf); }

  // The structure of the last result.
  const TreeDef& result_tree() const { return result_tree_; }
  void set_result_tree(TreeDef tree) { result_tree_ = std::move(tree); }
  // Names a leaf of the last result: "result[1]".
  std::string result_name(size_t leaf) const;

 protected:
  virtual std::vector<Array> run(std::span<const Array> inputs) = 0;

 private:
  std::string where_;
  std::vector<Array> leaves_;
  TreeDef result_tree_;
};

}  // namespace farcall::detail
