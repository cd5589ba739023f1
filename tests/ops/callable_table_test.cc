// Calls every row of the tables of callables by every name that Python has for it. A call means the
// same in whatever form its arguments are written, and wrong arguments are refused.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "gtest/gtest.h"
#include "tests/ops/table_calls.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

// A graph in which node r is the call.
class Call {
 public:
  Call(const Spelling& spelling, absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    Graph* graph = module_.AddGraph("forward");
    for (const char* name : {"x", "y"}) inputs_.push_back(graph->Placeholder(name));
    module_.AddGraph("body")->Output(module_.graphs()[1]->Placeholder("z"));
    std::vector<Argument> mapped;
    for (const Argument& a : args) mapped.push_back(Mapped(a));
    std::vector<KwArg> by_name;
    for (const KwArg& k : kwargs) by_name.push_back({k.name, Mapped(k.value)});
    graph->Output(graph->CreateNode(spelling.op, spelling.target, mapped, by_name, "r"));
  }

  // Returns the calls that it is lowered to and true, or the error and false.
  std::pair<std::string, bool> Lowered() const {
    const auto lowered = LowerToAten(module_);
    if (!lowered.ok()) return {std::string(lowered.status().message()), false};
    std::string out;
    for (const Graph* graph : lowered->module->graphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->is_call()) {
          absl::StrAppend(&out, "%", node->name(), " = ", Printed(*node), "\n");
        } else if (node->is_output()) {
          absl::StrAppend(&out, PrintArgument(node->args()[0]), "\n");
        }
      }
    }
    return {out, true};
  }

 private:
  // Prints a call with the names of its parameters, without those that have their default.
  static std::string Printed(const Node& call) {
    const Callable callee = CalleeOf(call);
    if (!callee.names_overload && callee.kind != Callable::Kind::kFunction) {
      return PrintNode(call);
    }
    const Schema& schema = callee.overloads[0];
    std::string out = absl::StrCat(call.target(), "(");
    const bool has_variadic =
        absl::c_any_of(schema.arguments, [](const SchemaArgument& a) { return a.is_variadic; });
    if (has_variadic) return PrintNode(call);
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument* value = schema.Given(call, i);
      if (value == nullptr || schema.arguments[i].IsDefault(*value)) continue;
      absl::StrAppend(&out, schema.arguments[i].name, "=", PrintArgument(*value), ", ");
    }
    return out + ")";
  }
  // Replaces "$x" by an input and "$body" by a graph.
  Argument Mapped(const Argument& a) {
    if (a.is_aggregate()) {
      std::vector<Argument>& elements = lists_.emplace_back();
      for (const Argument& e : a.elements()) elements.push_back(Mapped(e));
      return Argument::Aggregate(a.kind(), elements);
    }
    if (!a.is_string() || !absl::StartsWith(a.string(), "$")) return a;
    if (a.string() == "$body") return module_.graphs()[1];
    return inputs_[a.string() == "$x" ? 0 : 1];
  }

  Module module_;
  std::vector<Node*> inputs_;
  std::list<std::vector<Argument>> lists_;
};

struct Counts {
  size_t rows = 0, spellings = 0, forms = 0, refused = 0, unbound = 0, shadowed = 0;
};

class TableTest : public testing::Test {
 protected:
  // Passes `given` by position as far as the row allows, or by keyword; in reverse order if
  // `reversed`.
  static std::pair<std::string, bool> Lower(const Spelling& spelling,
                                            const std::vector<Given>& given, bool by_keyword,
                                            bool reversed = false, const KwArg* another = nullptr) {
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    const bool is_method = spelling.op == Op::kCallMethod;
    for (const Given& g : given) {
      const bool is_self = is_method && args.empty() && kwargs.empty();
      if (g.is_variadic) {
        args.insert(args.end(), g.value.elements().begin(), g.value.elements().end());
      } else if (!g.keyword_only && (!by_keyword || g.positional_only || is_self)) {
        args.push_back(g.value);
      } else {
        kwargs.push_back({g.name, g.value});
      }
    }
    if (reversed) std::reverse(kwargs.begin(), kwargs.end());
    if (another != nullptr) kwargs.push_back(*another);
    return Call(spelling, args, kwargs).Lowered();
  }

  // Returns whether a parameter does not change the value: it is about a warning, about memory, or
  // about gradients, which graphs do not record.
  static bool SaysNothing(const Schema& schema, absl::string_view name) {
    if (name == "return_indices" && absl::EndsWith(schema.name, "_with_indices")) return true;
    // The size that is given says all; bags that are rows have no offsets.
    if ((name == "stride" || name == "padding") && absl::EndsWith(schema.name, ".max_unpool2d")) {
      return true;
    }
    if (name == "include_last_offset" && absl::StartsWith(schema.name, "torch.nn.")) return true;
    return absl::c_linear_search(
        std::vector<absl::string_view>{"_stacklevel", "message", "non_blocking", "pin_memory",
                                       "requires_grad"},
        name);
  }

  // Returns whether an overload that Python tries earlier accepts these arguments, too.
  static bool IsShadowed(const Spelling& spelling, const Schema& schema,
                         const std::string& lowered) {
    const Callable callee = FindCallable(spelling.op, spelling.target);
    return callee.overloads.size() > 1 && !absl::StrContains(lowered, schema.target + "(");
  }

  void Check(const Schema& schema, const Spelling& spelling) {
    // torch.split is a Python function with a row of its own, not an operator.
    const Callable callee = FindCallable(spelling.op, spelling.target);
    if ((callee.kind == Callable::Kind::kFunction) != schema.is_python) return;
    ++counts_.spellings;
    std::vector<Given> all, required, defaults;
    int salt = 0;
    const bool is_method = spelling.op == Op::kCallMethod;
    for (const SchemaArgument& a : schema.arguments) {
      Given g{std::string(a.name), ValueFor(a, salt++), a.positional_only, a.keyword_only,
              a.is_variadic};
      if (a.is_variadic) {
        static const auto* const tensors = new Argument[2]{"$x", "$y"};
        g.value = Argument::List({tensors, 2});
      }
      // The object of a method comes first, at whatever position the schema has it.
      const bool is_self = is_method && a.name == "self" && !all.empty();
      all.insert(is_self ? all.begin() : all.end(), g);
      if (!a.has_default) required.insert(is_self ? required.begin() : required.end(), g);
      if (a.has_default && (!a.default_value.is_none() || a.default_text == "None")) {
        g.value = a.default_value;
        defaults.push_back(g);
      }
    }
    const auto positional = Lower(spelling, all, false);
    const std::string what = absl::StrCat(spelling.target, ": ", schema.target);
    if (!positional.second) {
      // The row has no meaning here, so all forms must be refused.
      ++counts_.unbound;
      unbound_.push_back(absl::StrCat(what, ": ", positional.first));
    } else if (IsShadowed(spelling, schema, positional.first)) {
      ++counts_.shadowed;
    } else {
      const auto by_keyword = Lower(spelling, all, true);
      const auto reversed = Lower(spelling, all, true, true);
      if (by_keyword.second && IsShadowed(spelling, schema, by_keyword.first)) {
        ++counts_.shadowed;
        return;
      }
      EXPECT_EQ(by_keyword.first, positional.first) << what;
      EXPECT_EQ(reversed.first, positional.first) << what;
      counts_.forms += 3;
    }
    // Omitting a default means the same as passing it.
    const auto short_form = Lower(spelling, required, false);
    if (short_form.second) {
      std::vector<Given> long_form = required;
      absl::c_copy(defaults, std::back_inserter(long_form));
      const auto written = Lower(spelling, long_form, true);
      if (written.second && !IsShadowed(spelling, schema, written.first) &&
          !IsShadowed(spelling, schema, short_form.first)) {
        ++counts_.forms;
        EXPECT_EQ(written.first, short_form.first) << what;
      }
    }
    // An argument is never dropped: without it, the call is a different one.
    for (size_t i = 0; positional.second && i < all.size(); ++i) {
      const SchemaArgument& a = *schema.FindArgument(all[i].name);
      if (!a.has_default || a.IsDefault(all[i].value) || all[i].value.is_none() ||
          SaysNothing(schema, a.name)) {
        continue;
      }
      std::vector<Given> fewer = all;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_NE(Lower(spelling, fewer, true).first, positional.first)
          << what << " drops " << a.name;
    }
    // A misspelled keyword is refused, and the error has the right name.
    for (const Given& g : all) {
      if (g.positional_only || g.is_variadic || (is_method && g.name == all[0].name)) continue;
      const std::string wrong = absl::StrCat(g.name, "_");
      const KwArg keyword = {wrong, g.value};
      const auto refused = Lower(spelling, required, false, false, &keyword);
      ++counts_.refused;
      EXPECT_FALSE(refused.second) << what << " takes " << wrong;
      if (!FindCallable(spelling.op, spelling.target).is_known()) break;
      EXPECT_THAT(refused.first, HasSubstr(absl::StrCat("takes no ", wrong, "; did you mean ")))
          << what;
      break;
    }
    const KwArg unknown = {"no_such_keyword", 1};
    const bool takes_any = !all.empty() && all.back().name == "named_values";
    EXPECT_EQ(takes_any, Lower(spelling, required, false, false, &unknown).second) << what;
    // Unknown words are refused.
    for (size_t i = 0; i < all.size(); ++i) {
      const SchemaArgument* a = schema.FindArgument(all[i].name);
      if (a->words.empty()) continue;
      std::vector<Given> wrong = all;
      wrong[i].value = "bogus";
      ++counts_.refused;
      EXPECT_FALSE(Lower(spelling, wrong, true).second) << what << ": " << a->name << "=bogus";
    }
  }

  Counts counts_;
  std::vector<std::string> unbound_;
};

TEST_F(TableTest, EveryRowInEveryForm) {
  for (const absl::Span<const Schema> rows : {AllSchemas(), AllFunctions()}) {
    for (const Schema& schema : rows) {
      ++counts_.rows;
      for (const Spelling& spelling : SpellingsOf(schema)) Check(schema, spelling);
    }
  }
  std::printf(
      "%zu rows, %zu spellings, %zu forms alike, %zu refused, %zu without a meaning here, "
      "%zu shadowed by another overload\n",
      counts_.rows, counts_.spellings, counts_.forms, counts_.refused, counts_.unbound,
      counts_.shadowed);
  for (const std::string& what : unbound_) std::printf("  %s\n", what.c_str());
  // A binder that accepts nothing would pass all of the checks above.
  EXPECT_GT(counts_.forms, 30000u);
  EXPECT_LT(counts_.unbound, 40u);
  EXPECT_LT(counts_.shadowed, 20u);
}

}  // namespace
}  // namespace graphnet
