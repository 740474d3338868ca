#include "exchange/exported.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/derive.h>

#include "exchange/run_frame.h"

namespace farcall::exchange {
namespace {

ffi::AnyBuffer buffer(const ffi::RemainingArgs& operands, size_t i) {
  return *operands.get<ffi::AnyBuffer>(i);
}
ffi::AnyBuffer buffer(const ffi::RemainingRets& results, size_t i) {
  return **results.get<ffi::AnyBuffer>(i);
}

template <class Buffers>
bool fit(const Buffers& buffers, std::span<const ShapeDtype> types) {
  if (buffers.size() != types.size()) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!is_of_type(buffer(buffers, i), types[i])) return false;
  }
  return true;
}

template <class Buffers>
size_t hash_of(size_t hash, const Buffers& buffers) {
  const auto add = [&hash](size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  add(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ffi::AnyBuffer found = buffer(buffers, i);
    add(static_cast<size_t>(found.element_type()));
    for (const int64_t size : found.dimensions()) add(static_cast<size_t>(size));
  }
  return hash;
}

template <class Buffers>
std::vector<ShapeDtype> types_of(const Buffers& buffers) {
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < buffers.size(); ++i) types.push_back(type_of(buffer(buffers, i)));
  return types;
}

// The program for operands with additional leading dimensions. A dimension of size 1 broadcasts to
// the size that other operands have. Raises INVALID_ARGUMENT if the operands are not such a batch.
ProgramPtr batched(ProgramPtr program, std::span<const ShapeDtype> operands) {
  const std::vector<ShapeDtype> types = program->input_types();
  size_t depth = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (operands[i].rank() > types[i].rank()) {
      depth = std::max(depth, operands[i].rank() - types[i].rank());
    }
  }
  std::vector<int64_t> sizes(depth, 1);
  const auto refuse = [&](size_t i) {
    invalid_argument(
        fmt::format("operand {} should be {}, or a batch of them with the same "
                    "dimensions in front as others have, got {}",
                    i, types[i].strengthened().to_string(), operands[i].to_string()));
  };
  for (size_t i = 0; i < types.size(); ++i) {
    const auto shape = operands[i].shape();
    const auto inner = types[i].shape();
    const size_t extra = shape.size() - std::min(shape.size(), inner.size());
    if (operands[i].dtype() != types[i].dtype() || (extra != 0 && extra != depth) ||
        !std::ranges::equal(shape.subspan(extra), inner)) {
      refuse(i);
    }
    for (size_t level = 0; level < extra; ++level) {
      if (shape[level] == 1 || shape[level] == sizes[level]) continue;
      if (sizes[level] != 1) refuse(i);
      sizes[level] = shape[level];
    }
  }
  if (depth == 0) refuse(0);
  const std::vector<bool> all(program->outputs.size(), true);
  for (size_t level = depth; level-- > 0;) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < types.size(); ++i) {
      const bool is_batched =
          operands[i].rank() > types[i].rank() && operands[i].shape()[level] == sizes[level];
      axes.push_back(is_batched ? 0 : kNotBatched);
    }
    program = batch_program(program, {sizes[level], ""}, axes, all).program;
  }
  return program;
}

}  // namespace

Exported::Exported(std::string name, ProgramPtr program)
    : name_(std::move(name)),
      program_(std::move(program)),
      first_(with_error_prefix("export_handler",
                               [&] {
                                 check_types(*program_);
                                 return compile(program_, host_device());
                               })),
      record_([this](auto, auto, const Attributes&) { return program_; }) {}

Exported::Exported(std::string name, RecordForCall record, std::vector<std::string> attributes)
    : name_(std::move(name)), record_(std::move(record)), attributes_(std::move(attributes)) {}

Exported::Exported(std::string name, FlatFunction function)
    : name_(std::move(name)),
      record_([this, function = std::move(function)](std::span<const ShapeDtype> operands, auto,
                                                     const Attributes&) {
        return farcall::record(function, operands, name_);
      }) {}

void Exported::run(const ffi::RemainingArgs& operands, const ffi::RemainingRets& results,
                   const FARCALL_FFI_Attrs& attributes) {
  check_buffers(operands, results);
  check_attributes(attributes, attributes_);
  if (first_) {
    farcall::detail::check_operand_count(first_->input_types().size(), operands.size());
    if (fit(operands, first_->input_types())) return run_frame(*first_, operands, results);
  }
  run_frame(*find_or_compile(operands, results, attributes), operands, results);
}

std::shared_ptr<const Executable> Exported::find_or_compile(const ffi::RemainingArgs& operands,
                                                            const ffi::RemainingRets& results,
                                                            const FARCALL_FFI_Attrs& attrs) {
  Attributes attributes = attributes_of(attrs);
  const size_t hash = hash_of(hash_of(attributes.hash(), operands), results);
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(hash, [&](const Compiled& other) {
      return fit(operands, other.operands) && fit(results, other.results) &&
             attributes == other.attributes;
    });
    if (found) return found->executable;
  }
  auto made = std::make_shared<Compiled>(Compiled{types_of(operands), types_of(results),
                                                  std::move(attributes), /*executable=*/nullptr});
  ProgramPtr program = record_(made->operands, made->results, made->attributes);
  check_types(*program);
  farcall::detail::check_operand_count(program->inputs.size(), operands.size());
  if (!fit(operands, program->input_types())) program = batched(program, made->operands);
  made->executable = compile(program, host_device());
  std::vector<std::shared_ptr<Compiled>> displaced;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  displaced = others_.insert(hash, made);
  return made->executable;
}

}  // namespace farcall::exchange
