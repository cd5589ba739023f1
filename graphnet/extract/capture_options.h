// Options for capturing a program (capture.h).
#ifndef GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_
#define GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphnet {

// Options of CaptureProgram: how it runs a program, and when it ends a graph.
struct CaptureOptions {
  std::string method = "forward";  // The method that is run.
  // Operators that end the graph, without overload: "nonzero", "aten::unique".
  std::vector<std::string> break_on;
  // A size of an input tensor that is captured as a symbol.
  struct DynamicSize {
    size_t input = 0;  // The index of the input, which is a tensor.
    int64_t dim = 0;   // The dimension.
    std::string name;  // The symbol.
  };
  // Sizes with the same name are one symbol. If they differ, or are 0 or 1 (which have meanings
  // of their own), they are captured as numbers and StitchManifest::symbols lacks the name.
  std::vector<DynamicSize> dynamic;
  // Captures both branches of an `if` on a tensor as torch.cond, if neither branch breaks the
  // graph, writes or draws, and both return tensors alike. InvalidArgument together with `dynamic`.
  bool cond = false;
  // Iterations of a loop that are captured one by one, at least 1. A longer `for` becomes a
  // while_loop if an iteration does not break the graph, write or draw, and all iterations do the
  // same to tensors of the same sizes. Otherwise, and for `while`, the graph ends after this
  // many. There is no while_loop if there are dynamic sizes.
  int64_t max_unroll = 1000;
  // Steps, calls and loop iterations included, after which the program counts as endless.
  int64_t max_steps = int64_t{1} << 22;
  size_t max_subgraphs = 1000;  // Subgraphs after which the capture ends with an error.
  // True if inputs of graphs get statistics of the values that they held.
  bool statistics = true;
  // Lets operators outside ATen run, and methods of classes that are written in C++. They break
  // the graph.
  bool custom_operators = false;
  // Called every 64 calls with the number of finished graphs and the number of calls in all.
  std::function<void(size_t graphs, size_t calls)> progress;
  // Receives the text that the program prints; by default it goes to standard output.
  std::function<void(const std::string&)> print;
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_
