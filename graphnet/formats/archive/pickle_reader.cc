#include "graphnet/formats/archive/pickle_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

// The opcodes. Their names come from Python's pickletools.
enum Opcode : unsigned char {
  kProto = 0x80,
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kGlobal = 'c',
  kReduce = 'R',
  kNewObj = 0x81,
  kBuild = 'b',
  kBinPersId = 'Q',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
};

bool IsGlobalName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
}

}  // namespace

class PickleParser {
 public:
  PickleParser(absl::string_view bytes, bool has_ordered_dicts)
      : has_ordered_dicts_(has_ordered_dicts) {
    pickle_.bytes_ = bytes;
  }

  absl::StatusOr<Pickle> Parse() {
    if (bytes().size() > kMaxTextFileBytes) {
      return absl::InvalidArgumentError(absl::StrCat("larger than ", kMaxTextFileBytes, " bytes"));
    }
    if (bytes().size() < 2 || Byte(0) != kProto || Byte(1) != 2) {
      return Error("not a pickle of protocol 2");
    }
    at_ = 2;
    while (!stopped_) {
      start_ = at_;
      if (at_ == bytes().size()) return Error("the pickle is cut short");
      RETURN_IF_ERROR(Step());
    }
    if (at_ != bytes().size()) return Error("the pickle is followed by bytes");
    LinkChildren();
    RETURN_IF_ERROR(Order());
    return std::move(pickle_);
  }

 private:
  using Id = Pickle::Id;

  absl::string_view bytes() const { return pickle_.bytes_; }
  unsigned char Byte(size_t at) const { return static_cast<unsigned char>(bytes()[at]); }

  absl::Status ErrorAtByte(size_t offset, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat("byte ", offset, ": ", message));
  }
  absl::Status Error(absl::string_view message) const { return ErrorAtByte(start_, message); }

  // Executes one opcode.
  absl::Status Step() {
    const unsigned char opcode = Byte(at_++);
    uint64_t number = 0;
    switch (opcode) {
      case kStop:
        if (!marks_.empty() || stack_.size() != 1) {
          return Error("the pickle does not end with one value");
        }
        pickle_.root_ = stack_.back();
        stopped_ = true;
        return absl::OkStatus();

      case kMark: marks_.push_back(stack_.size()); return absl::OkStatus();

      case kNone: return Push(PickleKind::kNone);
      case kNewTrue:
      case kNewFalse: return PushNumber(PickleKind::kBool, opcode == kNewTrue);
      case kBinInt:
        RETURN_IF_ERROR(ReadNumber(4, &number));
        return PushNumber(PickleKind::kInt, static_cast<int64_t>(static_cast<int32_t>(number)));
      case kBinInt1:
      case kBinInt2:
        RETURN_IF_ERROR(ReadNumber(opcode == kBinInt1 ? 1 : 2, &number));
        return PushNumber(PickleKind::kInt, number);
      case kLong1: {
        RETURN_IF_ERROR(ReadNumber(1, &number));
        const int width = static_cast<int>(number);
        if (width > 8) return Error("an integer does not fit 64 bits");
        RETURN_IF_ERROR(ReadNumber(width, &number));
        if (width > 0 && width < 8 && (number >> (8 * width - 1)) != 0) {
          number |= ~uint64_t{0} << (8 * width);  // a negative number
        }
        return PushNumber(PickleKind::kInt, number);
      }
      case kBinFloat: {
        RETURN_IF_ERROR(ReadNumber(8, &number));
        uint64_t swapped = 0;  // Only this opcode has a big-endian number.
        for (int i = 0; i < 8; ++i) {
          swapped = swapped << 8 | ((number >> (8 * i)) & 0xFF);
        }
        return PushNumber(PickleKind::kDouble, swapped);
      }
      case kBinUnicode: {
        RETURN_IF_ERROR(ReadNumber(4, &number));
        if (bytes().size() - at_ < number) {
          return Error("a string is cut short");
        }
        if (!IsUtf8(bytes().substr(at_, number))) {
          return Error("a string is not UTF-8");
        }
        RETURN_IF_ERROR(Push(PickleKind::kString, at_, number));
        at_ += number;
        return absl::OkStatus();
      }
      case kGlobal: return PushGlobal();

      case kEmptyTuple: return Push(PickleKind::kTuple);
      case kEmptyList: return Push(PickleKind::kList);
      case kEmptyDict: return Push(PickleKind::kDict);
      case kTuple: {
        size_t first = 0;
        RETURN_IF_ERROR(PopMark(&first));
        return Build(PickleKind::kTuple, stack_.size() - first);
      }
      case kTuple1:
      case kTuple2:
      case kTuple3: return Build(PickleKind::kTuple, opcode - kTuple1 + 1);
      case kReduce:
        if (MakesOrderedDict()) {
          stack_.resize(stack_.size() - 2);
          return Push(PickleKind::kDict);
        }
        return Build(PickleKind::kReduce, 2);
      case kNewObj: return Build(PickleKind::kObject, 2);
      case kBinPersId: return Build(PickleKind::kPersistentId, 1);

      case kAppend: return Extend(PickleKind::kList, 1);
      case kSetItem: return Extend(PickleKind::kDict, 2);
      case kAppends:
      case kSetItems: {
        size_t first = 0;
        RETURN_IF_ERROR(PopMark(&first));
        return Extend(opcode == kAppends ? PickleKind::kList : PickleKind::kDict,
                      stack_.size() - first);
      }
      case kBuild:
        if (has_ordered_dicts_ && stack_.size() - Floor() >= 2 &&
            pickle_.kind(stack_[stack_.size() - 2]) == PickleKind::kDict) {
          stack_.pop_back();
          return absl::OkStatus();
        }
        return Extend(PickleKind::kObject, 1);

      case kBinGet:
      case kLongBinGet: {
        RETURN_IF_ERROR(ReadNumber(opcode == kBinGet ? 1 : 4, &number));
        if (number >= memo_.size()) return Error("the memo has no such value");
        const Id id = memo_[number];
        if (IsUnbuilt(id)) pickle_.nodes_[id].used_unbuilt = true;
        stack_.push_back(id);
        return absl::OkStatus();
      }
      case kBinPut:
      case kLongBinPut: {
        RETURN_IF_ERROR(ReadNumber(opcode == kBinPut ? 1 : 4, &number));
        // All picklers count up. With other numbers, a few bytes could require a memo of gigabytes,
        // or replace a value that is already in use.
        if (number != memo_.size()) return Error("a memo number out of order");
        if (stack_.size() == Floor()) return Error("the stack is empty");
        const Id id = stack_.back();
        if (IsUnbuilt(id)) pickle_.nodes_[id].used_unbuilt = true;
        memo_.push_back(id);
        return absl::OkStatus();
      }
      default:
        return Error(
            absl::StrCat("opcode 0x", absl::Hex(opcode), " is not one that PyTorch writes"));
    }
  }

  // Reads a little-endian number of at most 8 bytes.
  absl::Status ReadNumber(int width, uint64_t* number) {
    if (bytes().size() - at_ < static_cast<size_t>(width)) {
      return Error("the pickle is cut short");
    }
    *number = 0;
    for (int i = width - 1; i >= 0; --i) {
      *number = *number << 8 | Byte(at_ + i);
    }
    at_ += width;
    return absl::OkStatus();
  }

  absl::Status Push(PickleKind kind, size_t first = 0, size_t count = 0) {
    Pickle::Node node;
    node.kind = kind;
    node.offset = static_cast<uint32_t>(start_);
    node.first = static_cast<uint32_t>(first);
    node.count = static_cast<uint32_t>(count);
    stack_.push_back(static_cast<Id>(pickle_.nodes_.size()));
    pickle_.nodes_.push_back(node);
    return absl::OkStatus();
  }
  absl::Status PushNumber(PickleKind kind, uint64_t bits) {
    return Push(kind, bits & 0xFFFFFFFF, bits >> 32);
  }

  // Reads "module\nname\n".
  absl::Status PushGlobal() {
    const size_t first = at_;
    for (int line = 0; line < 2; ++line) {
      const size_t end = bytes().find('\n', at_);
      if (end == bytes().npos || !IsGlobalName(bytes().substr(at_, end - at_))) {
        return Error("a global is not of the form module, name");
      }
      at_ = end + 1;
    }
    if (at_ - 1 - first > kMaxNameBytes) {
      return Error("a global's name is too long");
    }
    return Push(PickleKind::kGlobal, first, at_ - 1 - first);
  }

  // Returns the size of the stack at the last mark. Values below it cannot be used.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  absl::Status PopMark(size_t* first) {
    if (marks_.empty()) return Error("the stack has no mark");
    *first = marks_.back();
    marks_.pop_back();
    return absl::OkStatus();
  }

  bool IsUnbuilt(Id id) const {
    const Pickle::Node& node = pickle_.nodes_[id];
    return node.kind == PickleKind::kObject && node.count < 3;
  }

  // Returns whether the upper two values are collections.OrderedDict and no arguments.
  bool MakesOrderedDict() const {
    if (!has_ordered_dicts_ || stack_.size() - Floor() < 2) return false;
    const Id callee = stack_[stack_.size() - 2], args = stack_.back();
    return pickle_.kind(callee) == PickleKind::kGlobal && pickle_.module(callee) == "collections" &&
           pickle_.name(callee) == "OrderedDict" && pickle_.kind(args) == PickleKind::kTuple &&
           pickle_.nodes_[args].count == 0;
  }

  // Replaces the upper `count` values by one that consists of them.
  absl::Status Build(PickleKind kind, size_t count) {
    if (stack_.size() - Floor() < count) return Error("the stack is too small");
    const Id parent = static_cast<Id>(pickle_.nodes_.size());
    MoveChildren(parent, count);
    return Push(kind, 0, count);
  }

  // Adds the upper `count` values to the one below them.
  absl::Status Extend(PickleKind kind, size_t count) {
    if (stack_.size() - Floor() < count + 1) {
      return Error("the stack is too small");
    }
    const Id parent = stack_[stack_.size() - 1 - count];
    Pickle::Node& node = pickle_.nodes_[parent];
    if (node.kind != kind) return Error("the target is of the wrong kind");
    if (kind == PickleKind::kDict && count % 2 != 0) {
      return Error("a dictionary's key has no value");
    }
    if (kind == PickleKind::kObject && !IsUnbuilt(parent)) {
      return Error("an object gets its state twice");
    }
    node.count += static_cast<uint32_t>(count);
    MoveChildren(parent, count);
    return absl::OkStatus();
  }

  void MoveChildren(Id parent, size_t count) {
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      edges_.emplace_back(parent, stack_[i]);
    }
    stack_.resize(stack_.size() - count);
  }

  // Puts the children of each node side by side.
  void LinkChildren() {
    uint32_t total = 0;
    for (Pickle::Node& node : pickle_.nodes_) {
      if (node.kind < PickleKind::kTuple || node.kind == PickleKind::kGlobal) {
        continue;
      }
      node.first = total;
      total += node.count;
      node.count = 0;
    }
    pickle_.children_.resize(total);
    for (const auto& [parent, child] : edges_) {
      Pickle::Node& node = pickle_.nodes_[parent];
      pickle_.children_[node.first + node.count++] = child;
    }
    edges_ = {};
  }

  // Sorts the nodes so that children come first, computes the depth of each node from those of its
  // children, and refuses cycles.
  absl::Status Order() {
    enum State : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> state(pickle_.size(), kNew);
    std::vector<uint16_t> depth(pickle_.size(), 0);
    // Pairs of a node and the number of its children that have been visited.
    std::vector<std::pair<Id, uint32_t>> path = {{pickle_.root_, 0}};
    state[pickle_.root_] = kOpen;
    pickle_.postorder_.reserve(pickle_.size());
    while (!path.empty()) {
      auto& [id, next] = path.back();
      const absl::Span<const Id> children = pickle_.children(id);
      if (next < children.size()) {
        const Id child = children[next++];
        if (state[child] == kOpen) {
          return ErrorAtByte(pickle_.offset(child), "a value contains itself");
        }
        if (state[child] == kNew) {
          state[child] = kOpen;
          path.emplace_back(child, 0);
        }
        continue;
      }
      int nested = 0;
      for (Id child : children) nested = std::max<int>(nested, depth[child]);
      const PickleKind kind = pickle_.kind(id);
      if (kind >= PickleKind::kTuple && kind != PickleKind::kGlobal) ++nested;
      if (nested > kMaxPickleDepth) {
        return ErrorAtByte(pickle_.offset(id),
                           absl::StrCat("values are nested more than ", kMaxPickleDepth, " deep"));
      }
      depth[id] = static_cast<uint16_t>(nested);
      state[id] = kDone;
      pickle_.postorder_.push_back(id);
      path.pop_back();
    }
    return absl::OkStatus();
  }

  Pickle pickle_;
  size_t at_ = 0;     // offset of the next byte
  size_t start_ = 0;  // offset of the current opcode
  bool stopped_ = false;
  const bool has_ordered_dicts_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;  // sizes of the stack at the marks
  std::vector<Id> memo_;
  std::vector<std::pair<Id, Id>> edges_;  // pairs of a parent and a child
};

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes, bool has_ordered_dicts) {
  return PickleParser(bytes, has_ordered_dicts).Parse();
}

}  // namespace graphnet
