// Internal: turns the tensors of a TorchScript program into attributes of a module,
// and its types into the IR's.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet::torchscript {

// Returns the type as TorchScript writes it ("Optional[Tensor]"). A named tuple is
// written as a plain tuple, and a future as the type of its value.
std::string TypeText(const c10::Type& type);

// Fills `meta` with what a tensor type says; returns false if it says nothing.
// `shape` receives the sizes that `meta` points to.
bool MetaOfType(const c10::TensorType& type, TensorMeta* meta, std::vector<Dim>* shape);

// Returns torch.Tensor.stride; empty if the tensor is contiguous, empty, not strided or not dense.
std::vector<int64_t> StridesOf(const at::Tensor& tensor);

// Describes how to draw a tensor like `tensor` (inputs/weights.h). It must be dense and may be on
// any device but meta.
void DescribeValues(const at::Tensor& tensor, DrawSpec* spec, std::vector<Argument>* data);

// Adds tensors to a sample's module. A tensor with several names is added once,
// so that a write through one name shows in all.
class AttributeTable {
 public:
  // Stores real values in `sample->weights` if `weights` is true. If `share` is true too, they
  // share the memory of the tensors. `sample` must outlive this.
  AttributeTable(Sample* sample, bool weights, bool share)
      : sample_(sample), weights_(weights), shares_(share) {}

  // Lets a tensor that lies in a slot of a module have the slot's name and kind, however a program
  // reaches it: by another slot, or by a list of tensors. Of several slots, a parameter comes
  // first, then the one that a walk over the modules meets first, as in PyTorch. A tensor is known
  // by its view of its memory.
  void NameSlots(const c10::intrusive_ptr<c10::ivalue::Object>& self);
  // Keeps the name of an input from attributes, as values have one name each: an attribute of that
  // name gets an underscore behind it. The elements of a list or dict are called "input.0" and
  // "input.key", so that a submodule of that name gets one, too.
  void ReserveInput(absl::string_view name, bool has_elements);
  // Returns the name of the attribute that holds `tensor`: the name it has already, that of its
  // slot, or `name` (with a suffix if taken). Refuses tensors without plain storage
  // (sparse, quantized, undefined …).
  absl::StatusOr<absl::string_view> Add(const at::Tensor& tensor, absl::string_view name,
                                        absl::string_view annotation);
  // Adds a constant under the next free `_tensor_constant<i>`.
  absl::StatusOr<absl::string_view> AddConstant(const at::Tensor& tensor);

  // Returns the names of the slots of parameters that no attribute has, sorted.
  std::vector<std::string> UnreadParameters() const;

  // Names two attributes that overlap in memory but are not the same view ("a and b"); empty
  // if there are none. A write to one of them would not show in the other.
  const std::string& overlap() const { return overlap_; }

 private:
  void FindOverlap(const at::Tensor& tensor, absl::string_view name);
  // Returns whether the name is that of an input or of an element of one.
  bool BelongsToInput(absl::string_view name) const;

  // The bytes of a storage that an attribute covers.
  struct Range {
    size_t begin, end;  // bytes in the storage
    absl::string_view name;
  };
  Sample* sample_;
  bool weights_;
  bool shares_;
  int num_constants_ = 0;
  struct Slot {
    std::string name;
    absl::string_view annotation;
  };
  absl::flat_hash_map<std::string, Slot> slots_;  // by view
  absl::flat_hash_set<std::string> slot_names_;
  absl::flat_hash_map<std::string, bool> inputs_;  // whether they have elements
  absl::flat_hash_map<std::string, absl::string_view> by_view_;
  absl::flat_hash_map<const c10::StorageImpl*, std::vector<Range>> ranges_;
  std::string overlap_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_
