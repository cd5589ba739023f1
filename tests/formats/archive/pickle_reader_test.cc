#include "graphnet/formats/archive/pickle_reader.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"

namespace graphnet {
namespace {

using namespace pickle;  // NOLINT: the opcodes
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

void ExpectRefused(const std::string& bytes, const std::string& message) {
  EXPECT_THAT(Pickle::Parse(bytes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

TEST(PickleReaderTest, ReadsScalars) {
  const std::string bytes =
      Of(Tuple(None() + Bool(true) + Bool(false) + Int(-5) + "K\xff" + "M\xff\xff" +
               Int(std::numeric_limits<int64_t>::min()) + Double(-1.5) + Text("\xc3\xa4")));
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  ASSERT_EQ(p->kind(p->root()), PickleKind::kTuple);
  const absl::Span<const Pickle::Id> e = p->children(p->root());
  ASSERT_EQ(e.size(), 9u);
  EXPECT_EQ(p->kind(e[0]), PickleKind::kNone);
  EXPECT_EQ(p->kind(e[1]), PickleKind::kBool);
  EXPECT_TRUE(p->boolean(e[1]));
  EXPECT_FALSE(p->boolean(e[2]));
  EXPECT_EQ(p->kind(e[3]), PickleKind::kInt);
  EXPECT_EQ(p->integer(e[3]), -5);
  EXPECT_EQ(p->integer(e[4]), 255);
  EXPECT_EQ(p->integer(e[5]), 65535);
  EXPECT_EQ(p->integer(e[6]), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(p->kind(e[7]), PickleKind::kDouble);
  EXPECT_EQ(p->real(e[7]), -1.5);
  EXPECT_EQ(p->kind(e[8]), PickleKind::kString);
  EXPECT_EQ(p->text(e[8]), "\xc3\xa4");
  EXPECT_THAT(p->children(e[8]), IsEmpty());
}

TEST(PickleReaderTest, ReadsLongIntegersOfEveryWidth) {
  for (const auto& [bytes, value] : std::vector<std::pair<std::string, int64_t>>{
           {std::string("\x8a\0", 2), 0},
           {"\x8a\x01\xff", -1},
           {"\x8a\x01\x7f", 127},
           {std::string("\x8a\x02\xff\0", 4), 255},
           {"\x8a\x07" + std::string(6, '\0') + "\x80", -(int64_t{1} << 55)},
           {"\x8a\x08" + std::string(7, '\xff') + "\x7f", std::numeric_limits<int64_t>::max()},
       }) {
    const std::string whole = Of(bytes);
    const absl::StatusOr<Pickle> p = Pickle::Parse(whole);
    ASSERT_OK(p);
    EXPECT_EQ(p->integer(p->root()), value);
  }
  ExpectRefused(Of("\x8a\x09" + std::string(9, '\1')), "byte 2: an integer does not fit");
}

TEST(PickleReaderTest, ReadsContainers) {
  const std::string bytes =
      Of(Tuple(")" + Int(1) + "\x85" + Int(2) + Int(3) + "\x86" + Int(4) + Int(5) + Int(6) +
               "\x87" + List(Int(7) + Int(8)) + "]" + Int(9) + "a" + Dict(Text("k") + Int(10)) +
               "}" + Text("l") + Int(11) + "s" + List("") + Dict("")));
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  std::vector<std::pair<PickleKind, size_t>> shapes;
  for (Pickle::Id id : p->children(p->root())) {
    shapes.emplace_back(p->kind(id), p->children(id).size());
  }
  using K = PickleKind;
  EXPECT_THAT(shapes,
              ElementsAre(std::pair(K::kTuple, 0), std::pair(K::kTuple, 1), std::pair(K::kTuple, 2),
                          std::pair(K::kTuple, 3), std::pair(K::kList, 2), std::pair(K::kList, 1),
                          std::pair(K::kDict, 2), std::pair(K::kDict, 2), std::pair(K::kList, 0),
                          std::pair(K::kDict, 0)));
  const Pickle::Id last_tuple = p->children(p->root())[3];
  EXPECT_EQ(p->integer(p->children(last_tuple)[0]), 4);
  EXPECT_EQ(p->integer(p->children(last_tuple)[2]), 6);
  EXPECT_EQ(p->offset(last_tuple), bytes.find('\x87'));
}

TEST(PickleReaderTest, AppendsInBatchesKeepTheirOrder) {
  const std::string bytes =
      Of("](" + Int(1) + Int(2) + "e(" + "](" + Int(9) + "e" + Int(3) + "e" + Int(4) + "a");
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  const absl::Span<const Pickle::Id> e = p->children(p->root());
  ASSERT_EQ(e.size(), 5u);
  EXPECT_EQ(p->integer(e[1]), 2);
  EXPECT_EQ(p->kind(e[2]), PickleKind::kList);
  EXPECT_EQ(p->integer(e[4]), 4);
}

TEST(PickleReaderTest, NotesGlobalsCallsAndObjectsWithoutExecutingThem) {
  const std::string bytes = Of(Tuple(Reduce(Global("os", "system"), Tuple(Text("true"))) +
                                     Object(Global("__torch__.a", "B"), Dict(Text("x") + Int(1))) +
                                     PersistentId(Tuple(Text("storage")))));
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  const absl::Span<const Pickle::Id> e = p->children(p->root());
  EXPECT_EQ(p->kind(e[0]), PickleKind::kReduce);
  const Pickle::Id system = p->children(e[0])[0];
  EXPECT_EQ(p->kind(system), PickleKind::kGlobal);
  EXPECT_EQ(p->module(system), "os");
  EXPECT_EQ(p->name(system), "system");
  EXPECT_EQ(p->kind(p->children(e[0])[1]), PickleKind::kTuple);
  EXPECT_EQ(p->kind(e[1]), PickleKind::kObject);
  ASSERT_EQ(p->children(e[1]).size(), 3u);
  EXPECT_EQ(p->module(p->children(e[1])[0]), "__torch__.a");
  EXPECT_EQ(p->kind(p->children(e[1])[2]), PickleKind::kDict);
  EXPECT_FALSE(p->used_unbuilt(e[1]));
  EXPECT_EQ(p->kind(e[2]), PickleKind::kPersistentId);
  EXPECT_EQ(p->children(e[2]).size(), 1u);
}

TEST(PickleReaderTest, NotesObjectsThatAreUsedBeforeTheyHaveTheirState) {
  const std::string bytes = Of(Global("m", "C") + ")\x81" + Put(0) + "}b");
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  EXPECT_TRUE(p->used_unbuilt(p->root()));
}

TEST(PickleReaderTest, SharesValuesThatTheMemoRepeats) {
  const std::string bytes =
      Of(List(Int(1)) + Put(0) + Get(0) + "h" + std::string(1, '\0') + "\x87");
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  const absl::Span<const Pickle::Id> e = p->children(p->root());
  EXPECT_EQ(e[0], e[1]);
  EXPECT_EQ(e[0], e[2]);
  EXPECT_EQ(p->size(), 3u);
}

TEST(PickleReaderTest, ATreeOfManyValuesStaysSmall) {
  std::string value = Int(1);
  for (int i = 0; i < 900; ++i) value += Put(i) + Get(i) + "\x86";
  const std::string bytes = Of(value);  // 2^900 leaves
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  EXPECT_EQ(p->size(), 901u);
}

TEST(PickleReaderTest, OrdersChildrenFirst) {
  const std::string bytes =
      Of(List(Int(1) + Tuple(Int(2) + List(Int(3)) + Put(0))) + Get(0) + "\x86");
  const absl::StatusOr<Pickle> p = Pickle::Parse(bytes);
  ASSERT_OK(p);
  std::set<Pickle::Id> seen;
  for (Pickle::Id id : p->postorder()) {
    for (Pickle::Id child : p->children(id)) EXPECT_TRUE(seen.contains(child));
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), p->size());
  EXPECT_EQ(p->postorder().back(), p->root());
}

TEST(PickleReaderTest, RefusesCycles) {
  ExpectRefused(Of("]" + Put(0) + Get(0) + "a"), "contains itself");
  ExpectRefused(Of("]" + Put(0) + Tuple(Get(0)) + "a"), "contains itself");
  ExpectRefused(Of("}" + Put(0) + Text("k") + Get(0) + "s"), "contains itself");
}

TEST(PickleReaderTest, LimitsTheDepth) {
  const auto nested = [](int depth) {
    return Of(std::string(depth - 1, '(') + "]" + std::string(depth - 1, 't'));
  };
  EXPECT_OK(Pickle::Parse(nested(kMaxPickleDepth - 1)));
  EXPECT_OK(Pickle::Parse(nested(kMaxPickleDepth)));
  ExpectRefused(nested(kMaxPickleDepth + 1), "nested more than 1000 deep");
  ExpectRefused(nested(1000000), "nested more than 1000 deep");
  // These lists are filled only after all are created.
  const auto filled = [](int depth) {
    return Of(std::string(depth, ']') + std::string(depth - 1, 'a'));
  };
  EXPECT_OK(Pickle::Parse(filled(kMaxPickleDepth)));
  ExpectRefused(filled(kMaxPickleDepth + 1), "nested more than 1000 deep");
  // A shared value counts at its deepest place.
  const auto shared = [](int depth) {
    return Of("(]" + Put(0) + std::string(depth - 2, '(') + Get(0) + std::string(depth - 2, 't') +
              "t");
  };
  EXPECT_OK(Pickle::Parse(shared(kMaxPickleDepth)));
  ExpectRefused(shared(kMaxPickleDepth + 1), "nested more than 1000 deep");
}

TEST(PickleReaderTest, RefusesEveryPrefixAndTrailingBytes) {
  const std::string bytes =
      Of(Tuple(Int(1) + Text("abc") + Double(2) + Reduce(Global("a", "b"), ")") + Put(0) +
               List(Get(0)) + Dict(Text("k") + None()) + "\x8a\x02\x01\x02"));
  EXPECT_OK(Pickle::Parse(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> prefix(bytes.data(), bytes.data() + size);
    EXPECT_THAT(Pickle::Parse(absl::string_view(prefix.data(), size)),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("byte ")))
        << size;
  }
  ExpectRefused(bytes + ".", "followed by bytes");
}

TEST(PickleReaderTest, KnowsOnlyTheOpcodesThatPyTorchWrites) {
  const std::string known = "(.NJKMGX)t]ae}sucRbQhjqr\x80\x81\x85\x86\x87\x88\x89\x8a";
  for (int opcode = 0; opcode < 256; ++opcode) {
    const std::string bytes = Of(std::string(1, static_cast<char>(opcode)));
    const bool refused = Pickle::Parse(bytes).status().message().find("is not one that PyTorch") !=
                         std::string::npos;
    // The protocol may be given only once, at the start.
    const bool expected = opcode == 0x80 || known.find(static_cast<char>(opcode)) == known.npos;
    EXPECT_EQ(refused, expected) << opcode;
  }
  ExpectRefused("\x80\x04N.", "protocol 2");
  ExpectRefused("N.", "protocol 2");
}

TEST(PickleReaderTest, RefusesMisuseOfTheStack) {
  ExpectRefused(Of(""), "one value");
  ExpectRefused(Of(Int(1) + Int(2)), "one value");
  ExpectRefused(Of("(" + Int(1)), "one value");
  ExpectRefused(Of("t"), "no mark");
  ExpectRefused(Of("e"), "no mark");
  ExpectRefused(Of("\x85"), "too small");
  // Values below a mark cannot be used.
  ExpectRefused(Of(Int(1) + "(\x85"), "too small");
  ExpectRefused(Of("]((e"), "too small");
  ExpectRefused(Of(Int(1) + "(" + Put(0)), "the stack is empty");
  ExpectRefused(Of(Int(1) + Int(2) + "a"), "wrong kind");
  ExpectRefused(Of(")(" + Int(2) + "e"), "wrong kind");
  ExpectRefused(Of("](" + Int(2) + Int(3) + "u"), "wrong kind");
  ExpectRefused(Of("}(" + Int(2) + "u"), "has no value");
  ExpectRefused(Of(Int(1) + "}b"), "wrong kind");
  ExpectRefused(Of(Global("a", "b") + ")\x81}b}b"), "state twice");
  ExpectRefused(Of("R"), "too small");
  ExpectRefused(Of("Q"), "too small");
}

TEST(PickleReaderTest, RefusesMisuseOfTheMemo) {
  ExpectRefused(Of(Get(0)), "no such value");
  ExpectRefused(Of("h\x05"), "no such value");
  // This would take a memo of four billion entries.
  ExpectRefused(Of(Int(1) + Put(0xFFFFFFFF)), "out of order");
  ExpectRefused(Of(Int(1) + Put(0) + Put(0)), "out of order");
}

TEST(PickleReaderTest, RefusesWrongTexts) {
  ExpectRefused(Of(Text("\xff")), "not UTF-8");
  ExpectRefused(Of("X" + Bytes(0xFFFFFFFF, 4) + "abc"), "cut short");
  ExpectRefused(Of(Global("", "b")), "module, name");
  ExpectRefused(Of(Global("a b", "c")), "module, name");
  ExpectRefused(Of(Global("a", "b\x1b")), "module, name");
  ExpectRefused(Of(Global(std::string(kMaxNameBytes, 'a'), "b")), "too long");
}

TEST(PickleReaderTest, LimitsTheSize) {
  ExpectRefused(Of(std::string(kMaxTextFileBytes, 'N')), "larger than");
}

}  // namespace
}  // namespace graphnet
