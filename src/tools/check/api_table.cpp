#include "tools/check/api_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <farcall/ffi/stage.h>

#include "tools/check/guarded_buffer.h"
#include "tools/check/sanitizer.h"

namespace farcall::tools {
namespace {

struct ScratchBlock {
  const FARCALL_FFI_ExecutionContext* context;
  std::unique_ptr<GuardedBuffer> buffer;
  bool is_free = false;
};

std::mutex g_mutex;
std::vector<ScratchBlock> g_scratch_blocks;
std::optional<ScratchDamage> g_damage;
Pattern g_pattern;
std::atomic<uint64_t> g_tasks{0};

// Freed blocks stay inaccessible until the call has ended, to catch late accesses. If there are
// more than this many blocks, the oldest freed one is released.
constexpr size_t kMostScratchBlocks = 512;

// The runtime has one table per family of versions; these are patched copies.
struct Copy {
  const FARCALL_FFI_Api* original = nullptr;
  FARCALL_FFI_Api patched = {};
};
std::array<Copy, 8> g_copies;

// The replaced functions are the same in all tables.
const FARCALL_FFI_Api* original_api() { return ffi_api(); }

FARCALL_FFI_Error* allocate(FARCALL_FFI_DeviceMemory_Allocate_Args* args) {
  // The runtime's own function reports errors in the request.
  FARCALL_FFI_Error* error = original_api()->DeviceMemory_Allocate(args);
  if (error || !args) return error;
  if (args->data) {
    FARCALL_FFI_DeviceMemory_Free_Args back = {};
    back.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_DeviceMemory_Free_Args, data);
    back.ctx = args->ctx;
    back.size = args->size;
    back.data = args->data;
    error = original_api()->DeviceMemory_Free(&back);
    if (error) return error;
  }
  const std::lock_guard lock(g_mutex);
  const size_t alignment = std::clamp<size_t>(args->alignment, 64, 4096);
  auto buffer = std::make_unique<GuardedBuffer>(BufferName{BufferName::Kind::kScratch, 0},
                                                args->size, alignment, Placement::kEnd);
  fill(buffer->bytes(), g_pattern);
  buffer->fill_red_zones({Pattern::Kind::kRandom, 77 + g_scratch_blocks.size()});
  args->data = buffer->data();
  g_scratch_blocks.push_back({args->ctx, std::move(buffer)});
  return nullptr;
}

void inspect_block(const ScratchBlock& block) {
  if (const auto changed = block.buffer->changed_byte(); changed && !g_damage) {
    g_damage = ScratchDamage{*changed, block.buffer->bytes().size()};
  }
}

FARCALL_FFI_Error* free_block(FARCALL_FFI_DeviceMemory_Free_Args* args) {
  if (args && args->data) {
    const std::lock_guard lock(g_mutex);
    for (ScratchBlock& block : g_scratch_blocks) {
      if (block.is_free || block.buffer->data() != args->data) continue;
      inspect_block(block);
      block.buffer->revoke();
      block.is_free = true;
      const auto is_old = [](const ScratchBlock& b) { return b.is_free; };
      if (g_scratch_blocks.size() > kMostScratchBlocks)
        g_scratch_blocks.erase(std::ranges::find_if(g_scratch_blocks, is_old));
      return nullptr;
    }
  }
  return original_api()->DeviceMemory_Free(args);
}

struct Task {
  FARCALL_FFI_Task* function;
  void* data;
};

void run_task(void* data) {
  const std::unique_ptr<Task> task(static_cast<Task*>(data));
  sanitizer::receive(task.get());
  task->function(task->data);
}

FARCALL_FFI_Error* schedule(FARCALL_FFI_ThreadPool_Schedule_Args* args) {
  g_tasks.fetch_add(1, std::memory_order_relaxed);
  // Asked once: the C library keeps a text for each thread that asks for a symbol in vain.
  static const bool reports_races = sanitizer::is_loaded("thread");
  if (!args || !args->task || !reports_races) {
    return original_api()->ThreadPool_Schedule(args);
  }
  auto task = std::make_unique<Task>(Task{args->task, args->data});
  sanitizer::send(task.get());
  FARCALL_FFI_ThreadPool_Schedule_Args changed = *args;
  changed.task = run_task;
  changed.data = task.get();
  FARCALL_FFI_Error* const error = original_api()->ThreadPool_Schedule(&changed);
  if (!error) static_cast<void>(task.release());  // run_task deletes it
  return error;
}

FARCALL_FFI_Error* set_available(FARCALL_FFI_Future_SetAvailable_Args* args) {
  if (args) sanitizer::send(args->future);
  return original_api()->Future_SetAvailable(args);
}

FARCALL_FFI_Error* set_error(FARCALL_FFI_Future_SetError_Args* args) {
  if (args) sanitizer::send(args->future);
  return original_api()->Future_SetError(args);
}

}  // namespace

const FARCALL_FFI_Api* checking_api(const FARCALL_FFI_Api* original) {
  if (!original) return original;
  const std::lock_guard lock(g_mutex);
  for (Copy& copy : g_copies) {
    if (copy.original == original) return &copy.patched;
    if (copy.original) continue;
    copy.original = original;
    copy.patched = *original;
    copy.patched.DeviceMemory_Allocate = allocate;
    copy.patched.DeviceMemory_Free = free_block;
    copy.patched.ThreadPool_Schedule = schedule;
    copy.patched.Future_SetAvailable = set_available;
    copy.patched.Future_SetError = set_error;
    return &copy.patched;
  }
  return original;
}

void set_scratch_pattern(const Pattern& pattern) {
  const std::lock_guard lock(g_mutex);
  g_pattern = pattern;
}

std::optional<ScratchDamage> release_scratch(const FARCALL_FFI_ExecutionContext* context) {
  const std::lock_guard lock(g_mutex);
  const auto is_of_call = [&](const ScratchBlock& block) { return block.context == context; };
  for (const ScratchBlock& block : g_scratch_blocks) {
    if (is_of_call(block) && !block.is_free) inspect_block(block);
  }
  std::erase_if(g_scratch_blocks, is_of_call);
  return std::exchange(g_damage, std::nullopt);
}

uint64_t num_tasks_scheduled() { return g_tasks.load(); }

}  // namespace farcall::tools
