// Puts the values of a checkpoint into a sample, by name, as load_state_dict does.
//
//   ASSIGN_OR_RETURN(const Checkpoint checkpoint, ReadCheckpoint("resnet18.pth"));
//   ASSIGN_OR_RETURN(const PutWeights put, PutInto(checkpoint, {}, &sample));
//   if (const std::string refusal = put.Refusal(); !refusal.empty()) …
//
// A weight is an attribute, or an input that stands for a parameter or buffer: one with the annotation
// of a parameter, or a name that Dynamo gave to one. A name of the checkpoint is the weight's if it is
//  - the name of the attribute or input, or its original name (DrawSpec::original_name);
//  - the name that Dynamo made an identifier of: `layer1.0.conv.weight` of
//    `L_self_modules_layer1_modules_0_modules_conv_parameters_weight_`;
//  - one of these after one prefix, such as `module.`, is taken off all names of the checkpoint, or put
//    before them. The prefix is that under which most weights get a value; without one, if that gives
//    as many. `_orig_mod.`, which torch.compile adds, is taken off everywhere.
#ifndef GRAPHNET_FORMATS_PUT_WEIGHTS_H_
#define GRAPHNET_FORMATS_PUT_WEIGHTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/base/report.h"
#include "graphnet/formats/checkpoint.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct PutOptions {
  bool casts = false;       // converts floats of another dtype; otherwise they are refused
  bool is_partial = false;  // does without weights that the checkpoint lacks or has in other sizes
};

// Says what became of the weights of a sample, and of the tensors of a checkpoint.
struct PutWeights {
  // A weight of which the checkpoint has a tensor of another form.
  struct Other {
    std::string name;        // of the weight
    std::string in_file;     // "f32[10, 4]"
    std::string in_program;  // "f32[8, 4]"
  };

  std::string file;                  // of the checkpoint
  size_t num_put = 0;                // weights that got their value
  size_t num_cast = 0;               // of these, the ones that were converted
  std::string prefix_removed;        // "module."; empty if none was
  std::string prefix_added;          // "model."; empty if none was
  std::vector<std::string> missing;  // weights without a tensor in the checkpoint
  // Attributes without a tensor in the checkpoint that keep the value that they have, and are no
  // parameters: constants and buffers, which a checkpoint need not have.
  std::vector<std::string> kept;
  std::vector<std::string> unused;  // tensors of the checkpoint
  std::vector<Other> of_other_shape;
  std::vector<Other> of_other_dtype;
  bool is_partial = false;  // of PutOptions

  // Returns why the checkpoint is refused: weights are missing or of another shape, unless the options
  // allow it, or of another dtype. Empty if it is not.
  std::string Refusal() const;
  // Returns a line for each kind of what happened, such as "weights: 62 of model.pth; module. is taken
  // off", and all names for JSON.
  Report AsReport() const;
};

// Puts the values into `sample->weights`, unless the checkpoint is refused (PutWeights::Refusal): the
// sample is unchanged then. Draw specs of these weights describe the new values. InvalidArgument if
// names are ambiguous, or none of them fits.
absl::StatusOr<PutWeights> PutInto(const Checkpoint& checkpoint, const PutOptions& options,
                                   Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PUT_WEIGHTS_H_
