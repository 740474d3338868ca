// Drawing programs as SVG. A program is laid out in layers: each node is one layer below the lowest
// node that it reads from, and edges pass through all layers in between. The nodes of a layer are
// ordered by the positions of their neighbours, then moved towards them as far as this order
// allows. A nested program is drawn first and becomes a part of its equation's node.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/program/draw.h>
#include <farcall/program/text.h>
#include <farcall/program/walk.h>

#include "program/drawing.h"

namespace farcall {
namespace {

constexpr double kCharWidth = 7.3, kLineHeight = 16, kPadding = 8;
constexpr double kNodeGap = 26, kLayerGap = 34, kResultHeight = 15;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// Counts characters, not bytes.
double text_width(std::string_view text) {
  return kCharWidth * static_cast<double>(std::ranges::count_if(text, [](char c) {
           return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
         }));
}

struct Picture {
  double width = 0, height = 0;
  std::string svg;
};

// A node of the drawing, or the point where an edge passes a layer.
struct Item {
  double width = 0, height = 0;  // without the names of the results below it
  double x = 0, y = 0;           // the middle of its upper edge
  int layer = 0;
  std::vector<uint32_t> above, below;
};

// Least-squares positions that keep order and distances (pool adjacent violators): neighbours that
// would come too close form a group, which moves to the mean of its members' wanted positions.
void place(const std::vector<Item*>& row, const std::vector<double>& wanted) {
  struct Group {
    double sum;
    size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Group> groups;
  std::vector<double> offsets;
  for (size_t i = 0; i < row.size(); ++i) {
    offsets.push_back(i == 0 ? 0
                             : offsets.back() + (row[i - 1]->width + row[i]->width) / 2 + kNodeGap);
    groups.push_back({wanted[i] - offsets[i], 1});
    while (groups.size() > 1 && groups[groups.size() - 2].mean() > groups.back().mean()) {
      groups[groups.size() - 2].sum += groups.back().sum;
      groups[groups.size() - 2].count += groups.back().count;
      groups.pop_back();
    }
  }
  size_t next = 0;
  for (const Group& group : groups) {
    for (size_t i = 0; i < group.count; ++i, ++next) row[next]->x = group.mean() + offsets[next];
  }
}

class Layout {
 public:
  explicit Layout(const DrawnGraph& graph, std::vector<Item> items)
      : items_(std::move(items)), paths_(graph.edges.size()) {
    assign_layers(graph);
    for (size_t i = 0; i < graph.edges.size(); ++i) add_path(graph.edges[i], paths_[i]);
    for (uint32_t i = 0; i < items_.size(); ++i) {
      rows_.resize(std::max(rows_.size(), static_cast<size_t>(items_[i].layer) + 1));
      rows_[static_cast<size_t>(items_[i].layer)].push_back(i);
    }
    order();
    set_places();
  }

  const Item& item(size_t i) const { return items_[i]; }
  // The items that an edge passes through, including both ends.
  const std::vector<uint32_t>& path(size_t edge) const { return paths_[edge]; }
  double width() const { return width_; }
  double height() const { return height_; }

 private:
  void assign_layers(const DrawnGraph& graph) {
    for (const DrawnEdge& edge : graph.edges) {
      Item& to = items_[edge.to];
      to.layer = std::max(to.layer, items_[edge.from].layer + 1);
    }
    int last = 0;
    for (const Item& item : items_) last = std::max(last, item.layer);
    // Constants are one layer above their first reader, results in the last layer.
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].kind == DrawnNode::Kind::kOutput) items_[i].layer = std::max(last, 1);
      if (graph.nodes[i].kind != DrawnNode::Kind::kConstant) continue;
      int first = last;
      for (const DrawnEdge& edge : graph.edges) {
        if (edge.from == i) first = std::min(first, items_[edge.to].layer - 1);
      }
      items_[i].layer = std::max(0, first);
    }
  }

  void add_path(const DrawnEdge& edge, std::vector<uint32_t>& path) {
    path.push_back(edge.from);
    for (int layer = items_[edge.from].layer + 1; layer < items_[edge.to].layer; ++layer) {
      items_.push_back({.layer = layer});
      path.push_back(static_cast<uint32_t>(items_.size() - 1));
    }
    path.push_back(edge.to);
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      items_[path[i]].below.push_back(path[i + 1]);
      items_[path[i + 1]].above.push_back(path[i]);
    }
  }

  // The mean position of the neighbours; the item's own position if it has none.
  double pull(const Item& item, bool down) const {
    const std::vector<uint32_t>& neighbours = down ? item.above : item.below;
    if (neighbours.empty()) return item.x;
    double sum = 0;
    for (const uint32_t each : neighbours) sum += items_[each].x;
    return sum / static_cast<double>(neighbours.size());
  }

  template <class F>
  void sweep(int times, const F& visit) {
    for (int i = 0; i < times; ++i) {
      for (auto& row : rows_) visit(row, /*down=*/true);
      for (size_t row = rows_.size(); row-- > 0;) visit(rows_[row], /*down=*/false);
    }
  }

  void order() {
    const auto number = [&](const std::vector<uint32_t>& row) {
      for (size_t i = 0; i < row.size(); ++i) items_[row[i]].x = static_cast<double>(i);
    };
    for (const auto& row : rows_) number(row);
    sweep(6, [&](std::vector<uint32_t>& row, bool down) {
      std::ranges::stable_sort(row, {}, [&](uint32_t i) { return pull(items_[i], down); });
      number(row);
    });
  }

  void set_places() {
    const auto place_row = [&](const std::vector<uint32_t>& row, bool down) {
      std::vector<Item*> items;
      std::vector<double> wanted;
      for (const uint32_t i : row) {
        items.push_back(&items_[i]);
        wanted.push_back(pull(items_[i], down));
      }
      place(items, wanted);
    };
    sweep(8, place_row);
    double left = 0, right = 0, y = 0;
    bool is_first = true;
    for (const auto& row : rows_) {
      double height = 0;
      for (const uint32_t i : row) {
        Item& item = items_[i];
        item.y = y;
        height = std::max(height, item.height);
        left = is_first ? item.x - item.width / 2 : std::min(left, item.x - item.width / 2);
        right = is_first ? item.x + item.width / 2 : std::max(right, item.x + item.width / 2);
        is_first = false;
      }
      // An edge crosses the whole height of a layer.
      for (const uint32_t i : row) {
        if (items_[i].width == 0) items_[i].height = height;
      }
      y += height + kResultHeight + kLayerGap;
    }
    for (Item& item : items_) item.x -= left;
    width_ = right - left;
    height_ = std::max(0.0, y - kLayerGap - kResultHeight);
  }

  std::vector<Item> items_;
  std::vector<std::vector<uint32_t>> paths_;
  std::vector<std::vector<uint32_t>> rows_;
  double width_ = 0, height_ = 0;
};

std::string_view css_class_of(DrawnNode::Kind kind) {
  switch (kind) {
    case DrawnNode::Kind::kInput:
      return "input";
    case DrawnNode::Kind::kConstant:
      return "constant";
    case DrawnNode::Kind::kEquation:
      return "equation";
    case DrawnNode::Kind::kForeignCall:
      return "foreign";
    case DrawnNode::Kind::kOutput:
      return "output";
    case DrawnNode::Kind::kNote:
      return "note";
  }
  return {};
}

class Painter {
 public:
  explicit Painter(size_t budget) : budget_(budget) {}

  Picture paint(const Program& program) {
    const DrawnGraph graph = drawn_graph(program, budget_);
    std::vector<std::vector<Picture>> inner(graph.nodes.size());
    std::vector<Item> items(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) measure(graph.nodes[i], inner[i], items[i]);
    const Layout layout(graph, std::move(items));
    Picture picture{layout.width(), layout.height(), {}};
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      edge(picture.svg, graph, layout, i);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      node(picture.svg, graph.nodes[i], layout.item(i), inner[i]);
    }
    return picture;
  }

 private:
  // Draws the programs inside the node, and computes its size.
  void measure(const DrawnNode& node, std::vector<Picture>& inner, Item& item) {
    item.width = text_width(node.label);
    item.height = kLineHeight + kPadding;
    double results = 0;
    for (const std::string& result : node.results) results += text_width(result) + kPadding;
    if (node.equation) {
      double side_by_side = 0, tallest = 0;
      for (const NamedProgram& nested : nested_programs(*node.equation)) {
        Picture picture = paint(*nested.program);
        // Its name is printed above it.
        picture.width = std::max(picture.width, text_width(nested.name)) + 2 * kPadding;
        picture.height += kLineHeight + 2 * kPadding;
        picture.svg = fmt::format(
            "<rect class=\"nested\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\"/>"
            "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
            "<g transform=\"translate({:.1f},{:.1f})\">\n{}</g>\n",
            picture.width, picture.height, kPadding, kLineHeight - 3, escaped(nested.name),
            kPadding, kLineHeight + kPadding, picture.svg);
        side_by_side += picture.width + kPadding;
        tallest = std::max(tallest, picture.height);
        inner.push_back(std::move(picture));
      }
      item.width = std::max(item.width, side_by_side - kPadding);
      if (!inner.empty()) item.height += tallest + kPadding;
    }
    item.width = std::max(item.width + 2 * kPadding, results);
  }

  // The x coordinate at which the edges of a result begin.
  static double port(const DrawnNode& node, const Item& item, uint32_t result) {
    const auto count = static_cast<double>(std::max<size_t>(1, node.results.size()));
    return item.x - item.width / 2 + item.width * (result + 0.5) / count;
  }

  static void edge(std::string& svg, const DrawnGraph& graph, const Layout& layout, size_t number) {
    const DrawnEdge& edge = graph.edges[number];
    const std::vector<uint32_t>& path = layout.path(number);
    const DrawnNode& from = graph.nodes[edge.from];
    const Item& start = layout.item(edge.from);
    double x = port(from, start, edge.result);
    double y = start.y + start.height + (from.results.empty() ? 0 : kResultHeight);
    svg += fmt::format("<path class=\"edge\" d=\"M{:.1f},{:.1f}", x, y);
    for (size_t i = 1; i < path.size(); ++i) {
      const Item& to = layout.item(path[i]);
      const double middle = (y + to.y) / 2;
      svg += fmt::format(" C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x, middle, to.x, middle,
                         to.x, to.y);
      x = to.x;
      y = to.y;
      if (i + 1 < path.size()) svg += fmt::format(" V{:.1f}", y = to.y + to.height);
    }
    svg +=
        fmt::format("\" marker-end=\"url(#tip)\"><title>{}</title></path>\n", escaped(edge.label));
  }

  static void node(std::string& svg, const DrawnNode& node, const Item& item,
                   const std::vector<Picture>& inner) {
    const double left = item.x - item.width / 2;
    const bool is_round = !node.equation && node.kind != DrawnNode::Kind::kNote;
    svg += fmt::format(
        "<g class=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"{}\"/>",
        css_class_of(node.kind), left, item.y, item.width, item.height, is_round ? 12 : 5);
    if (node.equation && node.equation->where) {
      svg += fmt::format("<title>{}</title>", escaped(to_text(*node.equation->where)));
    }
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n", item.x,
                       item.y + kLineHeight, escaped(node.label));
    double x = left + kPadding;
    for (const Picture& picture : inner) {
      svg += fmt::format("<g transform=\"translate({:.1f},{:.1f})\">{}</g>\n", x,
                         item.y + kLineHeight + kPadding, picture.svg);
      x += picture.width + kPadding;
    }
    for (uint32_t i = 0; i < node.results.size(); ++i) {
      svg += fmt::format("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                         port(node, item, i), item.y + item.height + 11, escaped(node.results[i]));
    }
  }

  size_t budget_;
};

constexpr std::string_view kStyle =
    "text{font:12px monospace;fill:#222}.middle,.value{text-anchor:middle}"
    ".value{font-size:11px;fill:#555}rect{stroke:#7788aa;fill:#e8eef8}"
    ".input rect{fill:#e3f1e3;stroke:#6a9a6a}.output rect{fill:#f6e3ec;stroke:#b0708c}"
    ".constant rect{fill:#f2f2f2;stroke:#888;stroke-dasharray:4 2}"
    ".foreign rect{fill:#ffd9a8;stroke:#c46a00;stroke-width:2}"
    ".note rect{fill:#fffbe0;stroke:#b8a84a}rect.nested{fill:#fff;stroke:#aab4c8}"
    ".edge{fill:none;stroke:#667;stroke-width:1.2}";

}  // namespace

std::string to_svg(const Program& program, const DrawOptions& options) {
  const Picture picture = Painter(options.max_equations).paint(program);
  constexpr double kMargin = 12;
  const double width = picture.width + 2 * kMargin, height = picture.height + 2 * kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>{2}</style>\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#667\"/></marker>"
      "</defs>\n<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n"
      "<g transform=\"translate({3},{3})\">\n{4}</g>\n</svg>\n",
      width, height, kStyle, kMargin, picture.svg);
}

}  // namespace farcall
