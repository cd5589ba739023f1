// Writes a recurrent layer as its steps, as torch/_decomp/decompositions.py does.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/expansion.h"

namespace graphnet::expansion {
namespace {

constexpr int64_t kMaxSteps = 1024;  // of all layers and directions

// The weights of one layer in one direction. None for what it does not have.
struct Cell {
  Argument input, hidden;            // [gates * size, …]
  Argument input_bias, hidden_bias;  // [gates * size]
  Argument projection;               // [projected size, size]
  int64_t size = 0;                  // of the hidden state before a projection
};

enum class Kind { kLstm, kGru, kTanh, kRelu };

// The state before or after a step: the hidden state, and the cell state of an LSTM.
struct State {
  Argument hidden, cell;
};

class Layers {
 public:
  Layers(Steps& s, Kind kind) : s_(s), kind_(kind) {}

  absl::StatusOr<Results> Expand() {
    RETURN_IF_ERROR(Read());
    const bool is_batch_first = s_.IsTrue("batch_first");
    Argument x = s_["input"];
    if (is_batch_first) x = s_.Aten("transpose.int", {x, 0, 1});
    std::vector<Argument> hidden, cells;
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      std::vector<Argument> outputs;
      for (int64_t direction = 0; direction < num_directions_; ++direction) {
        const int64_t i = layer * num_directions_ + direction;
        State state;
        outputs.push_back(Run(x, i, /*is_reverse=*/direction == 1, &state));
        hidden.push_back(state.hidden);
        cells.push_back(state.cell);
      }
      x = outputs.size() == 1 ? outputs[0]
                              : s_.Aten("cat.default", {s_.List(std::move(outputs)), 2});
    }
    if (is_batch_first) x = s_.Aten("transpose.int", {x, 0, 1});
    Results results = {x, s_.Aten("stack.default", {s_.List(std::move(hidden))})};
    if (kind_ == Kind::kLstm)
      results.push_back(s_.Aten("stack.default", {s_.List(std::move(cells))}));
    return results;
  }

 private:
  // Finds the sizes, and the weights of each layer. Writes nothing.
  absl::Status Read() {
    const bool is_lstm = kind_ == Kind::kLstm;
    const TensorFacts input = s_.Facts(s_["input"]);
    if (input.rank() != 3) return Unknown("the rank of its input");
    length_ = (*input.sizes)[s_.IsTrue("batch_first") ? 1 : 0];
    if (length_ < 1) return Unknown("the length of its input");
    const Argument hx = s_["hx"];
    if (is_lstm ? !hx.is_sequence() || hx.elements().size() != 2 : !hx.is_node())
      return Unknown("its first state");
    if (!s_["num_layers"].is_int() || s_["num_layers"].integer() < 1)
      return Unknown("the number of its layers");
    num_layers_ = s_["num_layers"].integer();
    num_directions_ = s_.IsTrue("bidirectional") ? 2 : 1;
    if (num_layers_ > kMaxSteps || length_ > kMaxSteps / (num_layers_ * num_directions_)) {
      return absl::ResourceExhaustedError(absl::StrCat("it takes more than ", kMaxSteps, " steps"));
    }
    const Argument dropout = s_["dropout"];
    if (s_.IsTrue("train") && num_layers_ > 1 &&
        !(dropout == Argument(0.0) || dropout == Argument(0))) {
      return absl::FailedPreconditionError("it drops values between its layers");
    }
    const Argument params = s_["params"];
    const auto num_cells = static_cast<size_t>(num_layers_ * num_directions_);
    if (!params.is_sequence() || params.elements().size() % num_cells != 0)
      return Unknown("its list of weights");
    const size_t each = params.elements().size() / num_cells;
    const size_t num_biases = s_.IsTrue("has_biases") ? 2 : 0;
    const bool is_projected = each == 3 + num_biases;
    if (each != 2 + num_biases && !(is_projected && is_lstm)) return Unknown("its list of weights");
    for (size_t i = 0; i < num_cells; ++i) {
      const auto weights = params.elements().subspan(i * each, each);
      Cell cell{.input = weights[0], .hidden = weights[1]};
      if (num_biases > 0) {
        cell.input_bias = weights[2];
        cell.hidden_bias = weights[3];
      }
      if (is_projected) cell.projection = weights[each - 1];
      const TensorFacts facts = s_.Facts(cell.hidden);
      if (facts.rank() != 2 || (*facts.sizes)[0] < 1 || (*facts.sizes)[0] % NumGates() != 0)
        return Unknown("the size of its state");
      cell.size = (*facts.sizes)[0] / NumGates();
      cells_.push_back(cell);
    }
    return absl::OkStatus();
  }

  int64_t NumGates() const { return kind_ == Kind::kLstm ? 4 : kind_ == Kind::kGru ? 3 : 1; }

  // Runs one layer in one direction over x [length, batch, features]. Returns its outputs for all
  // steps, and sets `state` to the last one.
  Argument Run(const Argument& x, int64_t index, bool is_reverse, State* state) {
    const Cell& cell = cells_[static_cast<size_t>(index)];
    const Argument hx = s_["hx"];
    const auto first = [&](const Argument& states) {
      return s_.Aten("select.int", {states, 0, index});
    };
    if (kind_ == Kind::kLstm) {
      *state = {first(hx.elements()[0]), first(hx.elements()[1])};
    } else {
      state->hidden = first(hx);
    }
    // The products with the inputs need no state.
    const Argument from_inputs = s_.Aten("linear.default", {x, cell.input, cell.input_bias});
    std::vector<Argument> outputs(static_cast<size_t>(length_));
    for (int64_t step = 0; step < length_; ++step) {
      const int64_t t = is_reverse ? length_ - 1 - step : step;
      const Argument from_input = s_.Aten("select.int", {from_inputs, 0, t});
      const Argument from_state =
          s_.Aten("linear.default", {state->hidden, cell.hidden, cell.hidden_bias});
      *state = Step(cell, from_input, from_state, *state);
      outputs[static_cast<size_t>(t)] = state->hidden;
    }
    return s_.Aten("stack.default", {s_.List(std::move(outputs))});
  }

  State Step(const Cell& cell, const Argument& from_input, const Argument& from_state,
             const State& before) {
    const auto add = [&](const Argument& a, const Argument& b) {
      return s_.Aten("add.Tensor", {a, b});
    };
    const auto mul = [&](const Argument& a, const Argument& b) {
      return s_.Aten("mul.Tensor", {a, b});
    };
    const auto call = [&](absl::string_view overload, const Argument& a) {
      return s_.Aten(overload, {a});
    };
    const auto gate = [&](const Argument& gates, int64_t i) {
      return s_.Aten("slice.Tensor", {gates, 1, i * cell.size, (i + 1) * cell.size});
    };
    switch (kind_) {
      case Kind::kLstm: {
        const Argument gates = add(from_input, from_state);
        const Argument in = call("sigmoid.default", gate(gates, 0));
        const Argument forget = call("sigmoid.default", gate(gates, 1));
        const Argument made = call("tanh.default", gate(gates, 2));
        const Argument out = call("sigmoid.default", gate(gates, 3));
        State after;
        after.cell = add(mul(forget, before.cell), mul(in, made));
        after.hidden = mul(out, call("tanh.default", after.cell));
        if (!cell.projection.is_none()) {
          after.hidden = s_.Aten("linear.default", {after.hidden, cell.projection});
        }
        return after;
      }
      case Kind::kGru: {
        const Argument reset =
            call("sigmoid.default", add(gate(from_input, 0), gate(from_state, 0)));
        const Argument update =
            call("sigmoid.default", add(gate(from_input, 1), gate(from_state, 1)));
        const Argument made =
            call("tanh.default", add(gate(from_input, 2), mul(gate(from_state, 2), reset)));
        const Argument change = s_.Aten("sub.Tensor", {before.hidden, made});
        return {add(mul(change, update), made), Argument()};
      }
      case Kind::kTanh: return {call("tanh.default", add(from_input, from_state)), Argument()};
      case Kind::kRelu: return {call("relu.default", add(from_input, from_state)), Argument()};
    }
    return before;
  }

  Steps& s_;
  const Kind kind_;
  int64_t length_ = 0, num_layers_ = 0, num_directions_ = 1;
  std::vector<Cell> cells_;  // by layer, then by direction
};

}  // namespace

absl::StatusOr<Results> Lstm(Steps& s) { return Layers(s, Kind::kLstm).Expand(); }
absl::StatusOr<Results> Gru(Steps& s) { return Layers(s, Kind::kGru).Expand(); }
absl::StatusOr<Results> RnnTanh(Steps& s) { return Layers(s, Kind::kTanh).Expand(); }
absl::StatusOr<Results> RnnRelu(Steps& s) { return Layers(s, Kind::kRelu).Expand(); }

}  // namespace graphnet::expansion
