// Drawing programs with Graphviz.
#include <farcall/program/draw.h>
#include <farcall/program/walk.h>

#include <fmt/format.h>

#include "program/drawing.h"

namespace farcall {
namespace {

// Graphviz reads backslashes in strings as its own escapes.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string_view style_of(DrawnNode::Kind kind) {
  switch (kind) {
    case DrawnNode::Kind::kInput:
      return "shape=ellipse, style=filled, fillcolor=\"#e3f1e3\"";
    case DrawnNode::Kind::kConstant:
      return "shape=ellipse, style=\"filled,dashed\", fillcolor=\"#f2f2f2\"";
    case DrawnNode::Kind::kEquation:
      return "shape=box, style=\"filled,rounded\", fillcolor=\"#e8eef8\"";
    case DrawnNode::Kind::kForeignCall:
      return "shape=box, style=\"filled,rounded,bold\", fillcolor=\"#ffd9a8\"";
    case DrawnNode::Kind::kOutput:
      return "shape=ellipse, style=filled, fillcolor=\"#f6e3ec\"";
    case DrawnNode::Kind::kNote:
      return "shape=note";
  }
  return {};
}

class DotWriter {
 public:
  explicit DotWriter(size_t budget) : budget_(budget) {}

  std::string write(const Program& program) {
    out_ =
        "digraph program {\n  compound=true;\n  node [fontname=monospace, fontsize=11];\n"
        "  edge [fontname=monospace, fontsize=9];\n";
    add(program, 2);
    return out_ + "}\n";
  }

 private:
  // Returns the number of its first node.
  size_t add(const Program& program, size_t indent) {
    const DrawnGraph graph = drawn_graph(program, budget_);
    const size_t first = next_node_;
    next_node_ += graph.nodes.size();
    const std::string space(indent, ' ');
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      out_ += fmt::format("{}n{} [label={}, {}];\n", space, first + i,
                          dot_string(graph.nodes[i].label), style_of(graph.nodes[i].kind));
    }
    for (const DrawnEdge& edge : graph.edges) {
      out_ += fmt::format("{}n{} -> n{} [label={}];\n", space, first + edge.from, first + edge.to,
                          dot_string(edge.label));
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!graph.nodes[i].equation) continue;
      for (const NamedProgram& nested : nested_programs(*graph.nodes[i].equation)) {
        cluster(nested, first + i, indent);
      }
    }
    return first;
  }

  void cluster(const NamedProgram& nested, size_t caller, size_t indent) {
    const std::string space(indent, ' ');
    const size_t number = next_cluster_++;
    out_ += fmt::format("{}subgraph cluster{} {{\n{}  label={};\n{}  style=rounded;\n", space,
                        number, space, dot_string(nested.name), space);
    const size_t before = next_node_;
    const size_t first = add(*nested.program, indent + 2);
    const bool is_empty = next_node_ == before;
    if (is_empty) out_ += fmt::format("{}  n{} [label=\"\", shape=point];\n", space, next_node_++);
    out_ += fmt::format("{}}}\n{}n{} -> n{} [lhead=cluster{}, style=dashed];\n", space, space,
                        caller, first, number);
  }

  std::string out_;
  size_t budget_;
  size_t next_node_ = 0, next_cluster_ = 0;
};

}  // namespace

std::string to_dot(const Program& program, const DrawOptions& options) {
  return DotWriter(options.max_equations).write(program);
}

}  // namespace farcall
