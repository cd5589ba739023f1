#include "graphnet/formats/torchscript/pickle_check.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/code_check.h"
#include "graphnet/formats/torchscript/packed_parameters.h"

namespace graphnet {
namespace {

using Id = Pickle::Id;

// LibTorch walks modules and the types of tuples as trees, even if they share
// parts. These bounds limit how much larger than the file the tree may be. 2^14
// visits of one module take 20 s, a shared tuple of 2^10 leaves takes 0.6 s.
constexpr uint64_t kMaxTreeRatio = 8;
constexpr uint64_t kMinTreeLimit = 1024;
constexpr uint64_t kMaxSharedTuple = 1024;

constexpr uint64_t kCap = uint64_t{1} << 60;

// The most bytes of source text that a flat table of positions may make.
constexpr uint64_t kMaxCopiedBytes = kMaxTextFileBytes;

// The types of PyTorch's storages, with the sizes of their elements in bytes. Those of quantised
// tensors have a range, in which zero points lie.
struct StorageType {
  absl::string_view name;
  int64_t element_size;
  int64_t low = 0;
  int64_t high = 0;
  bool is_quantised() const { return high != 0; }
};
constexpr StorageType kStorageTypes[] = {
    {"BFloat16Storage", 2},
    {"BoolStorage", 1},
    {"ByteStorage", 1},
    {"CharStorage", 1},
    {"ComplexDoubleStorage", 16},
    {"ComplexFloatStorage", 8},
    {"ComplexHalfStorage", 4},
    {"DoubleStorage", 8},
    {"Float8_e4m3fnStorage", 1},
    {"Float8_e4m3fnuzStorage", 1},
    {"Float8_e5m2Storage", 1},
    {"Float8_e5m2fnuzStorage", 1},
    {"Float8_e8m0fnuStorage", 1},
    {"FloatStorage", 4},
    {"HalfStorage", 2},
    {"IntStorage", 4},
    {"LongStorage", 8},
    {"QInt32Storage", 4, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()},
    {"QInt8Storage", 1, -128, 127},
    {"QUInt8Storage", 1, 0, 255},
    {"ShortStorage", 2},
    {"UInt16Storage", 2},
    {"UInt32Storage", 4},
    {"UInt64Storage", 8},
};

bool IsDigits(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, absl::ascii_isdigit);
}

// Returns whether the text names a device, such as "cpu" or "cuda:0".
bool IsDevice(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  static constexpr absl::string_view kTypes[] = {"cpu", "cuda", "hpu", "meta", "mps", "xpu"};
  if (!absl::c_linear_search(kTypes, parts.first)) return false;
  return !absl::StrContains(text, ':') || (parts.second.size() <= 3 && IsDigits(parts.second));
}

// Returns whether a class can be one of the archive's code. LibTorch parses the name
// recursively as an expression, so the number of its parts is limited.
bool IsOwnClass(absl::string_view module, absl::string_view name) {
  const std::string full = absl::StrCat(module, ".", name);
  if (full == "__torch__.torch.classes" || absl::StartsWith(full, "__torch__.torch.classes.")) {
    return false;
  }
  int parts = 0;
  for (absl::string_view part : absl::StrSplit(full, '.')) {
    if (part.empty() || (part[0] >= '0' && part[0] <= '9')) return false;
    if (++parts == 1 && part != "__torch__") return false;
  }
  return parts > 1 && parts <= kMaxNesting;
}

// Returns whether a node is a tuple of elements of these kinds.
bool IsTuple(const Pickle& pickle, Id id, absl::Span<const PickleKind> kinds) {
  return pickle.kind(id) == PickleKind::kTuple &&
         absl::c_equal(pickle.children(id), kinds,
                       [&](Id element, PickleKind kind) { return pickle.kind(element) == kind; });
}

class ValueCheck {
 public:
  ValueCheck(const Pickle& pickle, StorageSize storage_size)
      : pickle_(pickle), storage_size_(storage_size), callee_(pickle.size(), Callee::kNone) {}

  absl::Status Run() {
    // The content that a node may have depends on the call that takes it, and
    // calls come after their arguments. The first pass therefore classifies calls.
    for (Id id : pickle_.postorder()) {
      if (pickle_.kind(id) == PickleKind::kReduce) {
        ASSIGN_OR_RETURN(callee_[id], Classify(id));
      }
    }
    for (Id id : pickle_.postorder()) RETURN_IF_ERROR(CheckNode(id));
    for (Id id : pickle_.postorder()) RETURN_IF_ERROR(CheckPlaces(id));
    return CheckSharing();
  }

  bool has_objects_with_state() const { return has_objects_with_state_; }

 private:
  using Status = absl::Status;

  enum class Callee : uint8_t {
    kNone,  // the node is not a call
    kTensor,
    kQuantisedTensor,
    kOrderedDict,
    kIntList,
    kDoubleList,
    kBoolList,
    kTensorList,
    kTypeTag,
    kDevice,
    kComplex,
    kEnum,
  };

  Status Error(Id id, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat("byte ", pickle_.offset(id), ": ", message));
  }
  bool Is(Id id, PickleKind kind) const { return pickle_.kind(id) == kind; }
  bool IsCall(Id id, Callee callee) const { return callee_[id] == callee; }
  bool IsTensor(Id id) const {
    return IsCall(id, Callee::kTensor) || IsCall(id, Callee::kQuantisedTensor);
  }

  // Returns whether the arguments of a call are of these kinds.
  bool Takes(Id call, absl::Span<const PickleKind> kinds) const {
    return IsTuple(pickle_, pickle_.children(call)[1], kinds);
  }
  absl::Span<const Id> Arguments(Id call) const {
    return pickle_.children(pickle_.children(call)[1]);
  }

  absl::StatusOr<Callee> Classify(Id call) const {
    const Id function = pickle_.children(call)[0];
    if (!Is(function, PickleKind::kGlobal)) {
      return Error(call, "calls what is no function");
    }
    const absl::string_view module = pickle_.module(function);
    const absl::string_view name = pickle_.name(function);
    static constexpr struct {
      absl::string_view module;
      absl::string_view name;
      Callee callee;
    } kCallees[] = {
        {"torch._utils", "_rebuild_tensor_v2", Callee::kTensor},
        {"torch._utils", "_rebuild_qtensor", Callee::kQuantisedTensor},
        {"collections", "OrderedDict", Callee::kOrderedDict},
        {"torch.jit._pickle", "build_intlist", Callee::kIntList},
        {"torch.jit._pickle", "build_doublelist", Callee::kDoubleList},
        {"torch.jit._pickle", "build_boollist", Callee::kBoolList},
        {"torch.jit._pickle", "build_tensorlist", Callee::kTensorList},
        {"torch.jit._pickle", "restore_type_tag", Callee::kTypeTag},
        {"torch", "device", Callee::kDevice},
        {"builtins", "complex", Callee::kComplex},
    };
    for (const auto& known : kCallees) {
      if (module == known.module && name == known.name) return known.callee;
    }
    if (IsOwnClass(module, name)) return Callee::kEnum;
    return Error(function, absl::StrCat("calls ", Printable(module), ".", Printable(name),
                                        ", which is not on the list"));
  }

  Status CheckNode(Id id) {
    switch (pickle_.kind(id)) {
      case PickleKind::kReduce: return CheckCall(id);
      case PickleKind::kObject: return CheckObject(id);
      case PickleKind::kPersistentId: return CheckStorage(id);
      case PickleKind::kDict: return CheckKeys(id);
      default: return absl::OkStatus();
    }
  }

  Status CheckCall(Id call) {
    const Callee callee = callee_[call];
    switch (callee) {
      case Callee::kTensor: return CheckTensor(call);
      case Callee::kQuantisedTensor: return CheckQuantisedTensor(call);
      case Callee::kOrderedDict:
        if (Takes(call, {})) return absl::OkStatus();
        break;
      case Callee::kIntList:
      case Callee::kDoubleList:
      case Callee::kBoolList:
      case Callee::kTensorList:
        if (!Takes(call, {PickleKind::kList})) break;
        for (Id element : pickle_.children(Arguments(call)[0])) {
          const bool right = callee == Callee::kIntList      ? Is(element, PickleKind::kInt)
                             : callee == Callee::kDoubleList ? Is(element, PickleKind::kDouble)
                             : callee == Callee::kBoolList   ? Is(element, PickleKind::kBool)
                                                             : IsTensor(element);
          if (!right) return Error(element, "an element of the wrong type");
        }
        return absl::OkStatus();
      case Callee::kTypeTag: {
        const bool is_list = Takes(call, {PickleKind::kList, PickleKind::kString});
        if (!is_list && !Takes(call, {PickleKind::kDict, PickleKind::kString})) break;
        const absl::string_view type = pickle_.text(Arguments(call)[1]);
        if (!absl::StartsWith(type, is_list ? "List[" : "Dict[")) break;
        if (!types_.insert(type).second) return absl::OkStatus();
        const Status status = CheckTypeText(type);
        return status.ok() ? status : Error(Arguments(call)[1], status.message());
      }
      case Callee::kDevice:
        if (!Takes(call, {PickleKind::kString}) || !IsDevice(pickle_.text(Arguments(call)[0])))
          break;
        return absl::OkStatus();
      case Callee::kComplex:
        if (!Takes(call, {PickleKind::kDouble, PickleKind::kDouble})) break;
        return absl::OkStatus();
      case Callee::kEnum: {
        // The argument is the value itself. A class that is not an Enum would take
        // the argument as its state, which must be a dictionary.
        const PickleKind kind = pickle_.kind(pickle_.children(call)[1]);
        if (kind == PickleKind::kInt || kind == PickleKind::kDouble ||
            kind == PickleKind::kString) {
          return absl::OkStatus();
        }
        break;
      }
      case Callee::kNone: break;
    }
    return Error(
        call, absl::StrCat("the arguments of ", Printable(pickle_.name(pickle_.children(call)[0])),
                           " are not what torch.jit.save writes"));
  }

  // Checks _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks).
  Status CheckTensor(Id call) {
    const absl::Span<const Id> arguments = Arguments(call);
    if (!Takes(call, {PickleKind::kPersistentId, PickleKind::kInt, PickleKind::kTuple,
                      PickleKind::kTuple, PickleKind::kBool, PickleKind::kReduce}) ||
        !IsCall(arguments[5], Callee::kOrderedDict)) {
      return Error(call, "a tensor is not what torch.jit.save writes");
    }
    if (storages_.at(arguments[0]).type->is_quantised()) {
      return Error(call, "a tensor of a quantised type without scale and zero point");
    }
    return CheckView(call);
  }

  // Checks _rebuild_qtensor(storage, offset, sizes, strides, quantiser, requires_grad, hooks).
  Status CheckQuantisedTensor(Id call) {
    const absl::Span<const Id> arguments = Arguments(call);
    if (!Takes(call,
               {PickleKind::kPersistentId, PickleKind::kInt, PickleKind::kTuple, PickleKind::kTuple,
                PickleKind::kTuple, PickleKind::kBool, PickleKind::kReduce}) ||
        !IsCall(arguments[6], Callee::kOrderedDict)) {
      return Error(call, "a quantised tensor is not what torch.jit.save writes");
    }
    const Stored& stored = storages_.at(arguments[0]);
    if (!stored.type->is_quantised()) {
      return Error(call, "a quantised tensor in a storage of another type");
    }
    RETURN_IF_ERROR(CheckView(call));
    const View& view = views_.at(call);
    // Packing makes a copy of all elements.
    if (view.elements > stored.elements) {
      return Error(call, "a quantised tensor of more elements than its storage");
    }
    return CheckQuantiser(arguments[4], pickle_.children(arguments[2]), *stored.type);
  }

  // Checks (torch.per_tensor_affine, scale, zero point) or
  // (torch.per_channel_affine, scales, zero points, axis).
  Status CheckQuantiser(Id tuple, absl::Span<const Id> sizes, const StorageType& type) {
    const absl::Span<const Id> parts = pickle_.children(tuple);
    quantisers_.insert(tuple);
    if (parts.empty() || !Is(parts[0], PickleKind::kGlobal) ||
        pickle_.module(parts[0]) != "torch") {
      return Error(tuple, "a quantiser is not what torch.jit.save writes");
    }
    const absl::string_view scheme = pickle_.name(parts[0]);
    if (scheme == "per_tensor_affine" &&
        IsTuple(pickle_, tuple, {PickleKind::kGlobal, PickleKind::kDouble, PickleKind::kInt})) {
      if (pickle_.integer(parts[2]) < type.low || pickle_.integer(parts[2]) > type.high) {
        return Error(parts[2], "a zero point outside of the tensor's type");
      }
      return absl::OkStatus();
    }
    const bool has_floats = scheme == "per_channel_affine_float_qparams";
    if ((scheme != "per_channel_affine" && !has_floats) ||
        !IsTuple(
            pickle_, tuple,
            {PickleKind::kGlobal, PickleKind::kReduce, PickleKind::kReduce, PickleKind::kInt}) ||
        !IsCall(parts[1], Callee::kTensor) || !IsCall(parts[2], Callee::kTensor)) {
      return Error(tuple, "a quantiser is not what torch.jit.save writes");
    }
    const int64_t axis = pickle_.integer(parts[3]);
    if (axis < 0 || axis >= static_cast<int64_t>(sizes.size())) {
      return Error(parts[3], "a quantiser's axis is not a dimension of its tensor");
    }
    const int64_t channels = pickle_.integer(sizes[static_cast<size_t>(axis)]);
    for (const Id part : {parts[1], parts[2]}) {
      const View& view = views_.at(part);
      const absl::string_view name = storages_.at(Arguments(part)[0]).type->name;
      const bool is_float = name == "FloatStorage" || name == "DoubleStorage";
      if (view.rank != 1 || view.elements != channels) {
        return Error(part, absl::StrCat("a quantiser has not a scale and a zero point for each of ",
                                        channels, " channels"));
      }
      if (part == parts[1] || has_floats ? !is_float : name != "LongStorage") {
        return Error(part, "scales or zero points of an unusual type");
      }
    }
    return absl::OkStatus();
  }

  // Checks the storage, offset, sizes and strides with which the arguments of a call begin.
  Status CheckView(Id call) {
    const absl::Span<const Id> arguments = Arguments(call);
    const int64_t stored = storages_.at(arguments[0]).elements;
    const absl::Span<const Id> sizes = pickle_.children(arguments[2]);
    const absl::Span<const Id> strides = pickle_.children(arguments[3]);
    if (sizes.size() != strides.size() || sizes.size() > static_cast<size_t>(kMaxRank)) {
      return Error(call, "a tensor of unusual rank");
    }
    // A storage has less than 2^63 bytes, so its offsets fit into int64_t.
    const int64_t offset = pickle_.integer(arguments[1]);
    int64_t elements = 1;  // product of the sizes above 0; a 0 would hide the others
    bool is_empty = false;
    __extension__ __int128 last = offset;  // the farthest element
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!Is(sizes[i], PickleKind::kInt) || !Is(strides[i], PickleKind::kInt)) {
        return Error(call, "a tensor's size or stride is not a number");
      }
      const int64_t size = pickle_.integer(sizes[i]);
      const int64_t stride = pickle_.integer(strides[i]);
      if (size < 0 || stride < 0) {
        return Error(call, "a tensor of a negative size or stride");
      }
      if (size > 0 && elements > kMaxTensorElements / size) {
        return Error(call, absl::StrCat("a tensor of more than ", kMaxTensorElements, " elements"));
      }
      is_empty |= size == 0;
      if (size > 0) elements *= size;
      if (size > 0) last += static_cast<__int128>(size - 1) * stride;
    }
    if (offset < 0 || offset > stored || (!is_empty && last >= stored)) {
      return Error(call, "a tensor reaches beyond its storage");
    }
    tensor_arguments_.insert(pickle_.children(call)[1]);
    views_[call] = {is_empty ? 0 : elements, static_cast<int>(sizes.size())};
    return absl::OkStatus();
  }

  // Checks ("storage", torch.FloatStorage, key, device, elements).
  Status CheckStorage(Id id) {
    const Id tuple = pickle_.children(id)[0];
    const absl::Span<const Id> parts = pickle_.children(tuple);
    if (!IsTuple(pickle_, tuple,
                 {PickleKind::kString, PickleKind::kGlobal, PickleKind::kString,
                  PickleKind::kString, PickleKind::kInt}) ||
        pickle_.text(parts[0]) != "storage") {
      return Error(id, "a storage is not what torch.jit.save writes");
    }
    storage_tuples_.insert(tuple);
    const StorageType* const type = absl::c_find_if(kStorageTypes, [&](const StorageType& known) {
      return pickle_.module(parts[1]) == "torch" && pickle_.name(parts[1]) == known.name;
    });
    if (type == std::end(kStorageTypes)) {
      return Error(parts[1], absl::StrCat("a storage of the unknown type ",
                                          Printable(pickle_.name(parts[1]))));
    }
    const absl::string_view key = pickle_.text(parts[2]);
    const std::optional<uint64_t> size = IsStorageKey(key) ? storage_size_(key) : std::nullopt;
    if (!size.has_value()) {
      return Error(parts[2], absl::StrCat("the archive has no storage '", Printable(key), "'"));
    }
    // LibTorch would read the entry once for each mention.
    if (!keys_.insert(key).second) {
      return Error(parts[2], absl::StrCat("storage ", key, " is there twice"));
    }
    if (!IsDevice(pickle_.text(parts[3]))) {
      return Error(parts[3], "a storage on an unknown device");
    }
    const int64_t elements = pickle_.integer(parts[4]);
    const int64_t element_size = type->element_size;
    if (elements < 0 || elements > static_cast<int64_t>(kMaxArchiveBytes) / element_size ||
        static_cast<uint64_t>(elements * element_size) != *size) {
      return Error(id, absl::StrCat("storage ", key, " has ", *size, " bytes, not ", elements,
                                    " elements of ", element_size, " bytes"));
    }
    storages_[id] = {elements, type};
    return absl::OkStatus();
  }

  // Checks a cls.__new__() with a state: a dictionary of the attributes, or what the class's
  // __setstate__ takes (state_loader.h).
  Status CheckObject(Id id) {
    const absl::Span<const Id> parts = pickle_.children(id);
    const bool is_packed =
        Is(parts[0], PickleKind::kGlobal) &&
        IsPackedParameters(absl::StrCat(pickle_.module(parts[0]), ".", pickle_.name(parts[0])));
    if (!Is(parts[0], PickleKind::kGlobal) ||
        (!is_packed && !IsOwnClass(pickle_.module(parts[0]), pickle_.name(parts[0])))) {
      return Error(id, "an object of a class that the archive may not use");
    }
    if (!Is(parts[1], PickleKind::kTuple) || !pickle_.children(parts[1]).empty() ||
        parts.size() != 3 || pickle_.used_unbuilt(id)) {
      return Error(id, "an object is not what torch.jit.save writes");
    }
    if (Is(parts[2], PickleKind::kTuple)) {
      has_objects_with_state_ = true;
      return absl::OkStatus();
    }
    if (is_packed || !Is(parts[2], PickleKind::kDict)) {
      return Error(id, "an object is not what torch.jit.save writes");
    }
    absl::flat_hash_set<absl::string_view> names;
    const absl::Span<const Id> state = pickle_.children(parts[2]);
    for (size_t i = 0; i < state.size(); i += 2) {
      if (!Is(state[i], PickleKind::kString) || !names.insert(pickle_.text(state[i])).second) {
        return Error(state[i], "an attribute's name is not a string or is there twice");
      }
    }
    return absl::OkStatus();
  }

  Status CheckKeys(Id id) const {
    const absl::Span<const Id> items = pickle_.children(id);
    for (size_t i = 0; i < items.size(); i += 2) {
      const PickleKind kind = pickle_.kind(items[i]);
      if (kind != PickleKind::kString && kind != PickleKind::kInt && kind != PickleKind::kDouble &&
          kind != PickleKind::kBool && !IsCall(items[i], Callee::kComplex) &&
          !IsCall(items[i], Callee::kDevice) && !IsTensor(items[i])) {
        return Error(items[i], "a dictionary's key of an unusual type");
      }
    }
    return absl::OkStatus();
  }

  // Refuses values in the wrong place: LibTorch represents a function or a type as a
  // number, an unused storage as a tensor, and an OrderedDict as nothing.
  Status CheckPlaces(Id id) const {
    const PickleKind kind = pickle_.kind(id);
    const absl::Span<const Id> children = pickle_.children(id);
    for (size_t i = 0; i < children.size(); ++i) {
      const Id child = children[i];
      const bool placed =
          Is(child, PickleKind::kGlobal)
              ? (i == 0 && (kind == PickleKind::kReduce || kind == PickleKind::kObject)) ||
                    (i == 1 && storage_tuples_.contains(id)) || (i == 0 && quantisers_.contains(id))
          : Is(child, PickleKind::kPersistentId) || IsCall(child, Callee::kOrderedDict)
              ? tensor_arguments_.contains(id)
              : true;
      if (!placed) return Error(child, "a value where it does not belong");
    }
    return absl::OkStatus();
  }

  // Checks the bounds at kMaxTreeRatio.
  Status CheckSharing() const {
    std::vector<uint64_t> tree(pickle_.size(),
                               1);  // size of the tree; shared nodes count at each mention
    std::vector<uint8_t> parents(pickle_.size(), 0);
    std::vector<bool> shares(pickle_.size(), false);  // contains a shared tuple
    uint64_t edges = 0;
    for (Id id : pickle_.postorder()) {
      for (Id child : pickle_.children(id)) {
        ++edges;
        tree[id] = std::min(tree[id] + tree[child], kCap);
        parents[child] = std::min(parents[child] + 1, 2);
      }
    }
    for (Id id : pickle_.postorder()) {
      for (Id child : pickle_.children(id)) {
        if (shares[child] ||
            (Is(child, PickleKind::kTuple) && parents[child] > 1 && tree[child] > 1)) {
          shares[id] = true;
        }
      }
      if (Is(id, PickleKind::kTuple) && shares[id] && tree[id] > kMaxSharedTuple) {
        return Error(id, "a tuple of shared tuples is too large");
      }
    }
    if (tree[pickle_.root()] > kMaxTreeRatio * edges + kMinTreeLimit) {
      return Error(pickle_.root(), "values are shared too often");
    }
    return absl::OkStatus();
  }

  const Pickle& pickle_;
  const StorageSize storage_size_;
  std::vector<Callee> callee_;                    // by node
  absl::flat_hash_set<absl::string_view> types_;  // types that passed the check
  absl::flat_hash_set<absl::string_view> keys_;
  struct Stored {
    int64_t elements;
    const StorageType* type;
  };
  struct View {
    int64_t elements;
    int rank;
  };
  absl::flat_hash_map<Id, Stored> storages_;  // by persistent id
  absl::flat_hash_map<Id, View> views_;       // by the call that makes a tensor
  absl::flat_hash_set<Id> quantisers_;
  bool has_objects_with_state_ = false;
  absl::flat_hash_set<Id> storage_tuples_;
  absl::flat_hash_set<Id> tensor_arguments_;
};

// Checks the sources that a .debug_pkl refers to.
class DebugCheck {
 public:
  explicit DebugCheck(const Pickle& pickle) : pickle_(pickle) {}

  // Checks the root, ("FORMAT_WITH_STRING_TABLE", (text, ...), (row, ...)), or (row, ...) as
  // PyTorch 1.9 and before wrote it.
  absl::Status Run() {
    if (pickle_.kind(pickle_.root()) != PickleKind::kTuple) return Error(pickle_.root());
    absl::Span<const Id> rows = pickle_.children(pickle_.root());
    has_texts_ = !rows.empty() && pickle_.kind(rows[0]) == PickleKind::kString;
    if (has_texts_) {
      if (!IsTuple(pickle_, pickle_.root(),
                   {PickleKind::kString, PickleKind::kTuple, PickleKind::kTuple}) ||
          pickle_.text(rows[0]) != "FORMAT_WITH_STRING_TABLE") {
        return Error(pickle_.root());
      }
      texts_ = pickle_.children(rows[1]);
      rows = pickle_.children(rows[2]);
    } else if (rows.empty()) {
      return Error(pickle_.root());  // LibTorch reads the first row.
    }
    for (Id text : texts_) {
      if (pickle_.kind(text) != PickleKind::kString) return Error(text);
    }
    for (Id row : rows) {
      // A row is (offset, (source, begin, end)), and a tag after them since PyTorch 1.6.
      if ((!IsTuple(pickle_, row, {PickleKind::kInt, PickleKind::kTuple, PickleKind::kInt}) &&
           !IsTuple(pickle_, row, {PickleKind::kInt, PickleKind::kTuple})) ||
          !IsTuple(pickle_, pickle_.children(row)[1],
                   {PickleKind::kTuple, PickleKind::kInt, PickleKind::kInt})) {
        return Error(row);
      }
      const absl::Span<const Id> range = pickle_.children(pickle_.children(row)[1]);
      const int64_t begin = pickle_.integer(range[1]), end = pickle_.integer(range[2]);
      // The writer gives an empty source the range from 0 to 1.
      int64_t length = 0;
      if (!SourceLength(range[0], &length) || begin < 0 || begin > end || begin > length ||
          end > length + 1) {
        return Error(row);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(Id id) const {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", pickle_.offset(id),
                     ": not a table of source positions as torch.jit.save "
                     "writes it"));
  }
  bool IsTextIndex(Id id) const {
    return pickle_.kind(id) == PickleKind::kInt && pickle_.integer(id) >= 0 &&
           static_cast<uint64_t>(pickle_.integer(id)) < texts_.size();
  }

  // Finds the length of a source, (build_intlist([index of a text, ...]), index of the file name,
  // line). Returns false if it is malformed.
  bool SourceLength(Id source, int64_t* length) {
    const auto known = lengths_.find(source);
    if (known != lengths_.end()) {
      *length = known->second;
      return true;
    }
    const absl::Span<const Id> fields = pickle_.children(source);
    if (!has_texts_) return FlatSourceLength(source, length);
    if (!IsTuple(pickle_, source, {PickleKind::kReduce, PickleKind::kInt, PickleKind::kInt}) ||
        !IsTextIndex(fields[1])) {
      return false;
    }
    const absl::Span<const Id> call = pickle_.children(fields[0]);
    if (pickle_.kind(call[0]) != PickleKind::kGlobal ||
        pickle_.module(call[0]) != "torch.jit._pickle" ||
        pickle_.name(call[0]) != "build_intlist" ||
        !IsTuple(pickle_, call[1], {PickleKind::kList})) {
      return false;
    }
    *length = 0;  // at most 2^26 texts of 2^26 bytes
    for (Id element : pickle_.children(pickle_.children(call[1])[0])) {
      if (!IsTextIndex(element)) return false;
      *length += static_cast<int64_t>(pickle_.text(texts_[pickle_.integer(element)]).size());
    }
    lengths_.emplace(source, *length);
    return true;
  }

  // Finds the length of a source in a flat table, (text, name of the file or None, line).
  bool FlatSourceLength(Id source, int64_t* length) {
    if (!IsTuple(pickle_, source, {PickleKind::kString, PickleKind::kString, PickleKind::kInt}) &&
        !IsTuple(pickle_, source, {PickleKind::kString, PickleKind::kNone, PickleKind::kInt})) {
      return false;
    }
    *length = static_cast<int64_t>(pickle_.text(pickle_.children(source)[0]).size());
    lengths_.emplace(source, *length);
    // LibTorch copies the text for each source, even if they share it.
    copied_bytes_ += static_cast<uint64_t>(*length);
    return copied_bytes_ <= kMaxCopiedBytes;
  }

  const Pickle& pickle_;
  bool has_texts_ = false;
  absl::Span<const Id> texts_;
  absl::flat_hash_map<Id, int64_t> lengths_;
  uint64_t copied_bytes_ = 0;
};

}  // namespace

bool IsStorageKey(absl::string_view key) {
  return !key.empty() && absl::c_all_of(key, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

absl::StatusOr<bool> CheckValuePickle(const Pickle& pickle, StorageSize storage_size) {
  ValueCheck check(pickle, storage_size);
  RETURN_IF_ERROR(check.Run());
  return check.has_objects_with_state();
}

absl::Status CheckDebugPickle(const Pickle& pickle) { return DebugCheck(pickle).Run(); }

std::vector<uint64_t> StringBytes(const Pickle& pickle) {
  std::vector<uint64_t> bytes(pickle.size(), 0);
  for (Id id : pickle.postorder()) {
    if (pickle.kind(id) == PickleKind::kString) {
      bytes[id] = pickle.text(id).size();
    }
    for (Id child : pickle.children(id)) {
      bytes[id] = std::min(bytes[id] + bytes[child], kCap);
    }
  }
  std::vector<uint64_t> result;
  for (Id child : pickle.children(pickle.root())) {
    result.push_back(bytes[child]);
  }
  return result;
}

}  // namespace graphnet
