#include <farcall/ops/checks.h>

#include <utility>

#include <fmt/format.h>

#include <farcall/ops/define.h>

namespace farcall::testing {
namespace {

// A call of a target with a shape rule.
class CallOfTarget final : public detail::LeafCall {
 public:
  CallOfTarget(const char* check, const std::string& target_name, ListOf<Array> operands,
               const Attributes& attributes)
      : LeafCall(fmt::format("{}({})", check, target_name), {operands.begin(), operands.end()}),
        target_name_(target_name),
        attributes_(attributes) {}

  TreeDef arguments() const {
    return TreeDef(TreeDef::Kind::kTuple, std::vector<TreeDef>(leaves().size()));
  }
  std::string argument_name(size_t leaf) const override { return fmt::format("argument {}", leaf); }

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override {
    std::vector<Array> results = call_defined(target_name_, inputs, attributes_);
    set_result_tree(TreeDef(TreeDef::Kind::kList, std::vector<TreeDef>(results.size())));
    return results;
  }

 private:
  const std::string& target_name_;
  const Attributes& attributes_;
};

}  // namespace

CheckError::CheckError(std::string message)
    : Error(ErrorCode::kFailedPrecondition, std::move(message)) {}
CheckError::~CheckError() = default;
void CheckError::raise_with(std::string message) const { throw CheckError(std::move(message)); }

void check_derivatives(const std::string& target_name, ListOf<Array> operands,
                       const Attributes& attributes, const DerivativeChecks& options) {
  CallOfTarget call("check_derivatives", target_name, operands, attributes);
  detail::check_derivatives(call, call.arguments(), options);
}

void check_batching(const std::string& target_name, ListOf<Array> operands,
                    const Attributes& attributes, const BatchChecks& options) {
  CallOfTarget call("check_batching", target_name, operands, attributes);
  detail::check_batching(call, call.arguments(), options);
}

}  // namespace farcall::testing
