#include "tools/check/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/failure.h"
#include "tools/terminal.h"

namespace farcall::tools {

std::string CheckReport::verdict() const {
  if (!findings.empty()) return "findings";
  return failure.empty() && !is_timed_out ? "clean" : "could-not-run";
}

int CheckReport::exit_code() const {
  if (!findings.empty()) return kFindings;
  return is_timed_out ? kTimeLimit : failure.empty() ? kFine : kCouldNotRun;
}

Json to_json(const CheckReport& report) {
  Json json = {
      {"handler", report.spec.name()}, {"verdict", report.verdict()}, {"runs", report.num_calls}};
  json["shapes"] = report.num_shapes;
  json["refused"] = report.num_refused;
  json["seconds"] = report.seconds;
  if (!report.failure.empty()) json["reason"] = report.failure;
  if (report.is_timed_out) json["reason"] = "the time limit was reached";
  json["findings"] = Json::array();
  for (const CheckFinding& finding : report.findings) {
    Json shapes = {{"arguments", Json::array()}, {"results", Json::array()}};
    for (const ShapeDtype& type : finding.test.arguments)
      shapes["arguments"].push_back(type_text(type));
    for (const ShapeDtype& type : finding.test.results)
      shapes["results"].push_back(type_text(type));
    json["findings"].push_back({{"kind", finding.kind},
                                {"operand", finding.operand},
                                {"message", finding.message},
                                {"shapes", shapes},
                                {"sizes", finding.test.sizes},
                                {"seed", report.seed},
                                {"stack", finding.stack},
                                {"cases", finding.num_cases},
                                {"command", command_for(report, finding)},
                                {"cpp_test", cpp_test(report, finding)},
                                {"python_test", python_test(report, finding)}});
  }
  return json;
}

std::string to_text(const CheckReport& report) {
  const std::string name = styled(Style::kBold, report.spec.symbol);
  if (report.findings.empty() && report.verdict() != "clean") {
    const std::string why = report.is_timed_out ? "the time limit was reached" : report.failure;
    return fmt::format("{}: {}: {}{}\n", name, styled(Style::kYellow, "could not run"), why,
                       why.ends_with('.') ? "" : ".");
  }
  const std::string calls =
      fmt::format("{} calls with {} shape{} in {:.1f} s", report.num_calls, report.num_shapes,
                  report.num_shapes == 1 ? "" : "s", report.seconds);
  const size_t count = report.findings.size();
  std::string text =
      count == 0 ? fmt::format("{}: {}. {}", name, styled(Style::kGreen, "clean"), calls)
                 : fmt::format("{}: {}. {}", name,
                               styled(Style::kRed,
                                      fmt::format("{} finding{}", count, count == 1 ? "" : "s")),
                               calls);
  text += report.is_timed_out ? ", stopped at the time limit.\n" : ".\n";
  if (report.num_refused > 0)
    text +=
        fmt::format("  refused {} of them, first with {}\n", report.num_refused, report.refusal);
  for (const CheckFinding& finding : report.findings) {
    const auto line = [&](std::string_view what, std::string_view value) {
      text += fmt::format("    {:<10} {}\n", what, value);
    };
    text += fmt::format("\n  {}  {}\n", styled(Style::kRed, finding.kind), finding.message);
    line("shapes", finding.test.to_string());
    line("seed", std::to_string(report.seed));
    for (size_t i = 0; i < finding.stack.size(); ++i) line(i == 0 ? "stack" : "", finding.stack[i]);
    line("again", command_for(report, finding));
  }
  if (count == 0) return text;
  text += fmt::format(
      "\n{}\n\n{}\n{}\n\n{}", styled(Style::kBold, "The first finding as a C++ test:"),
      cpp_test(report, report.findings[0]), styled(Style::kBold, "And as a Python test:"),
      python_test(report, report.findings[0]));
  return text;
}

}  // namespace farcall::tools
