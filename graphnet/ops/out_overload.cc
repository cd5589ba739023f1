#include "graphnet/ops/out_overload.h"

#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/schema_text.h"

namespace graphnet {
namespace {

struct OutForms {
  std::vector<OutForm> all;
  absl::flat_hash_map<absl::string_view, const OutForm*> by_maker, by_target;
};

const OutForms& Forms() {
  static const OutForms* const forms = [] {
    auto* const made = new OutForms;
    for (const absl::string_view line : absl::StrSplit(OutText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      // "p max.dim dim_max max max_values", "po zeros out out"
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      CHECK(words.size() >= 4);
      const absl::string_view name = words[1].substr(0, words[1].find('.'));
      OutForm form;
      form.maker = absl::StrCat("aten.", words[1], name == words[1] ? ".default" : "");
      form.target = absl::StrCat("aten.", name, ".", words[2]);
      form.is_of_python = absl::StrContains(words[0], 'p');
      form.lacks_options = absl::StrContains(words[0], 'o');
      form.outs.assign(words.begin() + 3, words.end());
      made->all.push_back(std::move(form));
    }
    for (const OutForm& form : made->all) {
      made->by_maker.emplace(form.maker, &form);
      made->by_target.emplace(form.target, &form);
    }
    return made;
  }();
  return *forms;
}

// Returns whether the operator only makes tensors, each of which a given one can take.
bool MakesTensors(const Schema& maker) {
  return !maker.mutates() && absl::c_all_of(maker.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor && !type.is_list;
  });
}

}  // namespace

bool IsOption(absl::string_view argument) {
  return argument == "dtype" || argument == "layout" || argument == "device" ||
         argument == "pin_memory";
}

const OutForm* FindOutForm(const Schema& maker) {
  const auto found = Forms().by_maker.find(maker.target);
  const bool is_there = found != Forms().by_maker.end() && MakesTensors(maker) &&
                        found->second->outs.size() == maker.returns.size();
  return is_there ? found->second : nullptr;
}

std::optional<Schema> OutOverload(const Node& node) {
  const auto found = Forms().by_target.find(absl::StripPrefix(node.target(), "torch.ops."));
  if (found == Forms().by_target.end()) return std::nullopt;
  const OutForm& form = *found->second;
  const Schema* const maker = FindOverload(form.maker);
  if (maker == nullptr || FindOutForm(*maker) == nullptr) return std::nullopt;
  Schema made = *maker;
  made.target = form.target;
  if (form.lacks_options) {
    std::erase_if(made.arguments,
                  [](const SchemaArgument& argument) { return IsOption(argument.name); });
  }
  for (const absl::string_view out : form.outs) {
    SchemaArgument argument;
    argument.name = out;
    argument.type.kind = SchemaType::Kind::kTensor;
    argument.keyword_only = true;
    made.arguments.push_back(argument);
  }
  // Each parameter is given once, and each tensor that takes a result is a value.
  for (size_t i = 0; i < made.arguments.size(); ++i) {
    const SchemaArgument& parameter = made.arguments[i];
    const Argument* const by_name = node.kwarg(parameter.name);
    const bool is_placed = i < node.args().size();
    const bool is_out = i >= made.arguments.size() - form.outs.size();
    if (is_placed && (parameter.keyword_only || by_name != nullptr)) return std::nullopt;
    if (is_out && (by_name == nullptr || !by_name->is_node())) return std::nullopt;
    if (!is_placed && by_name == nullptr && !parameter.has_default) return std::nullopt;
  }
  const bool is_known = absl::c_all_of(
      node.kwargs(), [&](const KwArg& kwarg) { return made.FindArgument(kwarg.name) != nullptr; });
  if (!is_known || node.args().size() > made.arguments.size()) return std::nullopt;
  return made;
}

}  // namespace graphnet
