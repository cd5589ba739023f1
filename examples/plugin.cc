// A plug-in that adds a pass to the tool, and a format: chains of operators, one on each line.
//
//   chain
//   relu
//   tanh
//
// GRAPHNET_PLUGINS=libchain.so graphnet opt net.chain --passes=tanh-to-relu -o net.pt2
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace {

using graphnet::Argument;
using graphnet::Node;
using graphnet::Sample;

constexpr absl::string_view kFirstLine = "chain\n";

absl::StatusOr<Sample> ReadChain(graphnet::Source& source, const graphnet::LoadOptions&) {
  absl::StatusOr<std::string> text = source.text(1 << 20);
  if (!text.ok()) return text.status();
  Sample sample;
  sample.module = std::make_unique<graphnet::Module>();
  graphnet::Graph* graph = sample.module->AddGraph("forward");
  Node* value = graph->Placeholder("x");
  std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    if (absl::StrContains(lines[i], ' '))
      return absl::InvalidArgumentError(absl::StrCat(i + 1, ":1: one operator a line"));
    value = graph->CallFunction(absl::StrCat("torch.", lines[i]), {value});
  }
  graph->Output(Argument::Tuple({value}));
  return sample;
}

absl::Status WriteChain(const Sample& sample, const graphnet::SaveOptions&,
                        const graphnet::ByteSink& sink) {
  std::string text(kFirstLine);
  for (const Node* node : sample.module->main()->nodes()) {
    if (!node->is_call()) continue;
    absl::string_view name = node->target();
    if (!absl::ConsumePrefix(&name, "torch.") || node->args().size() != 1 ||
        !node->kwargs().empty())
      return absl::UnimplementedError(absl::StrCat("a chain has no ", node->target()));
    absl::StrAppend(&text, name, "\n");
  }
  return sink(text);
}

// A pass that is for one program needs no documentation.
const graphnet::RegisteredPass kTanhToRelu("tanh-to-relu", /*header=*/"",
                                           [](graphnet::Module* module,
                                              graphnet::PassRun&) -> absl::StatusOr<bool> {
                                             bool changed = false;
                                             for (Node* node : module->main()->nodes()) {
                                               if (!node->is_call() ||
                                                   node->target() != "torch.tanh")
                                                 continue;
                                               node->set_target("torch.relu");
                                               changed = true;
                                             }
                                             return changed;
                                           });

}  // namespace

extern "C" const char* GraphnetPlugin(int version) {
  if (version != graphnet::kFormatsVersion) return "made for another graphnet";
  graphnet::Format format;
  format.name = "chain";
  format.title = "a chain of operators";
  format.content = "a chain";
  format.endings = {".chain"};
  format.lacks = {.weights = true, .metas = true, .input_metas = true, .module_paths = true};
  format.sniff = [](graphnet::Source& source) {
    const absl::StatusOr<absl::string_view> head = source.head();
    return head.ok() && absl::StartsWith(*head, kFirstLine);
  };
  format.read = ReadChain;
  format.write = WriteChain;
  return graphnet::RegisterFormat(std::move(format)).ok() ? nullptr : "its names are taken";
}
