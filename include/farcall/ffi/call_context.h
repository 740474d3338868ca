// The execution context, which a handler reaches through its call frame: the state of one call site
// in one execution.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <farcall/abi.h>
#include <farcall/core/export.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/registry.h>
#include <farcall/ffi/thread_pool.h>

namespace farcall {

class AttributeFrame;
struct ForeignCallSpec;

// Custom options in the layout that handlers read. Created once, used by many executions.
FARCALL_API std::shared_ptr<const AttributeFrame> make_custom_options(Attributes options);

// An id that is unique among the executions of this process.
FARCALL_API int64_t new_run_id();

// Implemented by the engine that runs the program. A callback that leaves views of the call's
// memory with its caller must call keep(), once: the memory then lives as long as the returned
// object, and nothing writes to it any more. The execution goes on in other memory, so the call's
// pointers must not be used afterwards.
class FARCALL_API MemoryKeeper {
 public:
  virtual ~MemoryKeeper();
  virtual std::shared_ptr<const void> keep() = 0;
};

// What one execution offers to all its handlers. It and everything that it points to must outlive
// the execution.
struct ExecutionOptions {
  int64_t run_id = 0;  // 0: a fresh one for each Invocation::begin
  int32_t device_ordinal = 0;
  ThreadPool* thread_pool = nullptr;                 // null: ThreadPool::shared()
  void* stream = nullptr;                            // of a device platform; unused on cpu
  std::vector<std::pair<int64_t, void*>> user_data;  // by type id
  std::shared_ptr<const AttributeFrame> custom_options;
  const FARCALL_FFI_Extension* extensions = nullptr;
  MemoryKeeper* keeper = nullptr;  // set by the engine
};

namespace runtime {

class CheckedCall;

// An object that a handler has handed over to the runtime.
class FARCALL_API StateSlot {
 public:
  StateSlot() = default;
  StateSlot(StateSlot&& other) noexcept
      : type_id_(std::exchange(other.type_id_, 0)),
        object_(std::exchange(other.object_, nullptr)),
        deleter_(std::exchange(other.deleter_, nullptr)),
        is_set_(std::exchange(other.is_set_, false)) {}
  StateSlot& operator=(StateSlot&& other) = delete;
  ~StateSlot() { reset(); }

  bool is_set() const { return is_set_; }
  int64_t type_id() const { return type_id_; }
  void* object() const { return object_; }
  void set(int64_t type_id, void* object, void (*deleter)(void*)) {
    type_id_ = type_id;
    object_ = object;
    deleter_ = deleter;
    is_set_ = true;
  }
  void reset() {
    if (!is_set_) return;
    is_set_ = false;
    if (deleter_ != nullptr) deleter_(std::exchange(object_, nullptr));
  }

 private:
  int64_t type_id_ = 0;
  void* object_ = nullptr;
  void (*deleter_)(void*) = nullptr;
  bool is_set_ = false;
};

struct ScratchBlock;

// A changed guard byte next to a block of memory.
struct GuardDamage {
  int64_t offset;  // of the damaged byte nearest to the block, from the block's beginning
  size_t nbytes;   // of the block
};

// The memory that a handler has allocated and not yet freed. allocate() and free() are thread-safe;
// `is_used()` is for the calling thread, after the call.
class FARCALL_API Scratch {
 public:
  Scratch() = default;
  // `peak` is raised to the largest number of bytes in use at once. It must outlive this object.
  explicit Scratch(std::atomic<size_t>* peak) : peak_(peak) {}
  // Only between calls.
  Scratch(Scratch&& other) noexcept
      : planned_(other.planned_),
        planned_size_(other.planned_size_),
        first_(std::exchange(other.first_, nullptr)),
        nbytes_(std::exchange(other.nbytes_, 0)),
        peak_(other.peak_),
        is_guarded_(other.is_guarded_) {}
  ~Scratch() { clear(); }

  // Memory that is handed out before any other: owned by the caller, aligned to kAlignment, valid
  // as long as calls are made.
  void set_planned(void* data, size_t size) {
    planned_ = static_cast<std::byte*>(data);
    planned_size_ = size;
  }

  // From now on blocks are placed between guards, filled with nan, and never in the planned memory.
  void guard() { is_guarded_ = true; }
  // Returns the first damage to the guards of blocks since the last take_damage().
  std::optional<GuardDamage> take_damage();

  // Null if out of memory. The alignment must be a power of two.
  void* allocate(size_t size, size_t alignment);
  // Returns false for an address that is not a block of this object.
  bool free(void* data);
  // Frees all blocks; returns their number.
  size_t clear();
  bool is_used() const { return first_ != nullptr || top_ != 0; }

 private:
  struct PlannedBlock {
    size_t begin, end;
    size_t nbytes;  // as requested
    bool is_free;
  };

  void* allocate_planned(size_t size, size_t alignment);
  void* allocate_on_heap(size_t size, size_t alignment);
  std::byte* data_of(ScratchBlock* block) const;
  void inspect(ScratchBlock* block);

  std::mutex mutex_;
  std::byte* planned_ = nullptr;
  size_t planned_size_ = 0;
  size_t top_ = 0;                    // end of the used part of the planned memory
  std::vector<PlannedBlock> blocks_;  // in the planned memory; the last one is in use
  ScratchBlock* first_ = nullptr;     // on the heap
  size_t nbytes_ = 0;                 // in use, as requested
  std::atomic<size_t>* peak_ = nullptr;
  bool is_guarded_ = false;
  std::optional<GuardDamage> damage_;
};

// How one call site calls an untyped function.
struct UntypedCall {
  int version = 0;
  std::string opaque;
  std::vector<void*> pointers;  // arguments, then results; refilled for each call
};

}  // namespace runtime
}  // namespace farcall

// Owned by an Invocation, or by the constructor of a ForeignCall. `options` is null only in the
// instantiate stage.
struct FARCALL_FFI_ExecutionContext {
  const farcall::Target* target = nullptr;
  const farcall::ForeignCallSpec* spec = nullptr;  // null in the instantiate stage
  farcall::Stage stage = farcall::Stage::kExecute;
  const farcall::ExecutionOptions* options = nullptr;
  int64_t run_id = 0;                                        // used if the options give none
  farcall::runtime::StateSlot* instantiate_state = nullptr;  // the call site's; shared, read-only
  farcall::runtime::StateSlot prepare_state;
  farcall::runtime::StateSlot initialize_state;
  farcall::runtime::Scratch scratch;
  farcall::runtime::UntypedCall untyped;
  farcall::runtime::CheckedCall* checks = nullptr;
};
