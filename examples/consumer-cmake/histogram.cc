// Counts the operators of all samples of a folder: histogram FOLDER.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "graphnet/graphnet.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: histogram FOLDER\n"), 2;
  const auto paths = graphnet::FindInputs({argv[1]});
  if (!paths.ok()) return std::fprintf(stderr, "%s\n", paths.status().ToString().c_str()), 2;
  std::map<std::string, int> counts;
  for (const std::string& path : *paths) {
    const auto sample = graphnet::Load(path);
    if (!sample.ok()) continue;
    for (const graphnet::Graph* graph : sample->module->graphs()) {
      for (const graphnet::Node* node : graph->nodes()) {
        if (node->is_call()) ++counts[std::string(node->target())];
      }
    }
  }
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [target, count] : order) std::printf("%7d  %s\n", count, target.c_str());
}
