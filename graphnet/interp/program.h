// Program: a lowered graph as a table of instructions over slots.
#ifndef GRAPHNET_INTERP_PROGRAM_H_
#define GRAPHNET_INTERP_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/ivalue.h"
#include "ATen/core/stack.h"
#include "absl/status/status.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/direct_call.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/values.h"
#include "graphnet/ops/lowering.h"

namespace graphnet::interp {

inline constexpr uint32_t kNoSlot = ~uint32_t{0};

// The source of an argument: a constant, the value in a slot, or a structure.
struct Source {
  enum class Kind : uint8_t { kConstant, kSlot, kList, kTuple, kDict, kSlice, kEllipsis };
  Kind kind = Kind::kConstant;
  bool last_use = false;  // the value may be moved out of its slot
  uint32_t slot = kNoSlot;
  Wanted wanted;
  c10::IValue constant;
  std::vector<Source> elements;
};

// A part of a subscript of a tensor whose numbers are all written out.
struct ViewStep {
  enum class Kind : uint8_t { kSlice, kSelect, kUnsqueeze };
  Kind kind = Kind::kSlice;
  bool from_end = false;  // after an ellipsis: `dim` counts dimensions back from the end
  int64_t dim = 0;
  std::optional<int64_t> start, stop;  // of a slice; `start` is what select takes
  int64_t step = 1;
};

struct Program;

struct Instruction {
  enum class Kind : uint8_t {
    kOperator,   // through the dispatcher
    kOperation,  // one of TorchScript's own operators
    kBuiltin,
    kGetItem,
    kSetItem,
    kCond,
    kWhile,
    kVmap,
    kMap,
    kScan,
    kRegion,  // a body run once, in a mode of the thread
    kOutput,
  };
  Kind kind = Kind::kOperator;
  uint32_t result = kNoSlot;
  std::vector<Source> args;
  std::optional<c10::OperatorHandle> op;  // of the dispatcher, however it is called
  // True for calls on lists, dicts and attributes: they store, inspect or pass on their operands
  // whatever device these are on.
  bool is_container_call = false;
  bool writes_containers = false;      // its operands may change
  const DirectCall* direct = nullptr;  // calls `op` if there is a direct call for its signature
  bool is_composite = false;           // see no_grad.h
  mutable std::optional<torch::jit::Operation> operation;  // calling it is not const
  Builtin builtin;
  std::vector<const Program*> bodies;
  BodyRunner runner;  // runs the body of a kRegion instead of its program, unless it is null
  std::vector<ViewStep> views;    // kGetItem: the views that it makes of a tensor, if known
  int64_t num_subscripts = 0;     // dimensions that `views` index
  const Node* origin = nullptr;   // the node of the original graph that it comes from
  std::vector<const Node*> ends;  // the nodes of the original graph whose value is the result
};

// An operand of a direct call: a constant, a slot that holds a tensor, or any source.
struct Operand {
  const c10::IValue* constant = nullptr;
  const Source* source = nullptr;
  uint32_t tensor_slot = kNoSlot;
};

// The hot fields of an instruction, close together in memory: most nodes of real
// graphs need no others in a run.
struct Step {
  const DirectCall* direct = nullptr;  // null: the instruction says how to run it
  uint32_t result = kNoSlot;
  uint32_t operands_end = 0;  // in Program::operands; they begin at the previous step's end
  uint32_t dead_end = 0;      // in Program::dead
  bool is_composite = false;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<Step> steps;  // one for each instruction
  std::vector<Operand> operands;
  std::vector<uint32_t> dead;    // slots to clear after the step
  std::vector<uint32_t> inputs;  // slots
  // Nodes of the original graph whose value is an input, such as x.to(dtype) without
  // effect, and the index of that input.
  std::vector<std::pair<const Node*, size_t>> passed_on;
  size_t num_slots = 0;
};

using Programs = std::map<const Graph*, std::unique_ptr<Program>>;

// Fills the program of `graph`, a graph of `lowered`. All graphs have an entry in
// `programs`, to which calls of bodies refer. May throw what LibTorch throws.
absl::Status CompileGraph(const Graph& graph, const LoweredModule& lowered,
                          const CompileOptions& options, const Programs& programs);

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_PROGRAM_H_
