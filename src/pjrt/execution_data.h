// The user data of one execution, which handlers that the plugin calls can read.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "pjrt/client.h"

namespace farcall::pjrt {

class ExecutionData {
 public:
  // `user_data` as in ExecutionOptions; it must outlive the execution.
  ExecutionData(const Client& client, std::span<const std::pair<int64_t, void*>> user_data);
  ~ExecutionData();
  ExecutionData(const ExecutionData&) = delete;
  ExecutionData& operator=(const ExecutionData&) = delete;

  // Raises what the plugin raises.
  void add(int64_t type_id, void* data);
  CExecuteContext* context() const { return context_; }

 private:
  void destroy();

  const Client& client_;
  CExecuteContext* context_ = nullptr;
};

}  // namespace farcall::pjrt
