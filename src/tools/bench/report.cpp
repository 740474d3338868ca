// The output of bench: text, JSON, the comparison with an earlier run, a plot.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <farcall/core/quantity.h>
#include <farcall/core/quote.h>

#include "tools/bench/bench.h"
#include "tools/child.h"
#include "tools/failure.h"
#include "tools/python.h"
#include "tools/terminal.h"

namespace farcall::tools {
Json to_json(const Timing& timing) {
  return {{"seconds", timing.median},
          {"low", timing.low},
          {"high", timing.high},
          {"noise", timing.noise},
          {"samples", timing.count}};
}

namespace {

std::string sizes_text(const Sizes& sizes) {
  std::string text;
  for (const auto& [letter, size] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", letter, size);
  return text.empty() ? "-" : text;
}

// The same shape of the handler that this one is compared with.
const BenchCase* reference_case(const std::vector<BenchReport>& reports, const BenchReport& report,
                                const BenchCase& test) {
  for (const BenchReport& other : reports) {
    if (&other == &report || other.spec.name() != report.reference) continue;
    for (const BenchCase& candidate : other.cases) {
      if (candidate.shapes == test.shapes && candidate.warm.median > 0) return &candidate;
    }
  }
  return nullptr;
}

// The symbol; with its library if several reports have that symbol.
std::string title(const std::vector<BenchReport>& reports, const BenchReport& report) {
  const auto has_it = [&](const BenchReport& other) {
    return other.spec.symbol == report.spec.symbol;
  };
  if (std::ranges::count_if(reports, has_it) == 1) return report.spec.symbol;
  return std::filesystem::path(report.spec.name()).filename();
}

std::string table(const std::vector<BenchReport>& reports, const BenchReport& report,
                  const std::optional<Limits>& limits) {
  bool has_flops = false, is_compared = false;
  size_t width = 6;
  for (const BenchCase& test : report.cases) {
    has_flops |= test.flops > 0;
    is_compared |= reference_case(reports, report, test) != nullptr;
    width = std::max(width, sizes_text(test.sizes).size());
  }
  std::string head = fmt::format("  {:<{}} {:>9} {:>10} {:>7} {:>10} {:>10} {:>10}", "size", width,
                                 "bytes", "warm", "noise", "rate", "cold", "rate");
  if (has_flops) head += fmt::format(" {:>12}", "warm");
  if (limits) head += fmt::format(" {:>9}", "of limit");
  if (is_compared) head += fmt::format(" {:>11}", "times first");
  std::string text = styled(Style::kDim, head) + "\n";
  for (const BenchCase& test : report.cases) {
    if (!test.refusal.empty()) {
      text += fmt::format("  {:<{}} {}\n", sizes_text(test.sizes), width,
                          styled(Style::kYellow, test.refusal));
      continue;
    }
    text +=
        fmt::format("  {:<{}} {} {} {:>5.1f} % {} {} {}", sizes_text(test.sizes), width,
                    quantity_text(test.nbytes, "B", 9), quantity_text(test.warm.median, "s", 10),
                    test.warm.noise * 100, quantity_text(test.nbytes / test.warm.median, "B/s", 10),
                    quantity_text(test.cold.median, "s", 10),
                    quantity_text(test.nbytes / test.cold.median, "B/s", 10));
    if (has_flops) text += quantity_text(test.flops / test.warm.median, "FLOP/s", 13);
    if (limits) text += fmt::format(" {:>7.1f} %", test.share(*limits) * 100);
    if (const BenchCase* first = reference_case(reports, report, test))
      text += fmt::format(" {:>11.2f}", test.warm.median / first->warm.median);
    if (test.num_wrong > 0) text += styled(Style::kRed, "  wrong result");
    text += "\n";
  }
  return text;
}

constexpr std::string_view kPlot = R"py(
import json, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator
source, target = sys.argv[1:]
data = json.load(open(source))
plt.rcParams["svg.hashsalt"] = "farcall"
figure, (times, rates) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
symbols = [handler["handler"].rsplit(":", 1)[-1] for handler in data["handlers"]]
for i, handler in enumerate(data["handlers"]):
    cases = [c for c in handler["cases"] if "warm" in c]
    if not cases:
        continue
    name = symbols[i] if symbols.count(symbols[i]) == 1 else handler["handler"].rsplit("/", 1)[-1]
    nbytes = [c["bytes"] for c in cases]
    for kind, line in (("warm", "-"), ("cold", "--")):
        seconds = [c[kind]["seconds"] for c in cases]
        low = [c[kind]["low"] for c in cases]
        high = [c[kind]["high"] for c in cases]
        style = dict(color=f"C{i}", linestyle=line, marker="o", markersize=3.5, label=f"{name}, {kind}")
        times.plot(nbytes, seconds, **style)
        times.fill_between(nbytes, low, high, color=f"C{i}", alpha=0.12, linewidth=0)
        rates.plot(nbytes, [b / s / 1e9 for b, s in zip(nbytes, seconds)], **style)
limits = data.get("limits")
if limits:
    limit = rates.axhline(limits["bytes_per_second"] / 1e9, color="0.5", linewidth=1, linestyle=":", label="memory, all threads")
    rates.legend(handles=[limit], frameon=False, fontsize=9)
def with_unit(value, units):
    return next(f"{value / size:g} {unit}" for size, unit in units if value > 0.999 * size or size == units[-1][0])
TIMES = (1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")
BYTES = (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")
for axes, title in ((times, "time of a call"), (rates, "GB/s")):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes of the operands")
    axes.set_title(title, fontsize=11)
    axes.grid(True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(base=4 if high < 4**6 * low else 16, numticks=9))
    axes.xaxis.set_major_formatter(lambda x, _: with_unit(x, BYTES))
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
    axes.yaxis.set_major_formatter(lambda y, _, axes=axes: with_unit(y, TIMES) if axes is times else f"{y:g}")
    axes.yaxis.set_minor_locator(NullLocator())
times.legend(frameon=False, fontsize=9)
figure.savefig(target, dpi=150)
)py";

}  // namespace

Json to_json(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits) {
  Json json = {{"handlers", Json::array()}};
  if (limits) {
    json["limits"] = {{"threads", limits->num_threads},
                      {"cache_bytes", limits->cache_bytes},
                      {"bytes_per_second", limits->bytes_per_second},
                      {"flops_per_second", limits->flops_per_second}};
  }
  for (const BenchReport& report : reports) {
    Json handler = {{"handler", report.spec.name()}, {"cases", Json::array()}};
    if (report.reference != report.spec.name()) handler["compared_with"] = report.reference;
    if (!report.failure.empty()) handler["reason"] = report.failure;
    for (const BenchCase& test : report.cases) {
      Json row = {{"sizes", test.sizes}, {"shapes", test.shapes}, {"bytes", test.nbytes}};
      if (!test.refusal.empty()) {
        row["refusal"] = test.refusal;
      } else {
        row["warm"] = to_json(test.warm);
        row["cold"] = to_json(test.cold);
        row["is_right"] = test.num_wrong == 0;
        if (test.flops > 0) row["flops"] = test.flops;
        if (limits) row["share_of_limit"] = test.share(*limits);
      }
      handler["cases"].push_back(row);
    }
    json["handlers"].push_back(handler);
  }
  return json;
}

std::string to_text(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits) {
  std::string text;
  if (limits) {
    text += fmt::format("{} thread{}: memory {}, float32 {}\n", limits->num_threads,
                        limits->num_threads == 1 ? "" : "s",
                        quantity_text(limits->bytes_per_second, "B/s", 0),
                        quantity_text(limits->flops_per_second, "FLOP/s", 0));
  }
  for (const BenchReport& report : reports) {
    text += fmt::format("\n{}", styled(Style::kBold, title(reports, report)));
    if (!report.cases.empty()) text += fmt::format("  {}", report.spec.call_text());
    text += "\n";
    if (!report.cases.empty()) text += table(reports, report, limits);
    if (!report.failure.empty())
      text += fmt::format("  {}: {}\n", styled(Style::kYellow, "could not run"), report.failure);
  }
  return text;
}

Comparison compare(const Json& before, const Json& now, double tolerance) {
  if (!before.is_object() || !before.contains("handlers"))
    throw Failure(
        kUsage,
        "bench: the file to compare with was not written by farcall bench (--output or --json).");
  const auto symbol_of = [](const Json& handler) {
    const std::string name = handler["handler"];
    return name.substr(name.rfind(':') + 1);  // the library may lie elsewhere now
  };
  Comparison comparison;
  for (size_t i = 0; i < now["handlers"].size(); ++i) {
    const Json& handler = now["handlers"][i];
    for (const Json& old : before["handlers"]) {
      if (symbol_of(old) != symbol_of(handler)) continue;
      for (size_t j = 0; j < handler["cases"].size(); ++j) {
        const Json& row = handler["cases"][j];
        for (const Json& known : old["cases"]) {
          if (known["shapes"] != row["shapes"] || !row.contains("warm") || !known.contains("warm"))
            continue;
          const double ratio =
              row["warm"]["seconds"].get<double>() / known["warm"]["seconds"].get<double>();
          const double noise =
              row["warm"]["noise"].get<double>() + known["warm"]["noise"].get<double>();
          const bool is_slower = ratio > 1 + tolerance + noise;
          const std::string line =
              fmt::format("{} {}: {:.2f} times as long as before", symbol_of(handler),
                          row["shapes"].get<std::string>(), ratio);
          comparison.lines.push_back(line);
          if (!is_slower) continue;
          comparison.slower.push_back(line);
          comparison.slower_cases.emplace_back(i, j);
        }
      }
    }
  }
  if (comparison.lines.empty())
    throw Failure(kUsage, "bench: the file to compare with has none of these handlers and shapes.");
  return comparison;
}

void plot(const Json& json, const std::string& path) {
  const std::string python = find_python();
  if (python.empty()) throw Failure(kCouldNotRun, "bench: pictures need Python with matplotlib.");
  char data[] = "/tmp/farcall_bench_XXXXXX";
  const int fd = mkstemp(data);
  if (fd < 0) throw Failure(kCouldNotRun, "bench: cannot create a temporary file.");
  write_all(fd, json.dump());
  const ChildResult drawn =
      run_program({python, "-c", std::string(kPlot), data, path}, 60, /*with_errors=*/true);
  std::filesystem::remove(data);
  if (drawn.is_fine()) return;
  const size_t end = drawn.output.find_last_not_of('\n');
  const size_t begin = drawn.output.rfind('\n', end);
  throw Failure(
      kCouldNotRun,
      fmt::format("bench: cannot draw {} with {}: {}.{}", farcall::quoted(path), python,
                  drawn.output.substr(begin == std::string::npos ? 0 : begin + 1, end - begin),
                  drawn.output.find("No module named") == std::string::npos
                      ? ""
                      : " Drawing needs matplotlib."));
}

}  // namespace farcall::tools
