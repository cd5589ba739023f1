// The words under which an index of a corpus finds graphs. The rows (row.h) and the terms of a query
// (query_terms.h) spell them by the same functions, so that both always agree.
#ifndef GRAPHNET_CORPUS_KEYS_H_
#define GRAPHNET_CORPUS_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ops/schema.h"

namespace graphnet::corpus_internal {

// A hash that is the same on all machines and in all versions.
uint64_t StableHash(absl::string_view text);
// Mixes two hashes; the order of both counts.
uint64_t Mix(uint64_t a, uint64_t b);

// Returns a name as a key has it. A name of more than 100 bytes, or one that is not printable
// UTF-8, is cut and gets its hash behind it, so that no key is large.
std::string NameKey(absl::string_view name);
// Returns "conv2d.groups=384". The meaning is a key already.
std::string ArgumentKey(absl::string_view meaning, absl::string_view parameter,
                        absl::string_view constant);
// Returns "conv2d>relu". Both are keys already.
std::string EdgeKey(absl::string_view producer, absl::string_view consumer);

// Returns the text of a constant. Constants that are equal in a query (pattern.h) have the same
// text: 1, 1.0 and True, lists and tuples, and a list of equal elements and one such element.
// Returns nothing for values of the graph, and for constants that the index does not have: complex
// numbers, dicts, slices, sizes with symbols, lists in lists in lists, and what takes more than 100
// bytes. Takes `work` steps less, and nothing more once it is 0.
std::optional<std::string> ConstantKey(const Argument& constant, uint64_t* work);

// Returns the overloads in the tables of all functions and operators whose calls have the meaning.
absl::Span<const Schema* const> SchemasOf(absl::string_view meaning);
// Returns whether one of them has the constant as the default of the parameter, so that a call may
// omit it. Neither rows nor terms have such constants. `text` is the constant's key.
bool IsDefault(absl::string_view meaning, absl::string_view parameter, const Argument& constant,
               absl::string_view text);

}  // namespace graphnet::corpus_internal

#endif  // GRAPHNET_CORPUS_KEYS_H_
