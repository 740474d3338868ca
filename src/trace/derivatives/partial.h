// PartialRecorder: the interpreter of partial evaluation.
#pragma once

#include "trace/interpreters/recorder.h"

namespace farcall {

// Arrays that it owns are unknown. An operation without unknown operands runs under the parent
// interpreter. Other operations are recorded, and their known operands are captured.
class PartialRecorder final : public Recorder {
 public:
  explicit PartialRecorder(std::string name = {}) : Recorder(std::move(name), Closure::kCapture) {}

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override;
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override;
};

}  // namespace farcall
