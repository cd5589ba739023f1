// Finds the graphs in a text that people post, and what the text says about them.
#ifndef GRAPHNET_FORMATS_POSTED_FIND_GRAPHS_H_
#define GRAPHNET_FORMATS_POSTED_FIND_GRAPHS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/formats/posted/lines.h"

namespace graphnet::posted {

// Some lines: from `begin` to before `end`; none if they are equal.
struct Range {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin == end; }
};

// A class with a method forward, or a function forward without a class.
struct Function {
  std::string name;               // of the class; empty for a function without one
  Range forward;                  // from the line of its "def"
  std::vector<Function> classes;  // the bodies, which are classes inside of this one
};

// A graph and what belongs to it.
struct Graph {
  std::string name;  // unique in the text: "forward_graph_1", "graph_module"
  Function function;
  Range load_args;    // the function load_args of a repro, behind its "def"
  Range signature;    // the lines below "Graph signature:"
  size_t ranges = 0;  // the line of "Range constraints:", or 0
};

// Returns whether the text may hold a graph that PyTorch printed. O(size of the text).
bool HasGraph(absl::string_view text);

// Returns the graphs in the order of the text. O(size of the text).
std::vector<Graph> FindGraphs(const Lines& lines);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_FIND_GRAPHS_H_
