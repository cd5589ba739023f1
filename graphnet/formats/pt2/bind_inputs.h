// Binds the inputs of a program's node by name to the parameters of the operator that it calls, as
// torch.export.load does.
#ifndef GRAPHNET_FORMATS_PT2_BIND_INPUTS_H_
#define GRAPHNET_FORMATS_PT2_BIND_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ops/schema.h"

namespace graphnet::pt2 {

// ArgumentKind in the schema of programs. Writers before version 8.3 do not store it.
inline constexpr int64_t kPositional = 1;
inline constexpr int64_t kKeyword = 2;

// The schema's NamedArgument{name, arg, kind}. `kind` is 0 if the program does not store it.
struct NamedInput {
  absl::string_view name;
  Argument value;
  int64_t kind = 0;
};

// Sets the arguments of a call of `schema`; positional ones follow the order of its parameters.
// InvalidArgument for a name that the operator does not know, a parameter that is given twice, a
// parameter without a default that is left out, and a constant of a kind that it does not take.
// `at` then gets the index of the wrong input, or inputs.size() for a parameter that is left out.
absl::Status BindInputs(const Schema& schema, absl::Span<const NamedInput> inputs,
                        std::vector<Argument>* args, std::vector<KwArg>* kwargs, size_t* at);

// Does the same for a call without a schema: a higher-order call or another library's operator. An
// input with a name is passed by keyword unless its kind is kPositional.
absl::Status BindInputs(absl::Span<const NamedInput> inputs, std::vector<Argument>* args,
                        std::vector<KwArg>* kwargs, size_t* at);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_BIND_INPUTS_H_
