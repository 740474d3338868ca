#include "pjrt/client_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>
#include <farcall/program/processes.h>

namespace farcall::pjrt {
namespace {

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void ClientOptions::add(std::string_view name, int64_t value) {
  CNamedValue& row = add_row(name, CNamedValue::kInt64);
  row.int64_value = value;
}

void ClientOptions::add(std::string_view name, bool value) {
  CNamedValue& row = add_row(name, CNamedValue::kBool);
  row.bool_value = value;
}

void ClientOptions::add(std::string_view name, float value) {
  CNamedValue& row = add_row(name, CNamedValue::kFloat);
  row.float_value = value;
}

void ClientOptions::add(std::string_view name, std::string_view value) {
  CNamedValue& row = add_row(name, CNamedValue::kString);
  row.string_value = texts_.emplace_back(value).c_str();
  row.value_size = value.size();
}

CNamedValue& ClientOptions::add_row(std::string_view name, CNamedValue::Kind kind) {
  CNamedValue& row = rows_.emplace_back();
  row.struct_size = sizeof(CNamedValue);
  row.name = texts_.emplace_back(name).c_str();
  row.name_size = name.size();
  row.kind = kind;
  row.value_size = 1;
  return row;
}

const CNamedValue* ClientOptions::find(std::string_view name) const {
  const auto has_name = [&](const CNamedValue& row) {
    return std::string_view(row.name, row.name_size) == name;
  };
  const auto found = std::ranges::find_if(rows_, has_name);
  return found == rows_.end() ? nullptr : &*found;
}

void ClientOptions::add_from_environment() {
  const std::string given = environment("FARCALL_PJRT_OPTIONS");
  std::string_view rest = given;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      invalid_argument(fmt::format("FARCALL_PJRT_OPTIONS: expected name=value, got \"{}\"", entry));
    }
    const std::string_view name = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (value == "true" || value == "false") {
      add(name, value == "true");
    } else if (const auto number = to_number<int64_t>(value)) {
      add(name, *number);
    } else if (const auto fraction = to_number<float>(value)) {
      add(name, *fraction);
    } else {
      add(name, value);
    }
  }
  add_place_in_job();
}

void ClientOptions::add_gpu_memory_from_environment() {
  const std::string allocator = environment("XLA_PYTHON_CLIENT_ALLOCATOR");
  if (!allocator.empty()) add_default("allocator", std::string_view(allocator));
  for (const char* variable : {"XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"}) {
    const std::string text = environment(variable);
    if (text.empty() || find("memory_fraction")) continue;
    const auto fraction = to_number<float>(text);
    if (!fraction || !(*fraction > 0)) {
      invalid_argument(fmt::format("{} must be a number above 0, got \"{}\"", variable, text));
    }
    add("memory_fraction", *fraction);
  }
  const std::string preallocate = environment("XLA_PYTHON_CLIENT_PREALLOCATE");
  const bool is_off = preallocate == "false" || preallocate == "False" || preallocate == "0";
  add_default("preallocate", !preallocate.empty() && !is_off);
}

void ClientOptions::add_place_in_job() {
  const CNamedValue* nodes = find("num_nodes");
  if (!nodes || nodes->kind != CNamedValue::kInt64 || nodes->int64_value <= 1) return;
  const Processes& job =
      processes_for(fmt::format("FARCALL_PJRT_OPTIONS: num_nodes={}", nodes->int64_value));
  if (nodes->int64_value != job.count()) {
    invalid_argument(fmt::format("FARCALL_PJRT_OPTIONS: num_nodes={}, but the job has {} processes",
                                 nodes->int64_value, job.count()));
  }
  if (!find("node_id")) add("node_id", int64_t{job.index()});
}

}  // namespace farcall::pjrt
