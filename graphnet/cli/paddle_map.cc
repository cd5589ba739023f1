// `graphnet paddle-map`: prints the calls of Paddle that replace calls of PyTorch.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"
#include "graphnet/paddle/mapping.h"

namespace graphnet {
namespace {

Json RuleJson(const PaddleRule& rule) {
  Json json;
  json["name"] = rule.name;
  json["class"] = rule.mapping_class;
  if (rule.kind == PaddleRule::Kind::kCall) json["paddle"] = PaddleCallText(rule.call);
  if (!rule.reason.empty()) json["reason"] = rule.reason;
  return json;
}

absl::StatusOr<int> PrintMapping(const std::string& api, bool json) {
  ASSIGN_OR_RETURN(const auto found, FindPaddleRules(api));
  if (json) {
    std::vector<Json> rules;
    for (const FoundPaddleRules& of_name : found) {
      for (const PaddleRule& rule : of_name.rules) rules.push_back(RuleJson(rule));
    }
    Json document;
    document["rules"] = Json::List(rules);
    PrintJson(document);
  } else if (api.empty()) {
    std::fputs(PaddleMappingPage().c_str(), stdout);
  } else {
    for (size_t i = 0; i < found.size(); ++i) {
      std::printf("%s%s", i == 0 ? "" : "\n", PaddleMappingSection(found[i]).c_str());
    }
  }
  return 0;
}

}  // namespace

void RegisterPaddleMap(CLI::App& app, CommandRunner* run) {
  auto api = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("paddle-map", "Print the calls of Paddle that replace calls of PyTorch");
  command
      ->add_option("API", *api,
                   "Call of PyTorch, such as torch.addmm or torch.Tensor.addmm, or the end of its "
                   "name, such as gelu; without it, all are printed as a Markdown page")
      ->type_name("API");
  AddJsonOption(command, json.get(), "rules with name, class, paddle (the call) and reason");
  command->callback([api, json, run] { *run = [api, json] { return PrintMapping(*api, *json); }; });
}

}  // namespace graphnet
