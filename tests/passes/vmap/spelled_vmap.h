// Short names in the texts of tests for the calls that open and close levels of vmap.
#ifndef TESTS_PASSES_VMAP_SPELLED_VMAP_H_
#define TESTS_PASSES_VMAP_SPELLED_VMAP_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// INC(…), ADD(…), REM(…) and DEC() stand for the calls of one spelling.
inline std::string Spelled(absl::string_view text, bool predispatch) {
  const std::string prefix = predispatch ? "torch._functorch.predispatch." : "torch._C._functorch.";
  return absl::StrReplaceAll(
      text, {{"LOAD(", predispatch ? "torch._functorch.predispatch.lazy_load_decompositions("
                                   : "torch._functorch.vmap.lazy_load_decompositions("},
             {"INC(", absl::StrCat(prefix, "_vmap_increment_nesting(")},
             {"ADD(", absl::StrCat(prefix, "_add_batch_dim(")},
             {"REM(", absl::StrCat(prefix, "_remove_batch_dim(")},
             {"DEC(", absl::StrCat(prefix, "_vmap_decrement_nesting(")}});
}

}  // namespace graphnet

#endif  // TESTS_PASSES_VMAP_SPELLED_VMAP_H_
