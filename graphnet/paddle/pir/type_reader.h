// Internal to the reader of PIR: types and symbolic shapes.
#ifndef GRAPHNET_PADDLE_PIR_TYPE_READER_H_
#define GRAPHNET_PADDLE_PIR_TYPE_READER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/pir/scanner.h"

namespace graphnet::pir {

// A type as a meta, which may be null, and an annotation for what the meta cannot hold: "vec", the
// word of another kind of tensor ("cpu_tensor"), or the text of the type itself.
struct Type {
  const ValueMeta* meta = nullptr;
  std::string annotation;
};

class TypeReader {
 public:
  TypeReader(Scanner* scanner, Module* module) : in_(*scanner), module_(*module) {}

  // Returns whether a type is next. The type may be unknown ("<<NULL TYPE>>").
  static bool StartsType(Scanner& in);
  // Reads a type. If `keep`, each size of -1 gets a symbol of its own. Returns false once something
  // failed.
  bool Read(Type* out, bool keep);

  // Reads shapes such as "(shape[S0, 128], data[NULL])" up to `end`, into the sizes of each tensor.
  bool ReadSymbolicShapes(absl::string_view end, std::vector<std::vector<Dim>>* shapes);
  // Reads shapes from the text of an attribute, which stands at `where`.
  bool ParseSymbolicShapes(absl::string_view text, const char* where,
                           std::vector<std::vector<Dim>>* shapes);
  // Replaces the sizes in the tensors of `types` that are not numbers by those of `shapes`, in
  // order, if there are as many tensors; then gives symbols to the sizes that are left.
  void NameSizes(absl::Span<const std::vector<Dim>> shapes, absl::Span<Type> types);

 private:
  bool Read(Type* out, bool keep, int depth);
  bool ReadTensor(absl::string_view constructor, Type* out);
  bool ReadVec(Type* out, bool keep, int depth);
  bool ReadSizes(Scanner& in, std::vector<Dim>* sizes);
  bool ReadSum(Scanner& in, int depth, const SymExpr** out);
  const SymExpr* Symbol(absl::string_view name);
  const SymExpr* NewSymbol();
  const ValueMeta* Named(const ValueMeta* meta, absl::Span<const std::vector<Dim>> shapes,
                         size_t* next);

  Scanner& in_;
  Module& module_;
  size_t num_new_ = 0;
};

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_TYPE_READER_H_
