// Engine and Executable: what compiles programs, and what runs. Everything above sees engines
// through these classes and Device only.
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
#include <farcall/program/device.h>
#include <farcall/program/program.h>

namespace farcall {

struct NamedSharding;

struct CompileOptions {
  // Which inputs the caller gives away: their memory may be reused for results. By input; empty:
  // none.
  std::vector<bool> donated_inputs;
  // One of the engine's; null: its first.
  const Device* device = nullptr;
};

// What compiling did for one foreign call, and what the call took since.
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
  // The most memory that the handler asked for at once beside its arguments and results, in any
  // run of the executable so far.
  size_t scratch_bytes = 0;
  // What the target's workspace rule announced, and was planned with the program's values.
  size_t planned_scratch_bytes = 0;
};
// What an engine runs together: groups of equations whose values stay in the cache.
struct Fusion {
  int64_t clusters = 0;
  int64_t equations = 0;  // in all of them

  struct Cluster {
    std::vector<std::string> operations;  // in order
    SourceLocationPtr where;              // of the first; may be null
  };
  // An elementwise operation, or one that goes with them, that reads another's result and is not in
  // its group.
  struct Break {
    std::string operation, operand;  // what reads, and what made the value
    std::string why;
    SourceLocationPtr where;  // of the reader; may be null
  };
  std::vector<Cluster> groups;
  std::vector<Break> breaks;

  Fusion& operator+=(const Fusion& other) {
    clusters += other.clusters;
    equations += other.equations;
    groups.insert(groups.end(), other.groups.begin(), other.groups.end());
    breaks.insert(breaks.end(), other.breaks.begin(), other.breaks.end());
    return *this;
  }
};
// A line for each group and each break, as users read them.
FARCALL_API std::string to_text(const Fusion& fusion);
// How a loop runs: as machine code of its own, once its steps are many enough to pay for that, or
// equation by equation. Loops inside one with machine code are part of it.
struct LoopReport {
  std::string operation;    // "scan", "while"
  std::string why_not;      // why there is no machine code; empty where there is
  SourceLocationPtr where;  // may be null
};
// A line for each.
FARCALL_API std::string to_text(std::span<const LoopReport> loops);
// A paragraph for each call, as users read it.
FARCALL_API std::string to_text(std::span<const ForeignCallReport> reports);
// The bytes that one execution takes.
struct MemoryUse {
  size_t argument_bytes = 0, output_bytes = 0;
  size_t alias_bytes = 0;  // of outputs that lie in the memory of donated inputs
  size_t temp_bytes = 0;   // between the equations; kept from run to run
  size_t constant_bytes = 0;
  size_t generated_code_bytes = 0;
};

// Immutable and re-entrant: any number of threads may execute one executable at once.
class FARCALL_API Executable {
 public:
  virtual ~Executable();

  // Where it runs.
  const Device& device() const { return device_; }
  const Program& program() const { return *program_; }
  const ProgramPtr& program_ptr() const { return program_; }
  std::span<const ShapeDtype> input_types() const { return input_types_; }
  std::span<const ShapeDtype> output_types() const { return output_types_; }

  // A few instructions on a few numbers and no foreign code, so that a front need not make other
  // threads run meanwhile.
  bool is_brief() const { return is_brief_; }
  // By input: whether a run may write over it, which it does only where may_overwrite() holds for
  // the array's memory, and makes a copy otherwise. False for all but donated inputs.
  virtual const std::vector<bool>& overwrites() const = 0;
  // In program order, calls inside loops and branches too.
  virtual std::vector<ForeignCallReport> report() const = 0;
  virtual MemoryUse memory() const = 0;
  // In loops and branches too; none unless the engine says so. Worked out anew each time.
  virtual Fusion fusion() const { return {}; }
  // In program order; none unless the engine says so. Makes the code of loops that have none yet.
  virtual std::vector<LoopReport> loops() const { return {}; }
  // Of an input (output) that the program cuts over devices of several processes: how, where only
  // the parts of this process's devices are read (set). Null where the whole is.
  virtual const NamedSharding* input_sharding(size_t) const { return nullptr; }
  virtual const NamedSharding* output_sharding(size_t) const { return nullptr; }
  bool has_output_shardings() const {
    for (size_t i = 0; i < output_types_.size(); ++i) {
      if (output_sharding(i)) return true;
    }
    return false;
  }
  // Each reference to a program that this executable holds, its own program's too.
  virtual void for_each_program(const std::function<void(const ProgramPtr&)>& visit) const = 0;

  // `inputs` lie on the device and are dense, row-major and of the program's input types, in order;
  // `outputs` are empty and receive memory of the device with the results. One that is not empty
  // holds memory of the host for its result, aligned to kAlignment and apart from all other memory
  // of the call; the engine may put the result elsewhere all the same, and the storage says where.
  // Inputs are only read, unless donated at compile time and unique. Raises FfiError for a handler
  // that fails; outputs then stay empty and the executable usable. An engine may return before the
  // results are there; their buffers' wait() then raises the error.
  virtual void execute(std::span<const Storage* const> inputs, std::span<Storage> outputs,
                       const ExecutionOptions& options) const = 0;

 protected:
  Executable(const Device& device, ProgramPtr program, bool is_brief);

 private:
  const Device& device_;
  ProgramPtr program_;
  std::vector<ShapeDtype> input_types_, output_types_;
  bool is_brief_;
};

// What one program was compiled to, by device. Guarded by its owner.
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

// Whether memory that the caller gives away may be written: nobody else holds it, and it is ours.
inline bool may_overwrite(const Storage& storage) {
  return storage.is_owned() && storage.is_unique();
}

// Runs on memory of the host that the caller owns, dense and row-major: pointers to the elements of
// each input and of each result, which may be null where there are none. Results are written where
// they are to be, without a copy, by an engine that runs on the host; but for those in memory that
// an input lies in too or that is not aligned to kAlignment, and for programs with callbacks, whose
// functions may keep views of what they see. Raises what execute() raises; results are undefined
// then.
FARCALL_API void run_on_memory(const Executable& executable, std::span<const void* const> inputs,
                               std::span<void* const> results,
                               const ExecutionOptions& options = {});

// By input: whether a run on these would write over it. Empty when it overwrites none. Memory that
// two inputs share is not written.
FARCALL_API std::vector<bool> consumed_inputs(const Executable& executable,
                                              std::span<const Storage* const> inputs);

// Compiles programs for its devices. Lives until the process ends.
class FARCALL_API Engine {
 public:
  virtual ~Engine();
  virtual std::string_view name() const = 0;  // "native"
  // A line for users.
  virtual std::string_view description() const = 0;
  // Why it cannot run here; empty where it can.
  virtual std::string why_unavailable() const = 0;
  // Those of this process first, at least one. Raises UNAVAILABLE with the reason.
  virtual std::span<const Device* const> devices() const = 0;
  // Raises what compiling finds: a target that is not registered, an operation without a kernel, an
  // error of a handler's instantiate stage.
  virtual std::shared_ptr<const Executable> compile(ProgramPtr program,
                                                    const CompileOptions& options) const = 0;
};

namespace detail {
// The table of the engine layer, which is above this one, hands itself down when it is loaded.
using EngineTable = std::span<const Engine* const> (*)();
void set_engine_table(EngineTable table);
}  // namespace detail

// The engines of this library (src/engine/engines.cpp), then those that were added, in order.
FARCALL_API std::vector<const Engine*> all_engines();
// Raises ALREADY_EXISTS for a name that is taken.
FARCALL_API void add_engine(const Engine& engine);
// Raises NOT_FOUND listing the engines that there are.
FARCALL_API const Engine& find_engine(std::string_view name);
// The devices of an engine, or of the first engine that runs here and has devices of a platform, by
// the name of either. Raises NOT_FOUND listing what there is, UNAVAILABLE for an engine that cannot
// run here.
FARCALL_API std::vector<const Device*> find_devices(std::string_view name);
// The one named by the environment variable FARCALL_ENGINE, else "native". Raises as find_engine
// does.
FARCALL_API const Engine& default_engine();

// Compiles for the device, by its engine.
inline std::shared_ptr<const Executable> compile(ProgramPtr program, const Device& device,
                                                 std::vector<bool> donated_inputs = {}) {
  return device.engine().compile(std::move(program), {std::move(donated_inputs), &device});
}

}  // namespace farcall
