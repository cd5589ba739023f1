#include "graphnet/ir/canonical_hash.h"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"

namespace graphnet {
namespace {

// The SHA-256 of a sequence of items. Different sequences have different bytes: numbers are varints
// as in protobuf, since most are small, and strings come after their length.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new()) {
    CHECK(context_ != nullptr);
    CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void AddNumber(uint64_t value) {
    if (size_ > sizeof buffer_ - kMaxVarintBytes) Flush();
    for (; value >= 0x80; value >>= 7) buffer_[size_++] = static_cast<char>(value | 0x80);
    buffer_[size_++] = static_cast<char>(value);
  }
  template <typename Enum>
  void AddEnum(Enum value) {
    AddNumber(static_cast<uint64_t>(value));
  }
  void AddReal(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    AddNumber(bits);
  }
  void AddString(absl::string_view text) {
    AddNumber(text.size());
    AddBytes(text);
  }

  // Returns the hash. Nothing may be added afterwards.
  std::string Hex() {
    Flush();
    unsigned char out[32];
    unsigned int size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), out, &size) == 1 && size == sizeof out);
    return absl::BytesToHexString({reinterpret_cast<const char*>(out), sizeof out});
  }

 private:
  void AddBytes(absl::string_view bytes) {
    if (bytes.size() > sizeof buffer_ - size_) Flush();
    if (bytes.size() > sizeof buffer_) {
      CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
      return;
    }
    if (bytes.empty()) return;
    std::memcpy(buffer_ + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void Flush() {
    CHECK(EVP_DigestUpdate(context_.get(), buffer_, size_) == 1);
    size_ = 0;
  }

  static constexpr size_t kMaxVarintBytes = 10;

  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  size_t size_ = 0;
  char buffer_[8192];
};

// Numbers keys in the order in which they are first looked up.
template <typename Key>
class Numbering {
 public:
  uint64_t operator()(const Key& key) {
    return numbers_.try_emplace(key, numbers_.size()).first->second;
  }
  bool contains(const Key& key) const { return numbers_.contains(key); }

 private:
  absl::flat_hash_map<Key, uint64_t> numbers_;
};

// Hashes a module without recursion, so that nesting and chains of bodies cannot exhaust the stack.
class Hasher {
 public:
  Hasher(const Module& module, const CanonicalHashOptions& options)
      : module_(module), options_(options) {}

  std::string Run() {
    digest_.AddString(absl::StrCat("graphnet canonical hash ", kCanonicalHashVersion));
    digest_.AddNumber((options_.metas ? 1 : 0) + (options_.is_size != nullptr ? 2 : 0));
    if (module_.main() != nullptr) GraphNumber(module_.main());
    for (size_t i = 0; i < graphs_.size(); ++i) AddGraph(*graphs_[i]);
    if (options_.weights != nullptr) AddWeights();
    return digest_.Hex();
  }

 private:
  // Returns the number of a graph. Graphs are hashed in the order in which they are first
  // referred to.
  uint64_t GraphNumber(const Graph* graph) {
    if (!graph_numbers_.contains(graph)) graphs_.push_back(graph);
    return graph_numbers_(graph);
  }

  void AddGraph(const Graph& graph) {
    digest_.AddNumber(graph.num_nodes());
    nodes_.clear();
    nodes_.reserve(graph.num_nodes());
    for (const Node* node : graph.nodes()) {
      AddNode(*node);
      nodes_.emplace(node, nodes_.size());
    }
  }

  // Adds the values in the order in which the graph takes and reads them, since names are labels.
  void AddWeights() {
    if (module_.main() != nullptr) {
      for (const Node* node : module_.main()->placeholders()) AddValue(node->target());
    }
    for (const absl::string_view name : attributes_) AddValue(name);
  }

  void AddValue(absl::string_view name) {
    const auto found = options_.weights->find(std::string(name));
    digest_.AddNumber(found != options_.weights->end());
    if (found == options_.weights->end()) return;
    const TensorData& data = found->second;
    digest_.AddEnum(data.dtype);
    digest_.AddNumber(data.shape.size());
    for (const int64_t size : data.shape) digest_.AddNumber(static_cast<uint64_t>(size));
    if (data.bytes) digest_.AddString(*data.bytes);
    data.bytes.Release();
  }

  void AddNode(const Node& node) {
    digest_.AddEnum(node.op());
    if (node.op() == Op::kGetAttr) {
      const uint64_t number = attribute_numbers_(node.target());
      if (number == attributes_.size()) attributes_.push_back(node.target());
      digest_.AddNumber(number);
    } else if (!node.is_placeholder()) {
      digest_.AddString(node.target());
    }
    size_t position = 0;
    const auto add = [&](const Argument& argument) {
      hides_sizes_ =
          options_.is_size != nullptr && node.is_call() && (*options_.is_size)(node, position);
      ++position;
      AddArgument(argument);
    };
    digest_.AddNumber(node.args().size());
    for (const Argument& arg : node.args()) add(arg);
    digest_.AddNumber(node.kwargs().size());
    for (const KwArg& kwarg : node.kwargs()) {
      digest_.AddString(kwarg.name);
      add(kwarg.value);
    }
    if (!options_.metas) return;
    AddMeta(node.meta());
    if (node.op() == Op::kGetAttr) {
      const Attribute* attribute = module_.FindAttribute(node.target());
      AddTensorMeta(attribute != nullptr ? attribute->meta : nullptr);
    }
  }

  void AddArgument(const Argument& argument) {
    if (!argument.is_aggregate()) return AddOne(argument);
    pending_.push_back(absl::MakeConstSpan(&argument, 1));
    while (!pending_.empty()) {
      if (pending_.back().empty()) {
        pending_.pop_back();
        continue;
      }
      const Argument& next = pending_.back().front();
      pending_.back().remove_prefix(1);
      AddOne(next);
    }
  }

  // Adds `a`, and puts its elements, if it has any, into `pending_`.
  void AddOne(const Argument& a) {
    using Kind = Argument::Kind;
    if (hides_sizes_ && (a.is_int() || a.kind() == Kind::kSymInt))
      return digest_.AddEnum(Kind::kInt);
    digest_.AddEnum(a.kind());
    switch (a.kind()) {
      case Kind::kNone:
      case Kind::kEllipsis: break;
      case Kind::kNode: {
        // In a graph that does not verify, a node that is not defined yet counts as "unknown".
        const auto it = nodes_.find(a.node());
        digest_.AddNumber(it != nodes_.end() ? it->second : UINT64_MAX);
        break;
      }
      case Kind::kBool: digest_.AddNumber(a.boolean()); break;
      case Kind::kInt: digest_.AddNumber(static_cast<uint64_t>(a.integer())); break;
      case Kind::kFloat: digest_.AddReal(a.real()); break;
      case Kind::kComplex:
        digest_.AddReal(a.complex().real());
        digest_.AddReal(a.complex().imag());
        break;
      case Kind::kString: digest_.AddString(a.string()); break;
      case Kind::kDType: digest_.AddEnum(a.dtype()); break;
      case Kind::kDevice: AddDevice(a.device()); break;
      case Kind::kLayout: digest_.AddEnum(a.layout()); break;
      case Kind::kMemoryFormat: digest_.AddEnum(a.memory_format()); break;
      case Kind::kGraph: digest_.AddNumber(GraphNumber(a.graph())); break;
      case Kind::kSymInt: AddExpression(a.sym()); break;
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kDict:
      case Kind::kSlice:
        digest_.AddNumber(a.elements().size());
        pending_.push_back(a.elements());
        break;
    }
  }

  void AddDevice(Device device) {
    digest_.AddEnum(device.type);
    digest_.AddNumber(static_cast<uint64_t>(int64_t{device.index}));
  }

  // Adds an expression in Polish notation, which needs no brackets.
  void AddExpression(const SymExpr* expr) {
    std::vector<const SymExpr*> stack = {expr};
    while (!stack.empty()) {
      const SymExpr* next = stack.back();
      stack.pop_back();
      digest_.AddEnum(next->kind);
      if (next->kind == SymExpr::Kind::kInt) {
        digest_.AddNumber(static_cast<uint64_t>(next->value));
      } else if (next->kind == SymExpr::Kind::kSymbol) {
        digest_.AddNumber(symbol_numbers_(next->name));
      }
      if (next->rhs != nullptr) stack.push_back(next->rhs);
      if (next->lhs != nullptr) stack.push_back(next->lhs);
    }
  }

  void AddMeta(const ValueMeta* meta) {
    std::vector<const ValueMeta*> stack = {meta};
    while (!stack.empty()) {
      const ValueMeta* next = stack.back();
      stack.pop_back();
      if (next == nullptr || !next->is_tuple) {
        AddTensorMeta(next != nullptr ? next->tensor : nullptr);
        continue;
      }
      digest_.AddNumber(2);
      digest_.AddNumber(next->elements.size());
      for (size_t i = next->elements.size(); i-- > 0;) stack.push_back(next->elements[i]);
    }
  }

  void AddTensorMeta(const TensorMeta* meta) {
    if (meta == nullptr) {
      digest_.AddNumber(0);
      return;
    }
    digest_.AddNumber(1);
    digest_.AddEnum(meta->dtype);
    digest_.AddNumber(meta->has_device);
    if (meta->has_device) AddDevice(meta->device);
    digest_.AddNumber(meta->has_shape);
    if (!meta->has_shape) return;
    digest_.AddNumber(meta->shape.size());
    if (options_.is_size != nullptr) return;
    for (const Dim& dim : meta->shape) {
      digest_.AddNumber(dim.is_static());
      if (dim.is_static()) {
        digest_.AddNumber(static_cast<uint64_t>(dim.value));
      } else {
        AddExpression(dim.expr);
      }
    }
  }

  const Module& module_;
  const CanonicalHashOptions& options_;
  Digest digest_;
  std::vector<const Graph*> graphs_;  // Indexed by number.
  Numbering<const Graph*> graph_numbers_;
  Numbering<absl::string_view> attribute_numbers_;
  std::vector<absl::string_view> attributes_;  // Indexed by number.
  Numbering<absl::string_view> symbol_numbers_;
  absl::flat_hash_map<const Node*, uint64_t> nodes_;  // The nodes of the current graph.
  std::vector<absl::Span<const Argument>> pending_;   // The arguments left to add.
  bool hides_sizes_ = false;  // True while an argument is added that holds sizes.
};

}  // namespace

std::string CanonicalHash(const Module& module, const CanonicalHashOptions& options) {
  return Hasher(module, options).Run();
}

}  // namespace graphnet
