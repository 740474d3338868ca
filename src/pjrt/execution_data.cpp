#include "pjrt/execution_data.h"

namespace farcall::pjrt {

ExecutionData::ExecutionData(const Client& client,
                             std::span<const std::pair<int64_t, void*>> user_data)
    : client_(client) {
  ExecuteContextCreate args{};
  client.plugin().call(args);
  context_ = args.context;
  try {
    for (const auto& [type_id, data] : user_data) add(type_id, data);
  } catch (...) {
    destroy();
    throw;
  }
}

ExecutionData::~ExecutionData() { destroy(); }

void ExecutionData::destroy() {
  ExecuteContextDestroy args{};
  args.context = context_;
  client_.plugin().call_quietly(args);
}

void ExecutionData::add(int64_t type_id, void* data) {
  client_.handlers().add_type(type_id);
  client_.plugin().add_user_data(context_, type_id, data);
}

}  // namespace farcall::pjrt
