// `graphnet paddle-map`: finds the calls of Paddle that replace calls of PyTorch.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/paddle/mapping.h"

namespace graphnet {
namespace {

absl::StatusOr<CommandResult> Mapping(const std::string& api) {
  ASSIGN_OR_RETURN(const auto found, FindPaddleRules(api));
  Table rules = {{"name"}, {"class"}, {"paddle"}, {"reason"}};
  std::string text = api.empty() ? PaddleMappingPage() : "";
  for (const FoundPaddleRules& of_name : found) {
    if (!api.empty())
      absl::StrAppend(&text, text.empty() ? "" : "\n", PaddleMappingSection(of_name));
    for (const PaddleRule& rule : of_name.rules) {
      rules.Add({rule.name, rule.mapping_class,
                 rule.kind == PaddleRule::Kind::kCall ? Cell(PaddleCallText(rule.call)) : Cell(),
                 rule.reason.empty() ? Cell() : Cell(rule.reason)});
    }
  }
  Report report;
  report.Add("rules", std::move(rules));
  report.Say(absl::StripSuffix(text, "\n"));
  return report;
}

void DeclarePaddleMap(CommandLine& command) {
  auto api = std::make_shared<std::string>();
  command
      .AddOption("API", api.get(),
                 "Call of PyTorch, such as torch.addmm or torch.Tensor.addmm, or the end of its "
                 "name, such as gelu; without it, all are printed as a Markdown page")
      .TypeName("API");
  AddJsonOption(command, "rules with name, class, paddle (the call) and reason");
  command.Run([api] { return Mapping(*api); });
}

const RegisteredCommand kPaddleMap(
    {.name = "paddle-map",
     .help = "Print the calls of Paddle that replace calls of PyTorch",
     .group = CommandGroup::kChange,
     .declare = DeclarePaddleMap,
     .examples = {"graphnet paddle-map gelu"}});

}  // namespace
}  // namespace graphnet
