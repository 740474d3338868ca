// A program as a graph of nodes and edges, from which both kinds of drawings are made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <farcall/program/draw.h>
#include <farcall/program/program.h>

namespace farcall {

struct DrawnNode {
  enum class Kind : uint8_t { kInput, kConstant, kEquation, kForeignCall, kOutput, kNote };
  Kind kind;
  std::string label;
  std::vector<std::string> results;  // results of an equation: "b:f32[3]"
  const Equation* equation = nullptr;
};

struct DrawnEdge {
  uint32_t from, to;
  uint32_t result = 0;  // number among the results of `from`
  std::string label;    // name and type of the value
};

struct DrawnGraph {
  std::vector<DrawnNode> nodes;  // in topological order
  std::vector<DrawnEdge> edges;
};

// Draws at most `budget` equations, and subtracts their number from it.
DrawnGraph drawn_graph(const Program& program, size_t& budget);

}  // namespace farcall
