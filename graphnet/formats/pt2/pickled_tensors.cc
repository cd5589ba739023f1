#include "graphnet/formats/pt2/pickled_tensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/formats/archive/pickle_reader.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/archive/zip_writer.h"
#include "graphnet/formats/pt2/payloads.h"
#include "graphnet/formats/pt2/schema.h"

namespace graphnet::pt2 {
namespace {

using Id = Pickle::Id;

constexpr std::pair<absl::string_view, DType> kStorages[] = {
    {"BFloat16Storage", DType::kBFloat16},
    {"BoolStorage", DType::kBool},
    {"ByteStorage", DType::kUInt8},
    {"CharStorage", DType::kInt8},
    {"ComplexDoubleStorage", DType::kComplex128},
    {"ComplexFloatStorage", DType::kComplex64},
    {"DoubleStorage", DType::kFloat64},
    {"FloatStorage", DType::kFloat32},
    {"HalfStorage", DType::kFloat16},
    {"IntStorage", DType::kInt32},
    {"LongStorage", DType::kInt64},
    {"ShortStorage", DType::kInt16},
};

// Functions that make a tensor from a storage. The storage's class gives the dtype; for a dtype
// without such a class, the storage is bytes and the dtype is an argument.
constexpr absl::string_view kOfTypedStorage = "_rebuild_tensor_v2";
constexpr absl::string_view kOfBytes = "_rebuild_tensor_v3";

template <typename T>
TensorData ScalarData(DType dtype, T value) {
  return {
      dtype,
      {},
      std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), sizeof(value))};
}

class SavedTensors {
 public:
  static absl::StatusOr<SavedTensors> Open(absl::string_view bytes) {
    ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(bytes, "torch.save"));
    const ZipEntry* pickle = nullptr;
    for (const ZipEntry& entry : zip.entries()) {
      if (absl::EndsWith(entry.name, "/data.pkl")) pickle = &entry;
    }
    if (pickle == nullptr) return absl::InvalidArgumentError("not an archive of torch.save");
    if (pickle->size > kMaxTextFileBytes)
      return absl::InvalidArgumentError("the pickle is too large");
    std::string root(absl::StripSuffix(pickle->name, "data.pkl"));
    ASSIGN_OR_RETURN(std::string text, zip.Read(*pickle));
    auto kept = std::make_unique<std::string>(std::move(text));
    ASSIGN_OR_RETURN(Pickle parsed, Pickle::Parse(*kept, /*has_ordered_dicts=*/true));
    return SavedTensors(std::move(zip), std::move(root), std::move(kept), std::move(parsed),
                        bytes.size());
  }

  Id root() const { return pickle_.root(); }

  absl::StatusOr<TensorData> ReadTensor(Id id) {
    ASSIGN_OR_RETURN(const Stored stored, Locate(id));
    ASSIGN_OR_RETURN(const absl::string_view bytes, zip_.View(*stored.record));
    // Any number of tensors may be made of one storage.
    uint64_t spare = left_;
    ASSIGN_OR_RETURN(TensorData data,
                     ReadStorage(stored.tensor, SharedBytes(nullptr, bytes), &spare));
    if (data.bytes->size() > left_) return Error(id, "the tensors together take too much memory");
    left_ -= data.bytes->size();
    return data;
  }

  absl::Status ReadTable(const SharedBytes& archive, const std::string& record,
                         Payloads* payloads) {
    const Id dict = pickle_.root();
    if (pickle_.kind(dict) != PickleKind::kDict) return Error(dict, "expected a dict of tensors");
    const absl::Span<const Id> all = pickle_.children(dict);
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      if (pickle_.kind(all[i]) != PickleKind::kString)
        return Error(all[i], "expected the name of a tensor");
      RETURN_IF_ERROR(ReadEntry(archive, record, pickle_.text(all[i]), all[i + 1], payloads));
    }
    return absl::OkStatus();
  }

  // A dict may be shared, so each is read once, below the name that it has first.
  absl::StatusOr<size_t> ReadTables(const SharedBytes& archive, Payloads* payloads) {
    if (pickle_.kind(pickle_.root()) != PickleKind::kDict) {
      return absl::InvalidArgumentError(
          "torch.save wrote another object than a dict of tensors; torch.save(module.state_dict(), "
          "FILE) writes one");
    }
    std::vector<std::pair<std::string, Id>> dicts = {{"", pickle_.root()}};
    absl::flat_hash_set<Id> seen = {pickle_.root()};
    size_t others = 0;
    for (size_t next = 0; next < dicts.size(); ++next) {
      const auto [prefix, dict] = dicts[next];
      const absl::Span<const Id> all = pickle_.children(dict);
      for (size_t i = 0; i + 1 < all.size(); i += 2) {
        const PickleKind kind = pickle_.kind(all[i]);
        const bool has_name = kind == PickleKind::kString || kind == PickleKind::kInt;
        std::string name = prefix;
        if (kind == PickleKind::kString) absl::StrAppend(&name, pickle_.text(all[i]));
        if (kind == PickleKind::kInt) absl::StrAppend(&name, pickle_.integer(all[i]));
        const Id value = all[i + 1];
        if (has_name && name.size() <= kMaxNameBytes && pickle_.kind(value) == PickleKind::kDict) {
          if (seen.insert(value).second) dicts.emplace_back(absl::StrCat(name, "."), value);
        } else if (!has_name || name.size() > kMaxNameBytes || IsFake(value) ||
                   !Locate(value).ok()) {
          ++others;
        } else {
          RETURN_IF_ERROR(ReadEntry(archive, "", name, value, payloads));
        }
      }
    }
    return others;
  }

  absl::Status ReadEntry(const SharedBytes& archive, const std::string& record,
                         absl::string_view name, Id id, Payloads* payloads) {
    Payload payload;
    if (IsFake(id)) {
      payload.record_name = absl::StrCat(record, "/", name);
      payload.is_fake = true;
      payloads->insert_or_assign(std::string(name), std::move(payload));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Stored stored, Locate(id));
    ASSIGN_OR_RETURN(const absl::string_view bytes, archive.owner() != nullptr
                                                        ? zip_.ViewUnchecked(*stored.record)
                                                        : zip_.View(*stored.record));
    payload.record_name = absl::StrCat(record, "/", stored.record->name);
    payload.record_bytes = stored.record->size;
    payload.is_tensor = true;
    payload.tensor = stored.tensor;
    payload.storage =
        archive.Part(static_cast<size_t>(bytes.data() - archive->data()), bytes.size());
    payloads->insert_or_assign(std::string(name), std::move(payload));
    return absl::OkStatus();
  }

  void AddLeaves(Id id, const TreeSpec& spec, std::vector<std::optional<TensorData>>* leaves) {
    const PickleKind kind = pickle_.kind(id);
    const bool is_list = spec.kind == TreeSpec::Kind::kTuple || spec.kind == TreeSpec::Kind::kList;
    if (spec.kind == TreeSpec::Kind::kLeaf) {
      leaves->push_back(ReadLeaf(id));
    } else if (is_list && (kind == PickleKind::kTuple || kind == PickleKind::kList) &&
               pickle_.children(id).size() == spec.children.size()) {
      for (size_t i = 0; i < spec.children.size(); ++i) {
        AddLeaves(pickle_.children(id)[i], spec.children[i], leaves);
      }
    } else if (spec.kind == TreeSpec::Kind::kDict && kind == PickleKind::kDict) {
      const Entries entries = EntriesOf(id);
      for (size_t i = 0; i < spec.children.size(); ++i) {
        const auto value = entries.find(spec.keys[i]);
        if (value != entries.end()) {
          AddLeaves(value->second, spec.children[i], leaves);
        } else {
          leaves->resize(leaves->size() + spec.children[i].num_leaves());
        }
      }
    } else {
      leaves->resize(leaves->size() + spec.num_leaves());
    }
  }

 private:
  SavedTensors(ZipReader zip, std::string root, std::unique_ptr<std::string> text, Pickle pickle,
               uint64_t bytes)
      : zip_(std::move(zip)),
        root_(std::move(root)),
        text_(std::move(text)),
        pickle_(std::move(pickle)),
        left_(bytes + kMaxExpandedBytes) {}

  // A tensor, and the record with its storage.
  struct Stored {
    StoredTensor tensor;
    const ZipEntry* record = nullptr;
  };

  // True for a tensor on meta, or a fake one, of which only the description was saved.
  bool IsFake(Id id, int depth = 0) const {
    if (pickle_.kind(id) != PickleKind::kReduce) return false;
    const Id callee = pickle_.children(id)[0];
    const absl::Span<const Id> args = pickle_.children(pickle_.children(id)[1]);
    if (IsGlobal(callee, "torch._utils", "_rebuild_parameter") && !args.empty() && depth == 0)
      return IsFake(args[0], depth + 1);
    return IsGlobal(callee, "torch._utils", "_rebuild_meta_tensor_no_storage") ||
           IsGlobal(callee, "torch._export.serde.serialize", "_reconstruct_fake_tensor");
  }

  absl::StatusOr<Stored> Locate(Id id, int depth = 0) const {
    if (pickle_.kind(id) != PickleKind::kReduce) return Error(id, "expected a tensor");
    const Id callee = pickle_.children(id)[0];
    const absl::Span<const Id> args = pickle_.children(pickle_.children(id)[1]);
    if (pickle_.kind(callee) != PickleKind::kGlobal) return Error(id, "expected a tensor");
    const absl::string_view name = pickle_.name(callee);
    // A tensor with Python attributes, such as marks of dynamic sizes; they do not change it.
    if (pickle_.module(callee) == "torch._tensor" && name == "_rebuild_from_type_v2" &&
        args.size() == 4 && IsGlobal(args[1], "torch", "Tensor")) {
      for (const absl::string_view rebuild : {kOfTypedStorage, kOfBytes}) {
        if (IsGlobal(args[0], "torch._utils", rebuild)) {
          return LocateTensor(rebuild, args[2], pickle_.children(args[2]));
        }
      }
    }
    if (pickle_.module(callee) == "torch._utils") {
      if ((name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") &&
          !args.empty() && depth == 0) {
        return Locate(args[0], depth + 1);
      }
      if (name == kOfTypedStorage || name == kOfBytes) return LocateTensor(name, id, args);
    }
    return Error(id, absl::StrCat("a call of ", Printable(pickle_.module(callee)), ".",
                                  Printable(name), ", which is not allowed"));
  }

  absl::Status Error(Id id, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("data.pkl: byte ", pickle_.offset(id), ": ", what));
  }

  bool IsGlobal(Id id, absl::string_view module, absl::string_view name) const {
    return pickle_.kind(id) == PickleKind::kGlobal && pickle_.module(id) == module &&
           pickle_.name(id) == name;
  }

  absl::StatusOr<std::vector<int64_t>> Sizes(Id id) const {
    if (pickle_.kind(id) != PickleKind::kTuple) return Error(id, "expected a tuple of sizes");
    std::vector<int64_t> sizes;
    if (pickle_.children(id).size() > kMaxRank) return Error(id, "too many dimensions");
    int64_t elements = 1;
    for (const Id size : pickle_.children(id)) {
      if (pickle_.kind(size) != PickleKind::kInt || pickle_.integer(size) < 0) {
        return Error(size, "expected a size");
      }
      sizes.push_back(pickle_.integer(size));
      if (sizes.back() != 0 && (__builtin_mul_overflow(elements, sizes.back(), &elements) ||
                                elements > kMaxTensorElements)) {
        return Error(size, "too many elements");
      }
    }
    return sizes;
  }

  // storage, offset, size, stride, requires_grad, hooks, dtype of kOfBytes, metadata.
  absl::StatusOr<Stored> LocateTensor(absl::string_view rebuild, Id id,
                                      absl::Span<const Id> args) const {
    const size_t metadata = rebuild == kOfBytes ? 7 : 6;
    if (args.size() < metadata) return Error(id, "a tensor with too few arguments");
    // The metadata may say, for example, that the tensor is conjugated.
    if (args.size() > metadata && !pickle_.children(args[metadata]).empty()) {
      return Error(args[metadata], "a tensor whose metadata is not supported");
    }
    if (pickle_.kind(args[0]) != PickleKind::kPersistentId)
      return Error(args[0], "expected a storage");
    const Id key = pickle_.children(args[0])[0];
    const absl::Span<const Id> parts = pickle_.children(key);
    if (pickle_.kind(key) != PickleKind::kTuple || parts.size() < 3 ||
        pickle_.kind(parts[1]) != PickleKind::kGlobal ||
        pickle_.kind(parts[2]) != PickleKind::kString) {
      return Error(key, "expected a storage");
    }
    StoredTensor tensor;
    if (rebuild == kOfBytes) {
      if (!IsGlobal(parts[1], "torch.storage", "UntypedStorage") ||
          pickle_.kind(args[6]) != PickleKind::kGlobal || pickle_.module(args[6]) != "torch") {
        return Error(key, "expected a storage of bytes and a dtype");
      }
      tensor.dtype = ParseDType(pickle_.name(args[6])).value_or(DType::kUnknown);
      if (DTypeBytes(tensor.dtype) == 0) {
        return Error(args[6], absl::StrCat("unsupported dtype ", Printable(pickle_.name(args[6]))));
      }
    }
    for (const auto& [name, dtype] : kStorages) {
      if (rebuild == kOfTypedStorage && IsGlobal(parts[1], "torch", name)) tensor.dtype = dtype;
    }
    if (tensor.dtype == DType::kUnknown) {
      return Error(parts[1], absl::StrCat("unsupported class of storage ",
                                          Printable(pickle_.name(parts[1]))));
    }
    if (pickle_.kind(args[1]) != PickleKind::kInt || pickle_.integer(args[1]) < 0) {
      return Error(args[1], "expected an offset");
    }
    tensor.offset = pickle_.integer(args[1]);
    ASSIGN_OR_RETURN(tensor.sizes, Sizes(args[2]));
    if (pickle_.kind(args[3]) != PickleKind::kTuple ||
        pickle_.children(args[3]).size() != tensor.sizes.size()) {
      return Error(args[3], "expected a stride for each dimension");
    }
    for (const Id stride : pickle_.children(args[3])) {
      if (pickle_.kind(stride) != PickleKind::kInt || pickle_.integer(stride) < 0) {
        return Error(stride, "expected a stride");
      }
      tensor.strides.push_back(pickle_.integer(stride));
    }
    const ZipEntry* const entry = zip_.Find(absl::StrCat(root_, "data/", pickle_.text(parts[2])));
    if (entry == nullptr) return Error(key, "its storage is not in the archive");
    return Stored{std::move(tensor), entry};
  }

  std::optional<TensorData> ReadLeaf(Id id) {
    switch (pickle_.kind(id)) {
      case PickleKind::kBool: return ScalarData(DType::kBool, pickle_.boolean(id));
      case PickleKind::kInt: return ScalarData(DType::kInt64, pickle_.integer(id));
      case PickleKind::kDouble: return ScalarData(DType::kFloat64, pickle_.real(id));
      default: break;
    }
    absl::StatusOr<TensorData> tensor = ReadTensor(id);
    return tensor.ok() ? std::optional<TensorData>(*std::move(tensor)) : std::nullopt;
  }

  // Entries of a dict by the keys that a tree can have.
  using Entries = std::map<TreeSpec::Key, Id>;
  Entries EntriesOf(Id dict) const {
    Entries entries;
    const absl::Span<const Id> all = pickle_.children(dict);
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      const PickleKind kind = pickle_.kind(all[i]);
      if (kind == PickleKind::kString) {
        entries[std::string(pickle_.text(all[i]))] = all[i + 1];
      } else if (kind == PickleKind::kInt) {
        entries[pickle_.integer(all[i])] = all[i + 1];
      }
    }
    return entries;
  }

  ZipReader zip_;
  std::string root_;
  std::unique_ptr<std::string> text_;  // text of the pickle, which refers to it
  Pickle pickle_;
  uint64_t left_;  // bytes that tensors may still take
};

}  // namespace

absl::StatusOr<TensorData> ReadPickledTensor(absl::string_view bytes) {
  ASSIGN_OR_RETURN(SavedTensors saved, SavedTensors::Open(bytes));
  return saved.ReadTensor(saved.root());
}

absl::Status ReadPickledTable(const SharedBytes& archive, const std::string& record,
                              Payloads* payloads) {
  ASSIGN_OR_RETURN(SavedTensors saved, SavedTensors::Open(*archive));
  return saved.ReadTable(archive, record, payloads);
}

absl::StatusOr<size_t> ReadPickledTables(const SharedBytes& archive, Payloads* payloads) {
  ASSIGN_OR_RETURN(SavedTensors saved, SavedTensors::Open(*archive));
  return saved.ReadTables(archive, payloads);
}

absl::Status ReadPickledEntry(const SharedBytes& archive, const std::string& record,
                              absl::string_view name, Payloads* payloads) {
  ASSIGN_OR_RETURN(SavedTensors saved, SavedTensors::Open(*archive));
  return saved.ReadEntry(archive, record, name, saved.root(), payloads);
}

absl::StatusOr<std::vector<std::optional<TensorData>>> ReadPickledLeaves(absl::string_view bytes,
                                                                         const TreeSpec& spec) {
  ASSIGN_OR_RETURN(SavedTensors saved, SavedTensors::Open(bytes));
  std::vector<std::optional<TensorData>> leaves;
  saved.AddLeaves(saved.root(), spec, &leaves);
  return leaves;
}

namespace {

// Writes pickles of protocol 2.
class Pickler {
 public:
  bool Tree(const TreeSpec& spec, absl::Span<const SavedLeaf>* leaves) {
    switch (spec.kind) {
      case TreeSpec::Kind::kLeaf:
        if (leaves->empty() || !Leaf(leaves->front())) return false;
        leaves->remove_prefix(1);
        return true;
      case TreeSpec::Kind::kTuple:
      case TreeSpec::Kind::kList:
        out_ += spec.kind == TreeSpec::Kind::kList ? "](" : "(";
        for (const TreeSpec& child : spec.children) {
          if (!Tree(child, leaves)) return false;
        }
        out_ += spec.kind == TreeSpec::Kind::kList ? 'e' : 't';
        return true;
      case TreeSpec::Kind::kDict:
        out_ += "}(";
        for (size_t i = 0; i < spec.children.size(); ++i) {
          if (!std::visit([this](const auto& key) { return Value(key); }, spec.keys[i]) ||
              !Tree(spec.children[i], leaves)) {
            return false;
          }
        }
        out_ += 'u';
        return true;
      case TreeSpec::Kind::kOther: return false;
    }
    return false;
  }

  // The archive.
  std::string Finish() && {
    std::string bytes;
    ZipWriter zip(&bytes);
    zip.Add("archive/data.pkl", absl::StrCat("\x80\x02", out_, "."));
    zip.Add("archive/byteorder", "little");
    for (size_t i = 0; i < storages_.size(); ++i) {
      zip.Add(absl::StrCat("archive/data/", i), storages_[i].Parts());
    }
    zip.Add("archive/version", "3\n");
    zip.Finish().IgnoreError();  // Writing to a string cannot fail.
    return bytes;
  }

 private:
  void Number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i));
  }
  bool Leaf(const SavedLeaf& leaf) {
    return std::visit([this](const auto& value) { return Value(value); }, leaf);
  }
  bool Value(std::monostate) {
    out_ += 'N';
    return true;
  }
  bool Value(bool value) {
    out_ += value ? '\x88' : '\x89';
    return true;
  }
  bool Value(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      Number(static_cast<uint64_t>(value), 4);
    } else {
      out_ += "\x8a\x08";
      Number(static_cast<uint64_t>(value), 8);
    }
    return true;
  }
  bool Value(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    out_ += 'G';
    for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i));
    return true;
  }
  bool Value(const std::string& text) {
    out_ += 'X';
    Number(text.size(), 4);
    out_ += text;
    return true;
  }
  bool Value(const TensorData& data) {
    absl::string_view storage;
    for (const auto& [name, dtype] : kStorages) {
      if (dtype == data.dtype) storage = name;
    }
    const bool is_typed = !storage.empty();
    if (DTypeBytes(data.dtype) == 0) return false;
    if (!is_typed) storage = "UntypedStorage";
    StoredTensor tensor{.dtype = data.dtype, .sizes = data.shape, .strides = data.strides};
    if (tensor.strides.empty()) tensor.strides = RowMajorStrides(data.shape);
    StorageContent content;
    if (!content.Add(tensor, data)) return false;
    absl::StrAppend(&out_, "ctorch._utils\n", is_typed ? kOfTypedStorage : kOfBytes, "\n((");
    Value(std::string("storage"));
    absl::StrAppend(&out_, is_typed ? "ctorch\n" : "ctorch.storage\n", storage, "\n");
    Value(absl::StrCat(storages_.size()));
    Value(std::string("cpu"));
    Value(static_cast<int64_t>(content.size()) / (is_typed ? DTypeBytes(data.dtype) : 1));
    out_ += "tQ";
    Value(int64_t{0});
    for (const std::vector<int64_t>& numbers : {tensor.sizes, tensor.strides}) {
      out_ += '(';
      for (const int64_t number : numbers) Value(number);
      out_ += 't';
    }
    out_ +=
        "\x89"
        "ccollections\nOrderedDict\n)R";
    if (!is_typed) absl::StrAppend(&out_, "ctorch\n", DTypeName(data.dtype), "\n");
    out_ += "tR";
    storages_.push_back(std::move(content));
    return true;
  }

  std::string out_;
  std::vector<StorageContent> storages_;
};

}  // namespace

std::optional<std::string> PickleLeaves(const TreeSpec& spec,
                                        const std::vector<SavedLeaf>& leaves) {
  Pickler pickler;
  absl::Span<const SavedLeaf> left = leaves;
  if (!pickler.Tree(spec, &left) || !left.empty()) return std::nullopt;
  return std::move(pickler).Finish();
}

}  // namespace graphnet::pt2
