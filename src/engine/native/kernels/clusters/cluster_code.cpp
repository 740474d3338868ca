#include "engine/native/kernels/clusters/cluster_code.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "engine/native/kernels/reductions/sum_floats.h"

namespace farcall::native {
namespace {

using Kind = TileStep::Kind;

// Bounds the code, and the time to make it.
constexpr size_t kMostSteps = 128;

jit::TileValue::Source source_of_loads(Extent extent) {
  using Source = jit::TileValue::Source;
  switch (extent) {
    case Extent::kScalar:
      return Source::kRepeated;
    case Extent::kRow:
      return Source::kOfRow;
    case Extent::kColumn:
      return Source::kOfColumn;
    default:
      return Source::kLoaded;
  }
}

class CodedRuns {
 public:
  CodedRuns(ClusterSteps& steps, int64_t row_size) : steps_(steps), row_size_(row_size) {}

  std::vector<CodedRun> run() {
    find_last_reads(steps_);
    find_repeated();
    for (size_t i = 0; i < steps_.drafts.size(); ++i) {
      if (steps_.drafts[i].is_left_out || is_repetition_[i]) continue;
      if (is_sum_of_open(i)) {
        sum_ = i;
        continue;
      }
      const bool has_code = is_coded(i);
      if (!has_code || reads_sum(i) || open_.size() == kMostSteps) close();
      if (has_code) open_.push_back(i);
    }
    close();
    leave_out_repetitions();
    return std::move(runs_);
  }

 private:
  // Finds the steps that repeat elements for the whole tile.
  void find_repeated() {
    is_repetition_.resize(steps_.drafts.size());
    for (size_t i = 0; i < steps_.drafts.size(); ++i) {
      const TileDraft& draft = steps_.drafts[i];
      const bool is_of_rows = draft.kind == Kind::kRepeatRows || draft.kind == Kind::kRepeatColumns;
      const bool is_result = steps_.registers[draft.output].home == TileRegister::Home::kBase;
      is_repetition_[i] = (draft.kind == Kind::kFill || (is_of_rows && row_size_ != 0)) &&
                          !is_result && steps_.registers[draft.output].extent == Extent::kFull;
      if (is_repetition_[i]) element_of_[draft.output] = draft.inputs[0];
    }
  }

  // The register that a coded step reads.
  size_t source_of(size_t number) const {
    const auto found = element_of_.find(number);
    return owner(steps_.registers, found == element_of_.end() ? number : found->second);
  }

  DType dtype_of(size_t number) const {
    const TileRegister& each = steps_.registers[number];
    const bool is_made = each.made_by != kNoStep;
    return is_made && steps_.drafts[each.made_by].is_logical ? DType::kBool : each.dtype;
  }

  // See jit::TileValue::fits.
  DType fitting_dtype(size_t number) const {
    const TileRegister& each = steps_.registers[number];
    if (is_floating(each.dtype) && each.dtype != jit::register_dtype(each.dtype)) return each.dtype;
    if (each.dtype != DType::kFloat32 || each.same_as) return DType::kInvalid;
    if (each.home == TileRegister::Home::kConstant) {
      uint32_t bits;
      std::memcpy(&bits, steps_.constants.element(each.index).data(), sizeof(bits));
      return (bits & 0xffff) == 0 ? DType::kBFloat16 : DType::kInvalid;
    }
    if (each.made_by == kNoStep) return DType::kInvalid;
    const TileDraft& draft = steps_.drafts[each.made_by];
    switch (draft.kind) {
      case Kind::kConvert:
        if (draft.rounded != DType::kInvalid) return draft.rounded;
        return jit::register_dtype(draft.reads[0]) == draft.reads[0] ? DType::kInvalid
                                                                     : draft.reads[0];
      case Kind::kFill:
      case Kind::kRepeatRows:
      case Kind::kRepeatColumns:
        return fitting_dtype(draft.inputs[0]);
      default:
        return DType::kInvalid;
    }
  }

  jit::TileOperation operation_of(const TileDraft& draft) const {
    jit::TileOperation made;
    if (draft.kind == Kind::kConvert) {
      made.kind = draft.rounded == DType::kInvalid ? jit::TileOperation::Kind::kConvert
                                                   : jit::TileOperation::Kind::kRound;
      made.rounded = draft.rounded;
      const bool is_bool = dtype_of(source_of(draft.inputs[0])) == DType::kBool;
      made.from = is_bool ? DType::kBool : draft.reads[0];
      return made;
    }
    made.operation = {.name = draft.equation->primitive->name,
                      .params = draft.equation->params.get(),
                      .dtype = jit::register_dtype(draft.reads[0]),
                      .result = jit::register_dtype(dtype_of(draft.output)),
                      .extra = draft.extra,
                      .is_for_rare = true};
    const auto reads = std::span(draft.reads).first(draft.inputs.size());
    const bool is_of_dtype =
        std::ranges::all_of(reads, [&](DType dtype) { return dtype == made.operation.result; });
    if (is_of_dtype) made.operation.loop = draft.loop;
    return made;
  }

  // Whether a vector register with elements of `dtype` can be read as the other dtype.
  bool reads_bits(DType as, DType dtype) const {
    const auto is_plain = [](DType each) {
      return each != DType::kBool && each == jit::register_dtype(each);
    };
    if (as == dtype) return true;
    // A loop on bools computes in bytes.
    if (dtype == DType::kBool) return as == DType::kUInt8;
    return is_plain(as) && is_plain(dtype) && byte_width(as) == byte_width(dtype);
  }

  bool is_coded(size_t index) const {
    const TileDraft& draft = steps_.drafts[index];
    const bool is_operation = draft.kind == Kind::kLoop || draft.kind == Kind::kConvert;
    if (!is_operation || draft.phase != TilePhase::kPerTile || draft.inputs.empty() ||
        steps_.registers[draft.output].extent != Extent::kFull) {
      return false;
    }
    for (size_t i = 0; i < draft.inputs.size(); ++i) {
      if (!reads_bits(draft.reads[i], dtype_of(source_of(draft.inputs[i])))) return false;
    }
    CodedRun alone;
    add(alone, index);
    return jit::can_lower(alone.code, alone.code.operations[0]);
  }

  // Whether a step sums the elements that an open step makes, so that the code may do that.
  bool is_sum_of_open(size_t index) const {
    const TileDraft& draft = steps_.drafts[index];
    if (draft.kind != Kind::kReduce || draft.phase != TilePhase::kPerTile || sum_ ||
        row_size_ < kSums) {
      return false;
    }
    const ClusterSteps::Reduction& reduction = steps_.reductions[draft.index];
    const size_t source = owner(steps_.registers, draft.inputs[0]);
    return reduction.primitive == "reduce_sum" && reduction.from == DType::kFloat32 &&
           dtype_of(source) == DType::kFloat32 &&
           std::ranges::find(open_, steps_.registers[source].made_by) != open_.end();
  }
  bool reads_sum(size_t index) const {
    const auto is_sum = [&](size_t input) {
      return source_of(input) == steps_.drafts[*sum_].output;
    };
    return sum_ && std::ranges::any_of(steps_.drafts[index].inputs, is_sum);
  }

  static uint32_t value_of(CodedRun& run, size_t number) {
    const auto found = std::ranges::find(run.registers, number);
    if (found == run.registers.end()) {
      run.registers.push_back(number);
      run.code.values.emplace_back();
      return static_cast<uint32_t>(run.registers.size() - 1);
    }
    return static_cast<uint32_t>(found - run.registers.begin());
  }

  void add(CodedRun& run, size_t index) const {
    using Source = jit::TileValue::Source;
    const TileDraft& draft = steps_.drafts[index];
    jit::TileOperation operation = operation_of(draft);
    for (const size_t input : draft.inputs) {
      const size_t source = source_of(input);
      const size_t num_values = run.code.values.size();
      operation.inputs.push_back(value_of(run, source));
      if (run.code.values.size() == num_values) continue;
      jit::TileValue& value = run.code.values.back();
      const TileRegister& from = steps_.registers[source];
      value.dtype = dtype_of(source);
      value.fits = fitting_dtype(source);
      value.source = source_of_loads(from.extent);
      if (from.home == TileRegister::Home::kConstant) {
        value.source = Source::kConstant;
        const std::string& bytes = steps_.constants.element(from.index);
        std::memcpy(&value.bits, bytes.data(), std::min(bytes.size(), sizeof(value.bits)));
      }
    }
    operation.output = value_of(run, draft.output);
    run.code.values[operation.output].dtype = dtype_of(draft.output);
    run.code.values[operation.output].fits = fitting_dtype(draft.output);
    run.steps.push_back(index);
    run.code.operations.push_back(std::move(operation));
  }

  // A single step gains nothing, unless it saves a repetition, or its result is requested ahead.
  void close() {
    const std::vector<size_t> open = std::exchange(open_, {});
    const std::optional<size_t> sum = std::exchange(sum_, {});
    if (open.empty()) return;
    CodedRun made;
    size_t saved = sum ? 1 : 0;
    for (const size_t index : open) {
      add(made, index);
      for (const size_t input : steps_.drafts[index].inputs) saved += element_of_.contains(input);
    }
    if (open.size() + saved < 2 && !steps_.are_streamed) return;
    find_pointers(steps_, made);
    if (!jit::can_lower(made.code)) return;
    if (sum) add_sum(made, *sum);
    for (const size_t index : made.steps) {
      for (size_t& input : steps_.drafts[index].inputs) {
        if (const auto found = element_of_.find(input); found != element_of_.end()) {
          input = found->second;
        }
      }
    }
    runs_.push_back(std::move(made));
  }

  // Lets the code sum the elements, if it can; the step then only adds the parts.
  void add_sum(CodedRun& run, size_t step) {
    TileDraft& draft = steps_.drafts[step];
    const size_t value = owner(steps_.registers, draft.inputs[0]);
    run.code.sum = {.value = value_of(run, value)};
    if (!jit::can_sum(run.code)) {
      run.code.sum.reset();
      return;
    }
    steps_.registers.push_back({.extent = Extent::kRow,
                                .dtype = DType::kFloat64,
                                .width = kPartsOfSum * sizeof(double),
                                .made_by = run.steps.front()});
    run.parts_of_sum = steps_.registers.size() - 1;
    draft.kind = Kind::kFinishSum;
    draft.inputs = {*run.parts_of_sum};
  }

  void leave_out_repetitions() {
    find_last_reads(steps_);
    for (size_t i = 0; i < steps_.drafts.size(); ++i) {
      TileDraft& draft = steps_.drafts[i];
      if (!is_repetition_[i] || steps_.registers[draft.output].last_read != kNoStep) continue;
      draft.is_left_out = true;
      draft.inputs.clear();
    }
    find_last_reads(steps_);
  }

  ClusterSteps& steps_;
  const int64_t row_size_;
  std::vector<size_t> open_;             // steps of the next run
  std::optional<size_t> sum_;            // the step that sums its elements
  std::vector<bool> is_repetition_;      // by step
  std::map<size_t, size_t> element_of_;  // the element, by the register that repeats it
  std::vector<CodedRun> runs_;
};

}  // namespace

std::vector<CodedRun> find_coded_runs(ClusterSteps& steps, int64_t row_size) {
  return CodedRuns(steps, row_size).run();
}

void find_pointers(const ClusterSteps& steps, CodedRun& run) {
  uint32_t next = 0;
  for (size_t i = 0; i < run.registers.size(); ++i) {
    jit::TileValue& value = run.code.values[i];
    const TileRegister& each = steps.registers[run.registers[i]];
    using Source = jit::TileValue::Source;
    const bool is_internal = value.source == Source::kMade &&
                             each.home == TileRegister::Home::kScratch &&
                             (each.last_read == kNoStep ||
                              std::ranges::find(run.steps, each.last_read) != run.steps.end());
    const bool is_in_memory = value.source != Source::kConstant && !is_internal;
    value.pointer = is_in_memory ? std::optional(next++) : std::nullopt;
    value.is_streamed = steps.are_streamed && each.home == TileRegister::Home::kBase &&
                        each.extent == Extent::kFull;
  }
  if (run.code.sum) run.code.sum->pointer = next;
}

}  // namespace farcall::native
