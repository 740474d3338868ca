// Compares results with known ones, of another process: in other surroundings, and after a call
// with other attributes.
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/check/other_attributes.h"
#include "tools/check/surroundings.h"
#include "tools/check/worker.h"

namespace farcall::tools {
namespace {

using Answer = std::pair<Outcome, std::vector<std::vector<std::byte>>>;

// One call of a new executable. Raises FfiError if the instantiate stage fails.
Answer call_once(Session& session, size_t test, const LoadedHandler& handler) {
  const Site site(session.spec, session.cases[test], handler);
  Call call(site, session.options, session.cases[test].data_seed(session.options.seed),
            Placement::kEnd);
  Outcome outcome = session.run(call, {});
  return {std::move(outcome), call.results()};
}

}  // namespace

void check_surroundings(Session& session, const Step& step) {
  surroundings::change(step.changed, session.handler.address);
  try {
    const auto [outcome, results] = call_once(session, step.test, session.handler);
    if (!outcome.is_ok) return session.differs_elsewhere("the handler fails: " + outcome.message);
    if (const auto found = difference_beyond_rounding(session, step.test, session.known, results))
      session.differs_elsewhere(fmt::format("{} differs at {}", found->operand, found->place));
  } catch (const FfiError& error) {
    session.differs_elsewhere("the handler fails: " + error.detail());
  }
}

// What a handler keeps of its attributes must not reach other executables. It may refuse the other
// attributes.
void check_other_attributes(Session& session, size_t test) {
  LoadedHandler other = session.handler;
  other.attributes = with_other_numbers(other.attributes);
  if (other.attributes == session.handler.attributes) return;
  try {
    call_once(session, test, other);
    change_attributes();
    const auto [outcome, results] = call_once(session, test, session.handler);
    const auto found = difference_beyond_rounding(session, test, session.known, results);
    if (!outcome.is_ok || !found) return;
    session.report(test,
                   {"nondeterministic",
                    found->operand,
                    fmt::format("{} differs at {} after a call of another executable with other "
                                "attributes: the handler keeps their values, or pointers to them",
                                found->operand, found->place),
                    {}});
  } catch (const FfiError&) {
    return;
  }
}

}  // namespace farcall::tools
