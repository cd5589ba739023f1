#include "graphnet/formats/torchscript/code_check.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Levels of recursion to compile one definition and all that it mentions. With a
// stack of 8 MiB, a chain of 1,000 functions works and one of 2,000 overflows.
constexpr uint64_t kMaxCompileDepth = 1000;
// Leaves of a NamedTuple: 2^10 take 0.2 s, 2^14 take 36 s.
constexpr uint64_t kMaxNamedTupleLeaves = 512;

}  // namespace

absl::Status CodeCheck::AddFile(absl::string_view entry, absl::string_view text) {
  files_.emplace_back(entry, text);
  return CheckFile(entry, text);
}

absl::Status CodeCheck::Finish() {
  RETURN_IF_ERROR(CheckDepth());
  RETURN_IF_ERROR(CountNamedTupleLeaves());
  sizes_known_ = true;
  for (const auto& [entry, text] : files_) {
    RETURN_IF_ERROR(CheckFile(entry, text));
  }
  return absl::OkStatus();
}

int CodeCheck::Resolve(absl::string_view qualified_name) const {
  for (size_t end = 0; end < qualified_name.size();) {
    end = std::min(qualified_name.find('.', end + 1), qualified_name.size());
    const auto it = index_.find(qualified_name.substr(0, end));
    if (it != index_.end()) return it->second;
  }
  return -1;
}

bool CodeCheck::MayBeNamedTuple(absl::string_view qualified_name) const {
  if (!sizes_known_) return true;
  const auto it = index_.find(qualified_name);
  return it != index_.end() && definitions_[static_cast<size_t>(it->second)].is_named_tuple;
}

// LibTorch compiles a definition when it meets its first mention, in the middle
// of the definition that mentions it. The order of mentions is not known here.
// Therefore the depths of definitions that mention each other are added up
// (Tarjan's strongly connected components), and otherwise the longest chain
// counts.
absl::Status CodeCheck::CheckDepth() {
  const int count = static_cast<int>(definitions_.size());
  std::vector<std::vector<int>> mentions(count);
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : definitions_[i].mentions) {
      const int target = Resolve(name);
      if (target >= 0 && target != i) mentions[i].push_back(target);
    }
  }

  constexpr int kUnseen = -1;
  std::vector<int> order(count, kUnseen);
  std::vector<int> low(count, 0);
  std::vector<bool> settled(count, false);
  std::vector<uint64_t> depth(count, 0);
  std::vector<int> open;
  std::vector<std::pair<int, size_t>> path;
  int seen = 0;
  for (int root = 0; root < count; ++root) {
    if (order[root] != kUnseen) continue;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const auto [i, next] = path.back();
      if (next == 0) {
        order[i] = low[i] = seen++;
        open.push_back(i);
      }
      if (next < mentions[i].size()) {
        ++path.back().second;
        const int target = mentions[i][next];
        if (order[target] == kUnseen) {
          path.emplace_back(target, 0);
        } else if (!settled[target]) {
          low[i] = std::min(low[i], order[target]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        low[path.back().first] = std::min(low[path.back().first], low[i]);
      }
      if (low[i] != order[i]) continue;
      // The component of `i` is complete: it is the end of `open`.
      auto begin = open.end() - 1;
      while (*begin != i) --begin;
      uint64_t own = 0;
      uint64_t deepest = 0;
      for (auto member = begin; member != open.end(); ++member) {
        own += definitions_[*member].depth;
        for (int target : mentions[*member]) {
          if (settled[target]) deepest = std::max(deepest, depth[target]);
        }
      }
      for (auto member = begin; member != open.end(); ++member) {
        settled[*member] = true;
        depth[*member] = own + deepest;
      }
      if (own + deepest > kMaxCompileDepth) {
        return ErrorAt(definitions_[i].entry, definitions_[i].line, 0,
                       absl::StrCat("compiling this and everything that it mentions takes "
                                    "more than ",
                                    kMaxCompileDepth, " levels of recursion"));
      }
      open.erase(begin, open.end());
    }
  }
  return absl::OkStatus();
}

// A NamedTuple's type contains the types of its fields, written out.
absl::Status CodeCheck::CountNamedTupleLeaves() {
  std::vector<bool> done(definitions_.size(), false);
  for (size_t root = 0; root < definitions_.size(); ++root) {
    // After CheckDepth, chains of definitions are short.
    const auto count = [&](const auto& self, int i) -> void {
      Definition& definition = definitions_[i];
      if (done[i]) return;
      done[i] = true;  // set first because of cycles, which LibTorch refuses
      for (const std::string& name : definition.field_types) {
        const int field = Resolve(name);
        if (field < 0) continue;
        self(self, field);
        definition.leaves = Capped(definition.leaves + 2 * definitions_[field].leaves);
      }
    };
    count(count, static_cast<int>(root));
  }
  for (const Definition& definition : definitions_) {
    if (definition.is_named_tuple && definition.leaves > kMaxNamedTupleLeaves) {
      return ErrorAt(definition.entry, definition.line, 0,
                     absl::StrCat("a NamedTuple of more than ", kMaxNamedTupleLeaves, " leaves"));
    }
  }
  uint64_t most = 1;
  for (const auto& [name, i] : index_) {
    const Definition& definition = definitions_[i];
    if (!definition.is_named_tuple) continue;
    uint64_t& leaves = named_tuples_[name.substr(name.rfind('.') + 1)];
    leaves = std::max(leaves, definition.leaves);
    most = std::max(most, leaves);
  }
  max_annotation_ *= most;  // until here, a NamedTuple counted as one leaf
  return absl::OkStatus();
}

absl::Status CheckTypeText(absl::string_view type) {
  // Checks the type as that of an attribute.
  const std::string text = absl::StrCat("class A:\n  a : ", type, "\n");
  if (!absl::StrContains(type, '\n') && !absl::StrContains(type, '=') &&
      CodeCheck({}).AddFile("code/type.py", text).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("not a plain type: ", Printable(type)));
}

}  // namespace graphnet
