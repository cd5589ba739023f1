// The annotations by which torch.fx prints what is known of a value: "f32[2, s0][8, 1]cuda:0".
#ifndef GRAPHNET_FORMATS_POSTED_ANNOTATION_H_
#define GRAPHNET_FORMATS_POSTED_ANNOTATION_H_

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet::posted {

// What an annotation says. All is unknown if it is neither a tensor nor a number.
struct Annotation {
  const TensorMeta* tensor = nullptr;  // of the module
  bool is_number = false;              // "Sym(s0)"
  const SymExpr* number = nullptr;     // its value; null if unknown
  // True if strides are given that are not those of a contiguous tensor.
  bool is_strided = false;
};

// Reads an annotation, and declares the symbols in it. O(size of the text).
Annotation ReadAnnotation(absl::string_view text, Module* module);

// Returns "f32" for kFloat32; empty if PyTorch has no such name.
absl::string_view AbbreviationOf(DType dtype);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_ANNOTATION_H_
