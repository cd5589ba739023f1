// How a program is captured (capture.h).
#ifndef GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_
#define GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphnet {

struct CaptureOptions {
  std::string method = "forward";
  // Operators that end the graph, without overload: "nonzero", "aten::unique".
  std::vector<std::string> break_on;
  // Sizes that are captured as symbols. Those of one name are one size. Where they
  // differ, or are 0 or 1, which have meanings of their own, they are captured as they
  // are and StitchManifest::symbols lacks the name.
  struct DynamicSize {
    size_t input = 0;  // a tensor
    int64_t dim = 0;
    std::string name;
  };
  std::vector<DynamicSize> dynamic;
  // Captures an `if` on a tensor as torch.cond, both branches, where neither breaks the
  // graph, writes or draws and both yield alike tensors. Not together with `dynamic`.
  bool cond = false;
  // Turns of a loop that are captured one by one, at least 1. A `for` of more becomes
  // while_loop if a turn does not break the graph, write or draw and each does the same
  // to tensors of the same sizes; if not, and for `while`, the graph ends after so many.
  // No while_loop together with `dynamic`.
  int64_t max_unroll = 1000;
  // Steps of the program, calls and turns of loops included, before it counts as
  // one without end.
  int64_t max_steps = int64_t{1} << 22;
  size_t max_subgraphs = 1000;
  // Whether inputs of graphs get statistics of what they held.
  bool statistics = true;
  // Lets operators run that are none of ATen's, and methods of classes that are written in
  // C++. They break the graph.
  bool custom_operators = false;
  // Is told every 64 calls how many graphs have ended and how many calls are in all.
  std::function<void(size_t graphs, size_t calls)> progress;
  // Takes what the program prints; by default it goes to standard output.
  std::function<void(const std::string&)> print;
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_CAPTURE_OPTIONS_H_
