#include "program/drawing.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/quote.h>

#include "program/text_form.h"

namespace farcall {
namespace {

std::string literal_text(const Literal& literal) {
  return format_element(literal.type.dtype(), literal.bytes.data());
}

// "mul(a, 2.0)". The label of a call contains the name of its target or program.
std::string equation_label(const Program& program, const Equation& equation,
                           const std::vector<std::string>& names) {
  std::string label(equation.primitive->name);
  if (equation.params) {
    for (const auto& [name, value] : equation.params->fields()) {
      const auto* text = std::get_if<std::string>(&value);
      if (text && (name == "target_name" || name == "name")) label += ' ' + quoted(*text);
    }
  }
  label += '(';
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    const Atom atom = equation.inputs[i];
    if (i > 0) label += ", ";
    if (i == 6) {
      label += "…";
      break;
    }
    label += atom.is_variable() ? names[atom.index] : literal_text(program.literals[atom.index]);
  }
  return label + ')';
}

class GraphMaker {
 public:
  GraphMaker(const Program& program, size_t& budget)
      : program_(program), names_(variable_names(program)), makers_(names_.size()) {
    using Kind = DrawnNode::Kind;
    for (const uint32_t input : program.inputs) define(add(Kind::kInput, binder(input)), {input});
    for (const Constant& constant : program.constants) {
      define(add(Kind::kConstant, binder(constant.variable)), {constant.variable});
    }
    const size_t count = std::min(budget, program.equations.size());
    budget -= count;
    for (size_t i = 0; i < count; ++i) equation(program.equations[i]);
    if (count < program.equations.size()) rest(count);
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const Atom atom = program.outputs[i];
      const std::string value =
          atom.is_variable() ? names_[atom.index] : literal_text(program.literals[atom.index]);
      read(atom, add(Kind::kOutput, fmt::format("result {}: {}", i, value)));
    }
  }

  DrawnGraph graph;

 private:
  struct Maker {
    uint32_t node = 0, result = 0;
  };

  std::string binder(uint32_t variable) const {
    return names_[variable] + ':' + program_.variable_types[variable].to_string();
  }

  uint32_t add(DrawnNode::Kind kind, std::string label) {
    graph.nodes.push_back({kind, std::move(label), {}, nullptr});
    return static_cast<uint32_t>(graph.nodes.size() - 1);
  }

  void define(uint32_t node, const std::vector<uint32_t>& variables) {
    for (uint32_t i = 0; i < variables.size(); ++i) makers_[variables[i]] = {node, i};
  }

  void read(Atom atom, uint32_t node) {
    if (!atom.is_variable()) return;
    const Maker maker = makers_[atom.index];
    // Omitted equations are one node, which may read a value several times: draw each edge once.
    if (maker.node == node || !drawn_.insert({maker.node, maker.result, node}).second) return;
    graph.edges.push_back({maker.node, node, maker.result, binder(atom.index)});
  }

  void equation(const Equation& equation) {
    const bool is_foreign = equation.primitive->kind == PrimitiveKind::kForeignCall;
    const uint32_t node =
        add(is_foreign ? DrawnNode::Kind::kForeignCall : DrawnNode::Kind::kEquation,
            equation_label(program_, equation, names_));
    graph.nodes[node].equation = &equation;
    for (const uint32_t output : equation.outputs) {
      graph.nodes[node].results.push_back(binder(output));
    }
    for (const Atom input : equation.inputs) read(input, node);
    define(node, equation.outputs);
  }

  void rest(size_t first) {
    const size_t count = program_.equations.size() - first;
    const uint32_t node = add(DrawnNode::Kind::kNote, fmt::format("… {} more equations", count));
    for (size_t i = first; i < program_.equations.size(); ++i) {
      for (const uint32_t output : program_.equations[i].outputs) makers_[output] = {node, 0};
      for (const Atom input : program_.equations[i].inputs) read(input, node);
    }
  }

  const Program& program_;
  std::vector<std::string> names_;
  std::vector<Maker> makers_;  // by variable
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> drawn_;
};

}  // namespace

DrawnGraph drawn_graph(const Program& program, size_t& budget) {
  return GraphMaker(program, budget).graph;
}

}  // namespace farcall
