// Captures branches and loops of a program.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/session.h"
#include "torch/csrc/jit/ir/constants.h"

namespace graphnet::extract {

namespace jit = torch::jit;
using c10::IValue;
using Values = std::vector<IValue>;

namespace {

// Returns true if a body may return either value: tensors with the same meta, or equal numbers.
bool AreAlike(const IValue& a, const IValue& b) {
  if (!IsTensor(a) || !IsTensor(b)) {
    return (a.isNone() || a.isBool() || a.isInt() || a.isDouble()) && a == b;
  }
  const at::Tensor &x = a.toTensor(), &y = b.toTensor();
  return x.scalar_type() == y.scalar_type() && x.device() == y.device() && x.sizes() == y.sizes() &&
         x.layout() == y.layout();
}

}  // namespace

absl::StatusOr<bool> Session::RunCond(const StepPlan& step, Frame* frame,
                                      const at::Tensor& predicate) {
  const int number = num_conds_++;
  Values slots = frame->slots;
  Values yielded[2];
  std::vector<at::Tensor> tensors[2];
  bool can_be = true;
  for (int i = 0; i < 2 && can_be; ++i) {
    recorder_.BeginBody(absl::StrCat(i == 0 ? "true_" : "false_", number));
    // If it fails, the taken branch runs again by itself, and that run reports the error.
    can_be = RunBlock(step.blocks[i], frame).ok();
    if (!can_be) break;
    for (const int slot : step.blocks[i].outputs) {
      const IValue& value = yielded[i].emplace_back(frame->slots[slot]);
      if (IsTensor(value)) {
        tensors[i].push_back(value.toTensor());
        can_be &= !recorder_.HasUnknownSizes(value.toTensor());
      } else {
        can_be &= AreAlike(value, value);
      }
    }
    if (can_be) recorder_.EndBody(tensors[i]);
  }
  can_be = can_be && !tensors[0].empty() && absl::c_equal(yielded[0], yielded[1], AreAlike);
  frame->slots = std::move(slots);  // Undo everything that the branches have set.
  if (!can_be) {
    recorder_.AbandonBodies();
    return false;
  }
  const int taken = predicate.item<bool>() ? 0 : 1;
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < step.out.size(); ++i) {
    IValue value = yielded[taken][i];
    // Use a new tensor, as the other branch does not return this branch's own.
    if (IsTensor(value)) value = results.emplace_back(value.toTensor().detach());
    frame->slots[step.out[i]] = std::move(value);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    for (const at::Tensor& tensor : {tensors[0][i], tensors[1][i]}) {
      // The result may share memory with a tensor from before the branch.
      recorder_.Forget(tensor);
      if (recorder_.IsOfAttribute(tensor)) recorder_.CountAsAttribute(results[i]);
      if (tensor.has_storage() &&
          input_storages_.contains(tensor.storage().unsafeGetStorageImpl())) {
        input_storages_.insert(results[i].storage().unsafeGetStorageImpl());
      }
    }
  }
  recorder_.Cond(predicate, results, PlaceOfStep(step), frame->path);
  return true;
}

absl::StatusOr<bool> Session::RunWhileLoop(const StepPlan& step, Frame* frame) {
  if (recorder_.in_body() || sizes_.any()) return false;
  const BlockPlan& body = step.blocks[0];
  const int64_t trips = frame->slots[step.in[0]].toInt();
  const auto initial = [&](size_t k) -> const IValue& { return frame->slots[step.in[k + 2]]; };
  const auto& formals = step.node->blocks()[0]->inputs();
  std::string index = torchscript::NameOf(formals[0]);
  if (index.empty()) index = "index";
  std::vector<at::Tensor> begin, next;
  std::vector<Recorder::Carried> carried;
  bool can_be = true;
  for (size_t k = 0; k < step.out.size(); ++k) {
    if (!IsTensor(initial(k))) continue;
    begin.push_back(initial(k).toTensor());
    // Use a new tensor, about which nothing is known.
    carried.push_back({begin.back().detach(), torchscript::NameOf(formals[k + 1])});
    can_be &= !recorder_.HasUnknownSizes(begin.back());
  }
  if (!can_be || begin.empty()) return false;
  const std::string name = absl::StrCat("loop_", num_loops_++);
  const Values slots = frame->slots;
  recorder_.BeginBody(name);
  recorder_.BeginTurn(index, carried);
  frame->slots[body.inputs[0]] = sizes_.BeginLoop(index);
  for (size_t k = 0, tensor = 0; k < step.out.size(); ++k) {
    frame->slots[body.inputs[k + 1]] =
        IsTensor(initial(k)) ? IValue(carried[tensor++].tensor) : initial(k);
  }
  // If it fails, the first iteration runs again by itself, and that run reports the error.
  can_be = RunBlock(body, frame).ok();
  for (size_t k = 0; can_be && k < step.out.size(); ++k) {
    const IValue& value = frame->slots[body.outputs[k + 1]];
    can_be = AreAlike(slots[step.in[k + 2]], value);
    if (can_be && IsTensor(value)) next.push_back(value.toTensor());
  }
  for (const at::Tensor& tensor : next) can_be &= !recorder_.HasUnknownSizes(tensor);
  if (can_be) recorder_.EndBody(next);
  can_be &= sizes_.EndLoop();
  numbers_.clear();
  frame->slots = slots;
  if (!can_be) {
    recorder_.AbandonBodies();
    return false;
  }
  is_replaying_ = true;
  const absl::Cleanup record = [this] { is_replaying_ = false; };
  absl::Status status = RunTurns(step, frame);
  if (!status.ok()) {
    recorder_.AbandonBodies();
    return status;
  }
  std::vector<at::Tensor> results;
  for (const int slot : step.out) {
    IValue& value = frame->slots[slot];
    if (IsTensor(value)) value = results.emplace_back(value.toTensor().detach());
  }
  recorder_.WhileLoop(absl::StrCat(name, "_test"), trips, begin, results, PlaceOfStep(step),
                      frame->path);
  return true;
}

absl::Status Session::RunLoop(const StepPlan& step, Frame* frame) {
  const jit::Node& node = *step.node;
  const auto always = jit::toIValue(node.blocks()[0]->outputs()[0]);
  const bool counts =
      frame->slots[step.in[1]].toBool() && always && always->isBool() && always->toBool();
  if (counts && !is_replaying_ && frame->slots[step.in[0]].toInt() > options_.max_unroll) {
    ASSIGN_OR_RETURN(const bool done, RunWhileLoop(step, frame));
    if (done) return absl::OkStatus();
  }
  return RunTurns(step, frame);
}

absl::Status Session::RunTurns(const StepPlan& step, Frame* frame) {
  const BlockPlan& body = step.blocks[0];
  const int64_t trips = frame->slots[step.in[0]].toInt();
  bool proceed = frame->slots[step.in[1]].toBool();
  Values carried;
  for (size_t i = 2; i < step.in.size(); ++i) carried.push_back(frame->slots[step.in[i]]);
  size_t calls = recorder_.num_calls();
  for (int64_t i = 0; i < trips && proceed; ++i) {
    if (++steps_ > options_.max_steps) {
      return torchscript::ErrorAtNode(
          *step.node, absl::StrCat("more than ", options_.max_steps, " steps: an endless loop?"));
    }
    if (i > 0 && i % options_.max_unroll == 0 && recorder_.num_calls() > calls) {
      calls = recorder_.num_calls();
      RETURN_IF_ERROR(
          Break(step, BreakReason::kLongLoop, "prim::Loop", "", {}, NoOperation).status());
    }
    frame->slots[body.inputs[0]] = i;
    for (size_t k = 0; k < carried.size(); ++k)
      frame->slots[body.inputs[k + 1]] = std::move(carried[k]);
    RETURN_IF_ERROR(RunBlock(body, frame));
    proceed = frame->slots[body.outputs[0]].toBool();
    for (size_t k = 0; k < carried.size(); ++k) carried[k] = frame->slots[body.outputs[k + 1]];
  }
  for (size_t k = 0; k < carried.size(); ++k) frame->slots[step.out[k]] = std::move(carried[k]);
  return absl::OkStatus();
}

}  // namespace graphnet::extract
