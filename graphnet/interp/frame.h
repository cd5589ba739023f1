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

class Frame;

// State that the frames of a run and of the bodies that it calls share.
struct RunState {
  int64_t iterations = 0;       // iterations that are left for all loops together
  bool recover_errors = false;  // RunOptions
  bool reads_data = false;      // RunOptions
  // On the meta device: the open frames, and the memory that unknown data was written to.
  std::vector<Frame*> frames;
  std::vector<c10::Storage> forgotten;
};

class Frame {
 public:
  // `observer` and `recover` may be null.
  Frame(const Program& program, c10::Device device, const Observer* observer,
        const Recover* recover, RunState* state)
      : program_(program),
        device_(device),
        observer_(observer),
        recover_(recover),
        state_(*state),
        slots_(program.num_slots) {
    stack_.reserve(kMaxDirectArguments);
    state_.frames.push_back(this);
  }
  ~Frame() { state_.frames.pop_back(); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Runs the program on one value for each input. Adds the values that it returns to
  // `results`: the elements of its tuple; if `flat`, all tensors and numbers in them.
  absl::Status Run(std::vector<c10::IValue> inputs, bool flat, std::vector<c10::IValue>* results);

 private:
  void Execute(const Instruction& instruction);
  c10::IValue Make(const Source& source);
  void CallDirect(const Step& step, const Operand* operand, const Operand* end);
  c10::IValue MakeAggregate(const Source& source);
  // Calls an operator or builtin, whose arguments are on the stack.
  void Call(const Instruction& instruction, c10::Device device);

  // Subscripts.
  static at::Tensor View(const at::Tensor& tensor, const Instruction& instruction);
  void GetItem(const Instruction& instruction);
  // Makes one view after the other for integers, slices, None and Ellipsis; returns false if
  // there is anything else in `index`.
  bool GetView(const at::Tensor& tensor, const Source& index, c10::IValue* result);
  c10::IValue GetElements(const c10::IValue& sequence, const Source& index);
  void SetItem(const Instruction& instruction);
  std::vector<at::indexing::TensorIndex> Indices(const Source& source);
  at::indexing::TensorIndex Index(const Source& source);
  std::optional<c10::SymInt> Bound(const Source& source);

  void Return(const Source& source);
  void Return(c10::IValue value, bool is_element, int depth = 0);

  // Higher-order calls.
  std::vector<c10::IValue> CallBody(const Program& body, std::vector<c10::IValue> inputs);
  void Cond(const Instruction& instruction);
  void While(const Instruction& instruction);
  void Vmap(const Instruction& instruction);
  void Map(const Instruction& instruction);
  void Scan(const Instruction& instruction);
  void Region(const Instruction& instruction);

  // On the meta device (frame_meta.cc): computes with data if all operands have it, else
  // with shapes alone.
  void ExecuteForShapes(const Instruction& instruction);
  void CallForShapes(const Instruction& instruction);
  void CallContainer(const Instruction& instruction);
  void MakeForShapes(const Instruction& instruction, const std::vector<c10::IValue>& arguments);
  void CallOnStandIns(const Instruction& instruction, const std::vector<c10::IValue>& arguments);
  c10::IValue GetItemForShapes(const at::Tensor& tensor,
                               const std::vector<at::indexing::TensorIndex>& indices);
  // Records that unknown data was written to a tensor: the data of all tensors in its memory is
  // unknown from now on.
  void Forget(const at::Tensor& written);
  // Continues without the value of an instruction, or with the value that `recover_` returns.
  void LeaveOut(const Instruction& instruction);
  bool TakesUnknown(const Instruction& instruction) const;
  bool IsUnknown(uint32_t slot) const { return slot < unknown_.size() && unknown_[slot]; }

  const Program& program_;
  const c10::Device device_;
  const Observer* observer_;
  const Recover* recover_;
  RunState& state_;
  std::vector<c10::IValue> slots_;
  torch::jit::Stack stack_;
  bool flat_ = false;
  std::vector<c10::IValue>* results_ = nullptr;
  int64_t returned_ = 0;
  absl::Status status_;        // the error of a body
  absl::Status left_out_;      // why the first instruction was left out, if one was
  std::vector<bool> unknown_;  // by slot; empty: all are known
};

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_FRAME_H_
