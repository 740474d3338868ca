// Drawings: their contents, not their appearance.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <farcall/program/draw.h>
#include <farcall/program/text.h>

#include "building.h"

namespace farcall {
namespace {

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

ProgramPtr sample() {
  return parse_program(
      "{ lambda a:f32[2]=[1.0 2.0] ; b:f32[2]. let\n"
      "    c:f32[2] = jit[name=f jaxpr={ lambda ; a:f32[2]. let b:f32[2] = mul a 2.0:f32[] in (b,) "
      "}]"
      " b\n"
      "    d:f32[2] = ffi_call[attributes={} batched_operands=() "
      "custom_call_api_version=4 has_side_effect=False "
      "input_layouts=(None, None) input_output_aliases=() legacy_backend_config=None "
      "output_layouts=(None,) result_types=(f32[2],) target_name=\"a<b\" vmap_method=None] c a\n"
      "  in (d, b) }");
}

TEST(Draw, DotHasAClusterForEachNestedProgram) {
  const std::string dot = to_dot(*sample());
  EXPECT_EQ(count(dot, "subgraph cluster"), 1u);
  EXPECT_EQ(count(dot, "label=\"mul(a, 2.0)\""), 1u);
  EXPECT_EQ(
      count(dot, "label=\"ffi_call \\\"a<b\\\"(c, a)\", shape=box, style=\"filled,rounded,bold\""),
      1u);
  EXPECT_EQ(count(dot, "[label=\"c:f32[2]\"]"), 1u);
  EXPECT_EQ(count(dot, "{"), count(dot, "}"));
}

TEST(Draw, SvgHasABoxForEachNode) {
  const std::string svg = to_svg(*sample());
  EXPECT_EQ(count(svg, "<g class=\"equation\">"), 2u);
  EXPECT_EQ(count(svg, "<g class=\"foreign\">"), 1u);
  EXPECT_EQ(count(svg, "<g class=\"input\">"), 2u);
  EXPECT_EQ(count(svg, "<g class=\"constant\">"), 1u);
  EXPECT_EQ(count(svg, "<g class=\"output\">"), 3u);
  EXPECT_EQ(count(svg, "a&lt;b"), 1u);
  EXPECT_EQ(count(svg, "<g "), count(svg, "</g>"));
}

TEST(Draw, WhatIsLeftOutIsTold) {
  ProgramBuilder builder;
  Atom x = Atom::variable(builder.add_input(ShapeDtype(DType::kFloat32, {2})));
  for (int i = 0; i < 1000; ++i) {
    x = Atom::variable(builder.add_equation(testing::primitive("exp"), nullptr, {&x, 1})[0]);
  }
  const ProgramPtr program = builder.build({&x, 1});
  for (const std::string& drawing : {to_svg(*program, {10}), to_dot(*program, {10})}) {
    EXPECT_EQ(count(drawing, "exp("), 10u);
    EXPECT_EQ(count(drawing, "… 990 more equations"), 1u);
  }
}

TEST(Draw, NothingAtAll) {
  const ProgramPtr empty = parse_program("{ lambda ;. let in () }");
  EXPECT_EQ(count(to_svg(*empty), "<rect"), 1u);  // the background
  EXPECT_EQ(count(to_dot(*empty), "label"), 0u);
}

}  // namespace
}  // namespace farcall
