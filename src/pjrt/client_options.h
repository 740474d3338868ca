// The options that a plugin's client is created with.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/c_api.h"

namespace farcall::pjrt {

// Names with values; owns their texts.
class ClientOptions {
 public:
  ClientOptions() = default;
  ClientOptions(const ClientOptions&) = delete;  // rows refer to the texts
  ClientOptions& operator=(const ClientOptions&) = delete;

  void add(std::string_view name, int64_t value);
  void add(std::string_view name, bool value);
  void add(std::string_view name, float value);
  void add(std::string_view name, std::string_view value);

  // Adds an option unless one with this name is there. Returns whether it was added.
  template <class Value>
  bool add_default(std::string_view name, Value value) {
    if (find(name)) return false;
    add(name, value);
    return true;
  }

  // Adds the memory options of GPU plugins, which are not in FARCALL_PJRT_OPTIONS, from the
  // variables that JAX reads: XLA_PYTHON_CLIENT_ALLOCATOR, XLA_CLIENT_MEM_FRACTION,
  // XLA_PYTHON_CLIENT_PREALLOCATE. Memory is taken when it is needed if the last is not set, unlike
  // in JAX, so that other libraries can use the GPU too. Raises INVALID_ARGUMENT for a fraction
  // that is not a number above 0.
  void add_gpu_memory_from_environment();

  // Adds the options in FARCALL_PJRT_OPTIONS: "name=value,name=value". With num_nodes above 1 the
  // client takes part in a job, so node_id, if it is not given, is the number of this process.
  // Raises INVALID_ARGUMENT for malformed options and for a num_nodes that is not the number of
  // processes of the job, FAILED_PRECONDITION without a job.
  void add_from_environment();

  const std::vector<CNamedValue>& rows() const { return rows_; }

 private:
  CNamedValue& add_row(std::string_view name, CNamedValue::Kind kind);
  const CNamedValue* find(std::string_view name) const;
  void add_place_in_job();

  std::vector<CNamedValue> rows_;
  std::deque<std::string> texts_;  // a deque keeps the addresses of its elements
};

}  // namespace farcall::pjrt
