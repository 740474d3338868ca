#include "tools/check/guarded_shapes.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tools/check/guarded_buffer.h"

namespace farcall::tools {
namespace {

using Key = std::pair<std::string, std::vector<int64_t>>;  // the operand's name

void guard(FARCALL_FFI_Buffer& buffer, const BufferName& operand) {
  static std::mutex mutex;
  static auto& shapes = *new std::map<Key, std::unique_ptr<GuardedBuffer>>;
  if (buffer.rank <= 0 || !buffer.dims) return;
  Key key = {operand.to_string(), {buffer.dims, buffer.dims + buffer.rank}};
  const std::lock_guard lock(mutex);
  std::unique_ptr<GuardedBuffer>& shape = shapes[key];
  if (!shape) {
    const size_t nbytes = key.second.size() * sizeof(int64_t);
    shape = std::make_unique<GuardedBuffer>(BufferName::of_shape(operand), nbytes, sizeof(int64_t),
                                            Placement::kEnd);
    std::memcpy(shape->data(), key.second.data(), nbytes);
    shape->set_writable(false);
  }
  buffer.dims = reinterpret_cast<int64_t*>(shape->data());
}

}  // namespace

void guard_shapes(const FARCALL_FFI_CallFrame& frame) {
  for (int64_t i = 0; i < frame.args.size; ++i) {
    if (frame.args.types[i] != FARCALL_FFI_ArgType_BUFFER) continue;
    guard(*static_cast<FARCALL_FFI_Buffer*>(frame.args.args[i]),
          {BufferName::Kind::kArgument, static_cast<size_t>(i)});
  }
  for (int64_t i = 0; i < frame.rets.size; ++i) {
    if (frame.rets.types[i] != FARCALL_FFI_RetType_BUFFER) continue;
    guard(*static_cast<FARCALL_FFI_Buffer*>(frame.rets.rets[i]),
          {BufferName::Kind::kResult, static_cast<size_t>(i)});
  }
}

}  // namespace farcall::tools
