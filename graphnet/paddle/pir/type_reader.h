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

// What a type says: a meta, null if it says none, and what the meta does not: "vec", the word of
// another tensor ("cpu_tensor"), or the type itself.
struct Type {
  const ValueMeta* meta = nullptr;
  std::string annotation;
};

class TypeReader {
 public:
  TypeReader(Scanner* scanner, Module* module) : in_(*scanner), module_(*module) {}

  // Whether a type is next, which may be none.
  static bool StartsType(Scanner& in);
  // A size of -1 gets a symbol of its own if it is to be kept. False once something failed.
  bool Read(Type* out, bool keep);

  // "(shape[S0, 128], data[NULL])" up to `end`: the sizes of each tensor.
  bool ReadSymbolicShapes(absl::string_view end, std::vector<std::vector<Dim>>* shapes);
  // Ditto of the text of an attribute, which stands at `where`.
  bool ParseSymbolicShapes(absl::string_view text, const char* where,
                           std::vector<std::vector<Dim>>* shapes);
  // Puts the sizes in the place of those that are no numbers in the tensors of `types`, in order,
  // if there are as many tensors; then names what is left.
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
