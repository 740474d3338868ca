// Reports on compiled foreign calls, as Python values.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/program/engine.h>
#include <farcall/trace/divisions.h>

#include "bind_program.h"

namespace farcall::python {
namespace {

// The foreign calls of one executable in program order, and the fused groups.
struct Report {
  std::vector<ForeignCallReport> calls;
  Fusion fusion;
  std::vector<LoopReport> loops;
  std::vector<DivisionReport> divisions;
};

const ForeignCallReport& call_at(const Report& self, nb::ssize_t index) {
  const auto size = static_cast<nb::ssize_t>(self.calls.size());
  if (index < -size || index >= size) {
    throw nb::index_error(
        fmt::format("report: there are {} foreign calls, asked for {}", size, index).c_str());
  }
  return self.calls[static_cast<size_t>(index < 0 ? index + size : index)];
}

}  // namespace

nb::object report_object(const DividedRun& run) {
  const Executable& executable = *run.executable;
  return nb::cast(Report{executable.report(), executable.fusion(), executable.loops(), run.calls});
}

void bind_report(nb::module_& module) {
  using Copy = ForeignCallReport::Copy;
  using Alias = ForeignCallReport::Alias;
  nb::class_<Copy>(module, "CopyReport", "A copy that was inserted for a foreign call.")
      .def_ro("what", &Copy::what)
      .def_ro("why", &Copy::why)
      .def_ro("nbytes", &Copy::nbytes)
      .def("__repr__", [](const Copy& self) {
        return fmt::format("CopyReport(what='{}', nbytes={}, why='{}')", self.what, self.nbytes,
                           self.why);
      });
  nb::class_<Alias>(module, "AliasReport", "An alias that a foreign call asked for.")
      .def_ro("input", &Alias::input)
      .def_ro("output", &Alias::output)
      .def_ro("is_honoured", &Alias::is_honoured)
      .def_ro("why", &Alias::why)
      .def("__repr__", [](const Alias& self) {
        return fmt::format("AliasReport(input={}, output={}, is_honoured={}, why='{}')", self.input,
                           self.output, self.is_honoured ? "True" : "False", self.why);
      });
  nb::class_<ForeignCallReport>(module, "ForeignCallReport", "What was done for a foreign call.")
      .def_ro("target_name", &ForeignCallReport::target_name)
      .def_ro("copies", &ForeignCallReport::copies)
      .def_ro("aliases", &ForeignCallReport::aliases)
      .def_ro("scratch_bytes", &ForeignCallReport::scratch_bytes)
      .def_ro("planned_scratch_bytes", &ForeignCallReport::planned_scratch_bytes)
      .def_prop_ro("location",
                   [](const ForeignCallReport& self) { return location_tuple(self.where); })
      .def("__repr__", [](const ForeignCallReport& self) {
        return to_text({&self, 1});
      });
  nb::class_<Fusion::Cluster>(module, "ClusterReport", "Equations that run together.")
      .def_ro("operations", &Fusion::Cluster::operations)
      .def_prop_ro("location",
                   [](const Fusion::Cluster& self) { return location_tuple(self.where); })
      .def("__repr__", [](const Fusion::Cluster& self) {
        Fusion one;
        one.groups.push_back(self);
        return to_text(one);
      });
  nb::class_<Fusion::Break>(module, "UnfusedReport",
                            "An operation that is not in the cluster of what it reads.")
      .def_ro("operation", &Fusion::Break::operation)
      .def_ro("operand", &Fusion::Break::operand)
      .def_ro("why", &Fusion::Break::why)
      .def_prop_ro("location", [](const Fusion::Break& self) { return location_tuple(self.where); })
      .def("__repr__", [](const Fusion::Break& self) {
        Fusion one;
        one.breaks.push_back(self);
        return to_text(one);
      });
  nb::class_<LoopReport>(module, "LoopReport", "How a loop runs.")
      .def_ro("operation", &LoopReport::operation)
      .def_prop_ro("is_machine_code", [](const LoopReport& self) { return self.why_not.empty(); })
      .def_ro("why_not", &LoopReport::why_not)
      .def_prop_ro("location", [](const LoopReport& self) { return location_tuple(self.where); })
      .def("__repr__", [](const LoopReport& self) { return to_text(std::span(&self, 1)); });
  nb::class_<DivisionReport>(module, "DivisionReport",
                             "What became of a foreign call in a program on arrays over a mesh.")
      .def_ro("target_name", &DivisionReport::target_name)
      .def_prop_ro("is_divided", &DivisionReport::is_divided)
      .def_ro("is_gathered", &DivisionReport::is_gathered)
      .def_ro("rule", &DivisionReport::rule)
      .def_ro("why_not", &DivisionReport::why_not)
      .def_prop_ro("location",
                   [](const DivisionReport& self) { return location_tuple(self.where); })
      .def("__repr__", [](const DivisionReport& self) { return to_text(std::span(&self, 1)); });
  nb::class_<Report>(module, "Report", "What was done for the foreign calls of a program.")
      .def_prop_ro("num_clusters", [](const Report& self) { return self.fusion.clusters; })
      .def_prop_ro("num_clustered_equations",
                   [](const Report& self) { return self.fusion.equations; })
      .def_prop_ro(
          "num_coded_operations", [](const Report& self) { return self.fusion.coded_operations; },
          "The operations of clusters that run as machine code.")
      .def_prop_ro(
          "clusters", [](const Report& self) { return self.fusion.groups; },
          "The groups of equations that run together, in order.")
      .def_prop_ro(
          "unfused", [](const Report& self) { return self.fusion.breaks; },
          "The neighbours that do not run together, and why.")
      .def_ro("loops", &Report::loops, "How each loop runs, in order.")
      .def_ro("divisions", &Report::divisions,
              "For arguments over a mesh, which calls were divided, by which rule, or why not.")
      .def("__len__", [](const Report& self) { return self.calls.size(); })
      .def("__getitem__", call_at, nb::rv_policy::reference_internal)
      .def("__repr__", [](const Report& self) {
        return to_text(self.calls) + to_text(self.divisions) + to_text(self.fusion) +
               to_text(self.loops);
      });
}

}  // namespace farcall::python
