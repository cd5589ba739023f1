// The inputs of a node of a program go to the parameters of the operator that it calls by their
// names, as torch.export.load binds them.
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

// ArgumentKind of the schema of programs; writers before 8.3 do not say it.
inline constexpr int64_t kPositional = 1;
inline constexpr int64_t kKeyword = 2;

// NamedArgument{name, arg, kind}.
struct NamedInput {
  absl::string_view name;
  Argument value;
  int64_t kind = 0;
};

// The arguments of a call of `schema`, those by position in the order of its parameters.
// InvalidArgument for a name that the operator does not know, a parameter that is given twice or
// is left out and has no default, and a constant of a kind that it does not take. `at` then gets
// the position of the input that is wrong, inputs.size() for a parameter that is left out.
absl::Status BindInputs(const Schema& schema, absl::Span<const NamedInput> inputs,
                        std::vector<Argument>* args, std::vector<KwArg>* kwargs, size_t* at);

// The same of what has no schema: higher-order calls, operators of others. All that has a name is
// given by keyword unless it says that it stands by position.
absl::Status BindInputs(absl::Span<const NamedInput> inputs, std::vector<Argument>* args,
                        std::vector<KwArg>* kwargs, size_t* at);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_BIND_INPUTS_H_
