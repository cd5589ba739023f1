// The tensors of a TorchScript program as attributes of a module, and its
// scalar types in the IR's terms.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/jit_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet::torchscript {

// The type as one writes it in TorchScript ("Optional[Tensor]"), a named tuple
// as the tuple that it is.
std::string TypeText(const c10::Type& type);

// What a tensor type says; false if it says nothing. `shape` holds the sizes
// that `meta` points to.
bool MetaOfType(const c10::TensorType& type, TensorMeta* meta, std::vector<Dim>* shape);

// As torch.Tensor.stride; empty if it lies in memory dimension after dimension, or has gaps.
std::vector<int64_t> StridesOf(const at::Tensor& tensor);

// How a tensor like `tensor` (dense, on any device but meta) is drawn (inputs/weights.h).
void DescribeValues(const at::Tensor& tensor, DrawSpec* spec, std::vector<Argument>* data);

// Adds tensors to a sample's module, each once however many names it has: what
// is written to one of them shows in all.
class AttributeTable {
 public:
  // Real values go to `sample->weights` if `weights`; they lie in the memory of the tensors if
  // `share`. `sample` must outlive this.
  AttributeTable(Sample* sample, bool weights, bool share)
      : sample_(sample), weights_(weights), shares_(share) {}

  // The name of the attribute that holds `tensor`: `name` unless the tensor has
  // one already. Fails on tensors without plain storage (sparse, quantized,
  // undefined …).
  absl::StatusOr<absl::string_view> Add(const at::Tensor& tensor, absl::string_view name,
                                        absl::string_view annotation);
  // Adds a constant under the next free `_tensor_constant<i>`.
  absl::StatusOr<absl::string_view> AddConstant(const at::Tensor& tensor);

  // Two attributes that overlap in memory without being one, "a and b"; empty: there are
  // none. What is written to one of them would not show in the other.
  const std::string& overlap() const { return overlap_; }

 private:
  void FindOverlap(const at::Tensor& tensor, absl::string_view name);

  struct Range {
    size_t begin, end;  // bytes
    absl::string_view name;
  };
  Sample* sample_;
  bool weights_;
  bool shares_;
  int num_constants_ = 0;
  absl::flat_hash_map<std::string, absl::string_view> by_view_;
  absl::flat_hash_map<const c10::StorageImpl*, std::vector<Range>> ranges_;
  std::string overlap_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_ATTRIBUTES_H_
