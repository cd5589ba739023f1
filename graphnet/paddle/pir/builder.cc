#include "graphnet/paddle/pir/builder.h"

#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet::pir {
namespace {

constexpr size_t kMaxBaseBytes = 200;

std::string BaseName(const Node& node) {
  absl::string_view target = node.target();
  if (node.is_output()) target = "output";
  if (!node.is_placeholder()) target = target.substr(target.rfind('.') + 1);
  std::string name;
  for (const char c : target) {
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
    name.insert(0, "_");
  }
  if (name.size() > kMaxBaseBytes) name.resize(kMaxBaseBytes);
  return name;
}

}  // namespace

bool MadeSymbols::Has(const SymExpr* expr) const {
  if (expr == nullptr || expr->kind != SymExpr::Kind::kSymbol) return false;
  const Symbol* symbol = module_.FindSymbol(expr->name);
  return symbol != nullptr && symbol >= module_.symbols().data() + first_;
}

const SymExpr* MadeSymbols::New(Module* to) {
  std::string name;
  do {
    name = absl::StrCat("D", next_++);
  } while (module_.FindSymbol(name) != nullptr || to->FindSymbol(name) != nullptr);
  to->AddSymbol(name, std::nullopt);
  return to->SymSymbol(name);
}

void DeclareSymbols(const SymExpr* expr, Module* module) {
  if (expr == nullptr) return;
  SharedWalk<const SymExpr*> walk;
  const auto declare = [&](const SymExpr* part) {
    if (part->kind == SymExpr::Kind::kSymbol && module->FindSymbol(part->name) == nullptr)
      module->AddSymbol(part->name, std::nullopt);
  };
  static_cast<void>(walk.Run(expr, SymParts(), declare));  // an expression does not hold itself
}

void DeclareSymbols(const ValueMeta* meta, Module* module) {
  if (meta == nullptr) return;
  for (const ValueMeta* element : meta->elements) DeclareSymbols(element, module);
  if (meta->tensor == nullptr) return;
  for (const Dim& dim : meta->tensor->shape) DeclareSymbols(dim.expr, module);
}

void NameNodes(Module* module) {
  for (Graph* graph : module->graphs()) {
    UncheckedBuilder builder(graph);
    absl::flat_hash_set<std::string> taken;
    absl::flat_hash_map<std::string, size_t> next;
    for (Node* node : graph->nodes()) {
      const std::string base = BaseName(*node);
      std::string name = base;
      while (!taken.insert(name).second) name = absl::StrCat(base, "_", ++next[base]);
      builder.SetName(node, module->InternString(name));
    }
  }
}

}  // namespace graphnet::pir
