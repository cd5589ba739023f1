// Joins models, each with its own names, symbols and weights, into one: what one returns is an input of
// a later one. compose.h joins the pieces of one graph again.
//
//   ASSIGN_OR_RETURN(Joined whole, JoinModels(std::move(pieces), {{0, "hidden", 1, "features"}}));
#ifndef GRAPHNET_DECOMPOSE_JOIN_MODELS_H_
#define GRAPHNET_DECOMPOSE_JOIN_MODELS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// An output of a model that an input of a later model takes. Models are counted from 0.
struct Connection {
  size_t from = 0;     // the model that returns it
  std::string output;  // the name of the value, or "o0", "o1", … by its place among the outputs
  size_t to = 0;       // the model that takes it
  std::string input;   // the target or the name of the placeholder
};

// What JoinModels returns.
struct Joined {
  Sample sample;                    // the whole
  std::vector<std::string> unused;  // outputs of models before the last that no model takes: "a.o1"
};

// Returns one sample that runs the models in their order. Inputs that no connection names stay inputs,
// in the order of the models; it returns what the last model returns. The sample is called "A_B", and
// the parts of model A are known by its name: attributes are called "A.conv.weight", and module paths
// begin with "A". Two models of one name are A and A_2. Values, inputs and bodies keep their names; one
// that is taken gets a suffix. A size that is a symbol of the later model becomes what the earlier one
// returns there; other symbols of one name stay apart.
//
// The models must verify. InvalidArgument if there is none, or if a connection names no model, output or
// input, or goes backwards, or if an input is taken twice; FailedPrecondition, which names both models
// and both values, if an output has another dtype, rank, size or device than the input.
absl::StatusOr<Joined> JoinModels(std::vector<Sample> models,
                                  const std::vector<Connection>& connections);

// Returns the nodes of the outputs of a model, in order; a value that is no node is null.
std::vector<const Node*> OutputsOfModel(const Sample& model);
// Returns the input of a model with a target or, if there is none, with a name; null without either.
const Node* InputOfModel(const Sample& model, absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_JOIN_MODELS_H_
