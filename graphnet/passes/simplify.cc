#include "graphnet/passes/simplify.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {
namespace {

// A rule for a method or function of one value and literals that is idempotent.
std::string Repeated(absl::string_view name, absl::string_view call) {
  const auto at = [&](absl::string_view value) {
    std::string text(call);
    text.replace(text.find("%x"), 2, std::string(value));
    return text;
  };
  return absl::StrCat(
      "rule ", name, "\ngraph @pattern(%x) {\n  %a = ", at("%x"), "\n  %b = ", at("%a"),
      "\n  return %b\n}\ngraph @replacement(%x) {\n  %b = ", at("%x"), "\n  return %b\n}\n");
}

// A rule in which `inverse` undoes `call`; both take the literals %p and %q.
std::string Undone(absl::string_view name, absl::string_view parameters, absl::string_view call,
                   absl::string_view inverse) {
  return absl::StrCat("rule ", name, "\ngraph @pattern(%x, ", parameters, ") {\n  %a = ", call,
                      "\n  %b = ", inverse,
                      "\n  return %b\n}\ngraph @replacement(%x) {\n  return %x\n}\n");
}

const std::vector<RewriteRule>& Rules() {
  static const auto* const rules = [] {
    std::string text;
    for (const absl::string_view method :
         {"contiguous", "float", "half", "double", "bfloat16", "long", "int", "bool"}) {
      text += Repeated(absl::StrCat("repeated ", method), absl::StrCat(".", method, "(%x)"));
    }
    for (const absl::string_view dtype :
         {"float32", "float16", "bfloat16", "float64", "int64", "bool"}) {
      text +=
          Repeated(absl::StrCat("repeated to ", dtype), absl::StrCat(".to(%x, torch.", dtype, ")"));
    }
    text += Repeated("repeated relu", "torch.relu(%x)");
    text += Repeated("repeated relu", "torch.nn.functional.relu(%x)");
    text += Repeated("repeated relu", "torch.nn.functional.relu(%x, inplace = False)");
    text += Repeated("repeated flatten", "torch.flatten(%x, 1)");
    text += Repeated("repeated flatten", ".flatten(%x, 1)");
    const absl::string_view two = "%p as literal, %q as literal";
    text +=
        Undone("transpose there and back", two, ".transpose(%x, %p, %q)", ".transpose(%a, %p, %q)");
    text +=
        Undone("transpose there and back", two, ".transpose(%x, %p, %q)", ".transpose(%a, %q, %p)");
    text +=
        Undone("unsqueeze and squeeze", "%p as literal", ".unsqueeze(%x, %p)", ".squeeze(%a, %p)");
    absl::StatusOr<std::vector<RewriteRule>> parsed = ParseRules(text, "simplify.cc");
    CHECK(parsed.ok());
    return new std::vector<RewriteRule>(*std::move(parsed));
  }();
  return *rules;
}

}  // namespace

absl::StatusOr<bool> Simplify(Module* module, PassRun& run) {
  std::vector<size_t> counts;
  RETURN_IF_ERROR(ApplyRules(Rules(), module, &counts));
  bool changed = false;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) run.Note(Rules()[i].name, counts[i]);
    changed |= counts[i] > 0;
  }
  return changed;
}

namespace {

const RegisteredPass kSimplifyPass("simplify", "simplify.h", Simplify);

}  // namespace

}  // namespace graphnet
