#include "ffi/stage_offers.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall::runtime {
namespace {

constexpr unsigned bit(Stage stage) { return 1u << static_cast<unsigned>(stage); }

constexpr unsigned kRunning = bit(Stage::kInitialize) | bit(Stage::kExecute) | bit(Stage::kRecord);
constexpr unsigned kInExecution = kRunning | bit(Stage::kPrepare);

struct Row {
  const char* name;
  unsigned stages;
};

// In the order of Offer. The instantiate stage belongs to an executable, not to an execution, so it
// sees neither a device nor a run. The prepare stage runs before the devices are claimed.
constexpr Row kRows[] = {
    {"the stream", kRunning},
    {"device memory", kRunning},
    {"the thread pool", kRunning},
    {"user data", kInExecution},
    {"the run id", kInExecution},
    {"the device ordinal", kInExecution},
    {"an extension", kInExecution},
    {"custom options", kInExecution},
    {"the state of the instantiate stage", kInExecution},
    {"the state of the prepare stage", kRunning},
    {"the state of the initialize stage", bit(Stage::kExecute) | bit(Stage::kRecord)},
};

std::string stages_text(unsigned stages) {
  std::vector<std::string_view> names;
  for (const Stage stage : {Stage::kPrepare, Stage::kInitialize, Stage::kExecute}) {
    if (stages & bit(stage)) names.push_back(stage_name(stage));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void check_offer(const FARCALL_FFI_ExecutionContext* ctx, Offer offer) {
  const Row& row = kRows[static_cast<size_t>(offer)];
  if (ctx == nullptr) {
    invalid_argument(
        fmt::format("{} needs the context of a call, but the context is null", row.name));
  }
  if (row.stages & bit(ctx->stage)) return;
  throw Error(ErrorCode::kFailedPrecondition,
              fmt::format("the {} stage does not offer {}; these do: {}", stage_name(ctx->stage),
                          row.name, stages_text(row.stages)));
}

}  // namespace farcall::runtime
