// Reads a pickle as data and calls nothing.
//
// A pickle is a program for a small stack machine. Python's unpickler imports and calls the
// functions that the program names. This reader only notes their names, in a graph of values. It
// accepts the opcodes of protocol 2 that PyTorch's picklers write and refuses all others.
//
// Values may be shared, so a pickle of n bytes can spell a tree of 2^n values. Walk nodes by id,
// each once, and not as a tree. There are no cycles.
#ifndef GRAPHNET_FORMATS_ARCHIVE_PICKLE_READER_H_
#define GRAPHNET_FORMATS_ARCHIVE_PICKLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/casts.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,  // fits int64; larger integers are refused
  kDouble,
  kString,        // UTF-8
  kTuple,         // children: the elements
  kList,          // children: the elements
  kDict,          // children: key, value, key, value, ...
  kGlobal,        // a reference to module.name
  kReduce,        // children: callable, arguments
  kObject,        // children: class, arguments of __new__[, state]
  kPersistentId,  // children: the id, a value
};

class Pickle {
 public:
  // Number of a node; less than size().
  using Id = uint32_t;

  // Reads one pickle, which must take all of `bytes`. The bytes must outlive the result. Time and
  // memory are linear in their number. If the pickle is refused, the error is
  // InvalidArgument("byte <offset>: ..."). It may have at most kMaxTextFileBytes and nest at most
  // kMaxPickleDepth containers, shared ones included.
  // With `has_ordered_dicts`, an empty collections.OrderedDict that the pickle makes and fills is a
  // kDict; attributes that it gets are left out.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes, bool has_ordered_dicts = false);

  Id root() const { return root_; }
  size_t size() const { return nodes_.size(); }
  // All nodes, each after its children. The root is the last.
  absl::Span<const Id> postorder() const { return postorder_; }

  PickleKind kind(Id id) const { return nodes_[id].kind; }
  // Offset of the opcode that makes the node.
  size_t offset(Id id) const { return nodes_[id].offset; }
  absl::Span<const Id> children(Id id) const {
    const Node& node = nodes_[id];
    if (node.kind < PickleKind::kTuple || node.kind == PickleKind::kGlobal) {
      return {};
    }
    return absl::MakeConstSpan(children_).subspan(node.first, node.count);
  }
  bool boolean(Id id) const { return nodes_[id].first != 0; }
  int64_t integer(Id id) const { return absl::bit_cast<int64_t>(Bits(id)); }
  double real(Id id) const { return absl::bit_cast<double>(Bits(id)); }
  // The text of a string.
  absl::string_view text(Id id) const { return bytes_.substr(nodes_[id].first, nodes_[id].count); }
  // The module and name of a global. They consist of letters, digits, '_' and '.'.
  absl::string_view module(Id id) const { return text(id).substr(0, text(id).find('\n')); }
  absl::string_view name(Id id) const { return text(id).substr(text(id).find('\n') + 1); }
  // True for an object that the pickle put into its memo, or shared, before it had its state.
  // There, Python sees the object, but LibTorch a number.
  bool used_unbuilt(Id id) const { return nodes_[id].used_unbuilt; }

 private:
  friend class PickleParser;

  // Only 16 bytes, because a pickle may have a node for each of its bytes.
  struct Node {
    PickleKind kind;
    bool used_unbuilt = false;
    uint32_t offset = 0;
    uint32_t first = 0;  // start in children_ or bytes_, or the low half of a number
    uint32_t count = 0;  // length there, or the high half of a number
  };

  uint64_t Bits(Id id) const {
    return static_cast<uint64_t>(nodes_[id].count) << 32 | nodes_[id].first;
  }

  absl::string_view bytes_;
  std::vector<Node> nodes_;
  std::vector<Id> children_;
  std::vector<Id> postorder_;
  Id root_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_PICKLE_READER_H_
