// Engine compiles programs; Executable runs them. The layers above use engines only through these
// classes and Device.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/program/derived.h>
#include <farcall/program/device.h>
#include <farcall/program/program.h>

namespace farcall {

struct NamedSharding;

struct CompileOptions {
  // By input: whether it is donated, so that its memory may be reused for results. Empty: none.
  std::vector<bool> donated_inputs;
  // A device of the engine; null: its first device.
  const Device* device = nullptr;
};

// What the compiler did for one foreign call, and the memory that the call has used since.
struct ForeignCallReport {
  struct Copy {
    std::string what;  // "operand 0", "result 1"
    std::string why;
    size_t nbytes = 0;
  };
  struct Alias {
    int64_t input = 0, output = 0;
    bool is_honoured = false;  // no copy was needed
    std::string why;           // why not
  };
  std::string target_name;
  SourceLocationPtr where;  // may be null
  std::vector<Copy> copies;
  std::vector<Alias> aliases;
  // The peak scratch memory that the handler allocated in any run of the executable so far.
  size_t scratch_bytes = 0;
  // The scratch memory that the target's workspace rule requested and that was planned with the
  // program's values.
  size_t planned_scratch_bytes = 0;
};
// Clusters: groups of equations that an engine runs together, so that their values stay in the
// cache.
struct Fusion {
  int64_t clusters = 0;
  int64_t equations = 0;  // in all clusters
  // Operations of the clusters that run as machine code. One equation may be several operations:
  // conversions before and after it, and the operation itself.
  int64_t coded_operations = 0;

  struct Cluster {
    std::vector<std::string> operations;  // in order
    SourceLocationPtr where;              // of the first operation; may be null
  };
  // An operation that reads the result of another one and could be in the same cluster, but is not.
  struct Break {
    std::string operation, operand;  // the reader, and the operation that made the value
    std::string why;
    SourceLocationPtr where;  // of the reader; may be null
  };
  std::vector<Cluster> groups;
  std::vector<Break> breaks;

  Fusion& operator+=(const Fusion& other) {
    clusters += other.clusters;
    equations += other.equations;
    coded_operations += other.coded_operations;
    groups.insert(groups.end(), other.groups.begin(), other.groups.end());
    breaks.insert(breaks.end(), other.breaks.begin(), other.breaks.end());
    return *this;
  }
};
// One line for each cluster and each break, for users.
FARCALL_API std::string to_text(const Fusion& fusion);
// How a loop runs: as compiled machine code, once it has run enough steps to pay for compiling it,
// or equation by equation. The machine code of a loop includes its inner loops.
struct LoopReport {
  std::string operation;    // "scan", "while"
  std::string why_not;      // why there is no machine code; empty if there is
  SourceLocationPtr where;  // may be null
};
// One line for each loop.
FARCALL_API std::string to_text(std::span<const LoopReport> loops);
// One paragraph for each call, for users.
FARCALL_API std::string to_text(std::span<const ForeignCallReport> reports);
// The memory that one execution uses, in bytes.
struct MemoryUse {
  size_t argument_bytes = 0, output_bytes = 0;
  size_t alias_bytes = 0;  // of outputs that use the memory of donated inputs
  size_t temp_bytes = 0;   // for intermediate values; kept between runs
  size_t constant_bytes = 0;
  size_t generated_code_bytes = 0;
};

// Immutable and thread-safe: any number of threads may execute one executable at once.
class FARCALL_API Executable {
 public:
  virtual ~Executable();

  // The device that it runs on.
  const Device& device() const { return device_; }
  const Program& program() const { return *program_; }
  const ProgramPtr& program_ptr() const { return program_; }
  std::span<const ShapeDtype> input_types() const { return input_types_; }
  std::span<const ShapeDtype> output_types() const { return output_types_; }

  // Whether a front end may keep its lock during a run, because it takes little time: few
  // operations on few numbers, and no foreign code.
  bool may_keep_lock() const { return may_keep_lock_; }
  // By input: whether a run may overwrite it. The run overwrites the input only if may_overwrite()
  // holds for its memory, else it makes a copy. True only for donated inputs.
  virtual const std::vector<bool>& overwrites() const = 0;
  // By input: whether an executable of a part of this program, or of this program for more devices,
  // may overwrite it.
  virtual const std::vector<bool>& donated() const { return overwrites(); }
  // Whether inputs that a run would overwrite are intact after a run that failed.
  virtual bool keeps_inputs_on_failure() const { return false; }
  // The foreign calls in program order, including those inside loops and branches.
  virtual std::vector<ForeignCallReport> report() const = 0;
  virtual MemoryUse memory() const = 0;
  // The clusters, including those inside loops and branches; empty if the engine does not report
  // them. Computed on each call.
  virtual Fusion fusion() const { return {}; }
  // What the engine runs: the program after its passes, whose equations include clusters. The given
  // program if the engine does not tell. Computed on each call.
  virtual ProgramPtr optimized_program() const { return program_; }
  // The loops in program order; empty if the engine does not report them. Compiles loops that are
  // not compiled yet.
  virtual std::vector<LoopReport> loops() const { return {}; }
  // The sharding of an input (output) of which the program reads (sets) only the parts on devices
  // of this process. Null if it reads (sets) the whole array.
  virtual const NamedSharding* input_sharding(size_t) const { return nullptr; }
  virtual const NamedSharding* output_sharding(size_t) const { return nullptr; }
  bool has_output_shardings() const {
    for (size_t i = 0; i < output_types_.size(); ++i) {
      if (output_sharding(i)) return true;
    }
    return false;
  }
  // A cache for what is derived from this executable.
  const Derived& derived() const { return derived_; }
  // Visits each reference to a program that this executable holds, including its own program.
  virtual void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const = 0;

  // `inputs` are on the device, dense and row-major, and have the program's input types. `outputs`
  // receive the results in memory of the device. An output is empty on entry, or provides host
  // memory for its result; this memory is aligned to kAlignment and overlaps no other memory of the
  // call. The engine may still put the result elsewhere: the storage then refers to the other
  // memory. Inputs are only read, unless they were donated at compile time and are unique. Raises
  // FfiError if a handler fails; then outputs stay empty, and the executable remains usable. An
  // engine may return before the results are computed; wait() of their buffers then raises the
  // error.
  virtual void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
                       const ExecutionOptions& options) const = 0;
  // Whether the executable has execute_in_place().
  virtual bool runs_in_place() const { return false; }
  // Runs on host memory without the cost of Storages. The results are aligned to kAlignment and
  // overlap no input; run_on_memory() sees to that.
  virtual void execute_in_place(std::span<const void* const> inputs, std::span<void* const> results,
                                const ExecutionOptions& options) const;

 protected:
  Executable(const Device& device, ProgramPtr program, bool may_keep_lock);

 private:
  const Device& device_;
  ProgramPtr program_;
  std::vector<ShapeDtype> input_types_, output_types_;
  bool may_keep_lock_;
  Derived derived_;
};

// The executables of one program by device. Not thread-safe: its owner guards it.
class ExecutablesByDevice {
 public:
  std::shared_ptr<const Executable> find(const Device& device) const {
    for (const auto& executable : all_) {
      if (&executable->device() == &device) return executable;
    }
    return nullptr;
  }
  void insert(std::shared_ptr<const Executable> executable) {
    all_.push_back(std::move(executable));
  }
  std::span<const std::shared_ptr<const Executable>> all() const { return all_; }

 private:
  std::vector<std::shared_ptr<const Executable>> all_;
};

// Whether donated memory may be overwritten: the library owns it, and nothing else holds it.
inline bool may_overwrite(const Storage& storage) {
  return storage.is_owned() && storage.is_unique();
}

// Runs on the caller's dense, row-major host memory. `inputs` and `results` are pointers to the
// elements; they may be null if there are no elements. An engine that runs on the host writes
// results in place, except results that overlap an input or are not aligned to kAlignment, and
// except in programs with callbacks, whose functions may keep views of their arguments: these are
// copied. Raises what execute() raises; the results are undefined then.
FARCALL_API void run_on_memory(const Executable& executable, std::span<const void* const> inputs,
                               std::span<void* const> results,
                               const ExecutionOptions& options = {});

// By input: whether a run on these inputs would overwrite it. Empty if the program overwrites no
// input. Memory that two inputs share is not overwritten.
FARCALL_API std::vector<bool> consumed_inputs(const Executable& executable,
                                              std::span<const Storage* const> inputs);

// Compiles programs for its devices. Lives until the process ends.
class FARCALL_API Engine {
 public:
  virtual ~Engine();
  virtual std::string_view name() const = 0;  // "native"
  // One line for users.
  virtual std::string_view description() const = 0;
  // Why the engine cannot run on this machine; empty if it can.
  virtual std::string why_unavailable() const = 0;
  // At least one device; the devices of this process come first. Raises UNAVAILABLE with the
  // reason.
  virtual std::span<const Device* const> devices() const = 0;
  // Raises errors found while compiling: a target that is not registered, an operation without a
  // kernel, an error of a handler's instantiate stage.
  virtual std::shared_ptr<const Executable> compile(ProgramPtr program,
                                                    const CompileOptions& options) const = 0;
};

namespace detail {
// The engine layer, which is above this one, registers its table of engines when it is loaded.
using EngineTable = std::span<const Engine* const> (*)();
void set_engine_table(EngineTable table);
}  // namespace detail

// The engines of this library, then the added ones, in order.
FARCALL_API std::vector<const Engine*> all_engines();
// Raises ALREADY_EXISTS if an engine has this name.
FARCALL_API void add_engine(const Engine& engine);
// Raises NOT_FOUND, listing all engines.
FARCALL_API const Engine& find_engine(std::string_view name);
// The devices of the engine of this name, or else of the first available engine that has devices of
// the platform of this name. Raises NOT_FOUND, listing engines and platforms, and UNAVAILABLE for
// an engine that cannot run here.
FARCALL_API std::vector<const Device*> find_devices(std::string_view name);
// The engine named by the environment variable FARCALL_ENGINE, else "native". Raises like
// find_engine.
FARCALL_API const Engine& default_engine();

// Compiles for the device with its engine.
inline std::shared_ptr<const Executable> compile(ProgramPtr program, const Device& device,
                                                 std::vector<bool> donated_inputs = {}) {
  return device.engine().compile(std::move(program), {std::move(donated_inputs), &device});
}

}  // namespace farcall
