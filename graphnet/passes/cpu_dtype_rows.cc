#include "graphnet/passes/cpu_dtype_rows.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "graphnet/passes/cpu_dtypes.h"

namespace graphnet {

const CpuRow* FindCpuRow(absl::string_view name) {
  static const auto* const table = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, CpuRow>;
    for (const absl::string_view line : absl::StrSplit(CpuDTypesText(), '\n')) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() < 3 || words[0] == "#") continue;
      CpuRow& row = (*made)[words[0]];
      const auto keep = absl::c_find(words, "keep");
      if (keep != words.end()) row.operands.assign(keep + 1, words.end());
      row.makes_float32 |= words[1] == "=" && words[2] == "F";
      row.makes_floats |= words[1] == "=" && words[2] == "f";
      for (size_t i = 1; i < words.size(); ++i) {
        row.lacks_bfloat16 |= words[i] == "bf16";
        row.lacks_float16 |= words[i] == "f16";
        row.lacks_float64 |= words[i] == "f64";
        if (words[i - 1] == ">") row.kinds = words[i];
      }
    }
    return made;
  }();
  const auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace graphnet
