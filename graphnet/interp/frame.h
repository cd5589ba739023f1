// Frame: one run of a program.
#ifndef GRAPHNET_INTERP_FRAME_H_
#define GRAPHNET_INTERP_FRAME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ATen/TensorIndexing.h"
#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/program.h"

namespace graphnet::interp {

class Frame {
 public:
  // `observer` may be null. `iterations`: how many more of loops there may be, all together.
  Frame(const Program& program, c10::Device device, const Observer* observer, int64_t* iterations)
      : program_(program),
        device_(device),
        observer_(observer),
        iterations_(iterations),
        slots_(program.num_slots) {
    stack_.reserve(kMaxDirectArguments);
  }

  // One value for each input of the program. Adds what the program returns to
  // `results`: the elements of its tuple, and out of these all tensors and numbers
  // when `flat`.
  absl::Status Run(std::vector<c10::IValue> inputs, bool flat, std::vector<c10::IValue>* results);

 private:
  void Execute(const Instruction& instruction);
  c10::IValue Make(const Source& source);
  void CallDirect(const Step& step, const Operand* operand, const Operand* end);
  c10::IValue MakeAggregate(const Source& source);
  // With the arguments on the stack.
  void Call(const Instruction& instruction, c10::Device device);

  // Subscripts.
  static at::Tensor View(const at::Tensor& tensor, const Instruction& instruction);
  void GetItem(const Instruction& instruction);
  // Integers, slices, None and Ellipsis, one view after the other; false if there
  // is anything else.
  bool GetView(const at::Tensor& tensor, const Source& index, c10::IValue* result);
  c10::IValue GetElements(const c10::IValue& sequence, const Source& index);
  void SetItem(const Instruction& instruction);
  std::vector<at::indexing::TensorIndex> Indices(const Source& source);
  at::indexing::TensorIndex Index(const Source& source);
  std::optional<c10::SymInt> Bound(const Source& source);

  void Return(const Source& source);
  void Return(c10::IValue value, bool is_element);

  // Higher-order calls.
  std::vector<c10::IValue> CallBody(const Program& body, std::vector<c10::IValue> inputs);
  void Cond(const Instruction& instruction);
  void While(const Instruction& instruction);
  void Vmap(const Instruction& instruction);
  void Map(const Instruction& instruction);
  void Scan(const Instruction& instruction);
  void Region(const Instruction& instruction);

  // On the meta device (frame_meta.cc): with data where all operands have it, else
  // with shapes alone.
  void CallForShapes(const Instruction& instruction);
  c10::IValue GetItemForShapes(const at::Tensor& tensor,
                               const std::vector<at::indexing::TensorIndex>& indices);

  const Program& program_;
  const c10::Device device_;
  const Observer* observer_;
  int64_t* iterations_;
  std::vector<c10::IValue> slots_;
  torch::jit::Stack stack_;
  bool flat_ = false;
  std::vector<c10::IValue>* results_ = nullptr;
  absl::Status status_;  // what a body failed with
};

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_FRAME_H_
