#include "tools/check/reference.h"

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/failure.h"
#include "tools/python.h"

namespace farcall::tools {
namespace {

void call_reference(const Session& session, const Case& test,
                    const std::vector<RawBuffer>& arguments,
                    const std::vector<RawBuffer>& results) {
  std::string problem;
  if (session.handler.reference) {
    try {
      call_target(session.handler.reference, arguments, results, session.handler.attributes);
    } catch (const Error& error) {
      problem = error.message();
    }
  } else {
    problem = call_python(session.spec.reference, arguments, results, session.handler.attributes);
  }
  if (problem.empty()) return;
  throw Failure(kCouldNotRun, fmt::format("the reference {} fails for {}: {}",
                                          session.spec.reference, test.to_string(), problem));
}

}  // namespace

std::vector<std::vector<std::byte>> results_of_reference(Session& session, const Case& test,
                                                         const Call& call, bool in_order) {
  std::vector<std::vector<std::byte>> inputs, results;
  std::vector<RawBuffer> arguments, outputs;
  for (size_t i = 0; i < test.arguments.size(); ++i) {
    inputs.push_back(
        in_order ? to_row_major(call.input(i), test.arguments[i], session.spec.arguments[i].layout)
                 : call.input(i));
    arguments.push_back({test.arguments[i], inputs.back().data()});
  }
  for (const ShapeDtype& type : test.results) {
    results.emplace_back(type.nbytes());
    outputs.push_back({type, results.back().data()});
  }
  session.beat();
  session.shared.is_reference = true;
  call_reference(session, test, arguments, outputs);
  session.shared.is_reference = false;
  return results;
}

}  // namespace farcall::tools
