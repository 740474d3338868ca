// What both kinds of drawings are made from: a program as nodes and edges.
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
  std::vector<std::string> results;  // of equations: "b:f32[3]"
  const Equation* equation = nullptr;
};

struct DrawnEdge {
  uint32_t from, to;
  uint32_t result = 0;  // of `from`
  std::string label;    // name and type of the value
};

struct DrawnGraph {
  std::vector<DrawnNode> nodes;  // each after those that it reads from
  std::vector<DrawnEdge> edges;
};

// Takes as many equations as `budget` has left, and counts it down.
DrawnGraph drawn_graph(const Program& program, size_t& budget);

}  // namespace farcall
