// PartialRecorder: computes what is known and records the rest.
#pragma once

#include "trace/recorder.h"

namespace farcall {

// Arrays that it owns are unknown. An operation on none of these happens below; one that meets any
// is recorded, and the known arrays that it needs are captured.
class PartialRecorder final : public Recorder {
 public:
  explicit PartialRecorder(std::string name = {}) : Recorder(std::move(name), Closure::kCapture) {}

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override;
  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override;
};

}  // namespace farcall
