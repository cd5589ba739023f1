#include "graphnet/formats/torchscript/archive_check.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"
#include "tests/formats/archive/zip_builder.h"

namespace graphnet {
namespace {

using namespace pickle;  // NOLINT: the opcodes
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The contents of an archive by entry name, without the archive's folder.
using Entries = std::map<std::string, std::string>;

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::string Storage(const std::string& key, int64_t elements,
                    const std::string& type = "FloatStorage") {
  return PersistentId(
      Tuple(Text("storage") + Global("torch", type) + Text(key) + Text("cpu") + Int(elements)));
}

std::string Ints(const std::vector<int64_t>& values) {
  std::string elements;
  for (int64_t value : values) elements += Int(value);
  return Tuple(elements);
}

std::string Tensor(const std::string& storage, int64_t offset, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& strides) {
  return Reduce(Global("torch._utils", "_rebuild_tensor_v2"),
                Tuple(storage + Int(offset) + Ints(sizes) + Ints(strides) + Bool(false) +
                      Reduce(Global("collections", "OrderedDict"), ")")));
}

// An object of class M with a tensor and one other attribute.
std::string Model(const std::string& weight, const std::string& other) {
  return Of(
      Object(Global("__torch__.m", "M"), Dict(Text("weight") + weight + Text("other") + other)));
}

std::string DebugTable(const std::string& texts, const std::string& rows) {
  return Of(Text("FORMAT_WITH_STRING_TABLE") + Tuple(texts) + Tuple(rows) + "\x87");
}

std::string DebugRow(const std::vector<int64_t>& texts, int64_t file, int64_t begin, int64_t end) {
  std::string indices;
  for (int64_t text : texts) indices += Int(text);
  return Int(0) +
         (Reduce(Global("torch.jit._pickle", "build_intlist"), Tuple(List(indices))) + Int(file) +
          Int(1) + "\x87") +
         Int(begin) + Int(end) + "\x87" + Int(-1) + "\x87";
}

constexpr char kClass[] =
    "class M(Module):\n"
    "  __parameters__ = [\"weight\", ]\n"
    "  __buffers__ = []\n"
    "  weight : Tensor\n"
    "  other : int\n"
    "  size : Final[Tuple[int, int]] = (3, -1)\n"
    "  __annotations__[\"0\"] = __torch__.m.Other\n";

std::string Code(const std::string& body) {
  return absl::StrCat(kClass,
                      "  def forward(self: __torch__.m.M,\n"
                      "    x: Tensor,\n"
                      "    y: Optional[Tensor]=None) -> Tensor:\n",
                      body, "    return torch.add(x, self.weight, alpha=1)\n");
}

Entries Valid() {
  return {
      {"data.pkl", Model(Tensor(Storage("0", 6), 0, {2, 3}, {3, 1}), Int(1))},
      {"data/0", std::string(24, 'w')},
      {"constants.pkl", Of(Tuple(Text("caf\xc3\xa9")))},
      {"code/__torch__/m.py", Code("")},
      {"code/__torch__/m.py.debug_pkl",
       DebugTable(Text("") + Text("abc"), DebugRow({0}, 0, 0, 1) + DebugRow({1, 0}, 1, 1, 3))},
      {"version", "3\n"},
      {"byteorder", "little"},
      {".data/serialization_id", "0123"},
  };
}

std::string Archive(const Entries& entries) {
  ZipSpec spec;
  for (const auto& [name, content] : entries) {
    spec.files.push_back({.name = "m/" + name,
                          .content = content,
                          .descriptor = 16,
                          .padded = true,
                          .flags = 0x800});
  }
  spec.zip64 = true;
  return MakeZip(spec);
}

absl::Status Check(const std::string& archive) {
  return CheckTorchScriptArchive(archive, "m.pt").status();
}
absl::Status Check(const Entries& entries) { return Check(Archive(entries)); }

// Checks the valid archive with one entry replaced or added.
absl::Status CheckWith(const std::string& name, const std::string& content) {
  Entries entries = Valid();
  entries[name] = content;
  return Check(entries);
}
absl::Status CheckCode(const std::string& code) { return CheckWith("code/__torch__/m.py", code); }
absl::Status CheckBody(const std::string& body) { return CheckCode(Code(body)); }
absl::Status CheckAttribute(const std::string& other) {
  return CheckWith("data.pkl", Model(Tensor(Storage("0", 6), 0, {6}, {1}), other));
}

auto Refused(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(testing::StartsWith("m.pt: "), HasSubstr(message), Not(HasSubstr("\n"))));
}

// --- The archive --------------------------------------------------------------

TEST(ArchiveCheckTest, AcceptsWhatPyTorchWrites) {
  EXPECT_OK(Check(Valid()));
  Entries entries = Valid();
  entries["extra/any/file"] = "x";
  entries["bytecode.pkl"] = "read by the loader for mobile devices only";
  entries["constants/0"] = "";
  entries["traced_inputs/0"] = "";
  entries["traced_inputs.pkl"] =
      Of(Reduce(Global("torch.jit._pickle", "restore_type_tag"),
                Dict(Text("forward") + List(Tensor(Storage("0", 6), 0, {6}, {1}))) +
                    Text("Dict[str, List[Any]]") + "\x86"));
  EXPECT_OK(Check(entries));
}

TEST(ArchiveCheckTest, RefusesWhatTheZipReaderRefuses) {
  EXPECT_THAT(Check("PK"), Refused("not a zip archive"));
  EXPECT_THAT(Check(MakeZip({})), Refused("is empty"));
  std::string bytes = Archive(Valid());
  bytes[bytes.find("wwww")] = 'v';
  EXPECT_THAT(Check(bytes), Refused("m/data/0: wrong CRC"));
  // Entries that LibTorch does not read are checked, too.
  Entries entries = Valid();
  entries["extra/a"] = "zzzz";
  bytes = Archive(entries);
  bytes[bytes.find("zzzz")] = 'v';
  EXPECT_THAT(Check(bytes), Refused("m/extra/a: wrong CRC"));
}

TEST(ArchiveCheckTest, AcceptsEntriesThatLibTorchDoesNotRead) {
  for (const char* name :
       {"bytecode.pkl", "mobile_debug_handles.pkl", "constants/0.storage", "traced_inputs.pkl",
        "traced_inputs/0", "data/x y", "data/", "code/", "code/__torch__/m.txt",
        "code/__torch__/m.debug_pkl", "other.pkl", ".data/ts_code/0/data.pkl", "tensors/0",
        "extra/model.json", "LICENSE", ".DS_Store", "extra/a", "extra/A"}) {
    const bool is_folder = absl::string_view(name).back() == '/';
    EXPECT_OK(CheckWith(name, is_folder ? "" : "any content")) << name;
  }
  for (const char* name : {"data.pkl", "constants.pkl", "version"}) {
    Entries entries = Valid();
    entries.erase(name);
    EXPECT_THAT(Check(entries), Refused(absl::StrCat(name, ": is missing")));
  }
}

TEST(ArchiveCheckTest, RefusesCodeThatItDoesNotCheck) {
  for (const char* name : {"code/m.py", "code/__torch__/a.b.py", "code/__torch__/1.py",
                           "code/__torch__/a b.py", "code/.py", "code/torch/m.py"}) {
    EXPECT_THAT(CheckWith(name, ""), Refused("is code outside of __torch__")) << name;
  }
  // LibTorch reads another layout if there is this entry.
  EXPECT_THAT(CheckWith("model.json", "{}"), Refused("layout of PyTorch 1.0"));
}

TEST(ArchiveCheckTest, EntriesOutsideOfTheFolderMeanNothing) {
  ZipSpec spec;
  for (const auto& [name, content] : Valid()) {
    spec.files.push_back({.name = "m/" + name, .content = content});
  }
  EXPECT_OK(Check(MakeZip(spec)));
  for (const char* name : {"n/data.pkl", "data.pkl", "__MACOSX/m/._data.pkl", "n/code/m.py"}) {
    spec.files.push_back({.name = name, .content = "x"});
    EXPECT_OK(Check(MakeZip(spec))) << name;
  }
  // LibTorch does not mind the case of the folder.
  spec.files.push_back({.name = "M/code/__torch__/n.py", .content = "x"});
  EXPECT_THAT(Check(MakeZip(spec)), Refused("not in the case"));
  spec.files.back() = {.name = "M/data.pkl", .content = "x"};
  EXPECT_THAT(Check(MakeZip(spec)), Refused("upper and lower case"));
  spec.files.pop_back();
  spec.files.insert(spec.files.begin(), {.name = "first"});
  EXPECT_THAT(Check(MakeZip(spec)), Refused("is not in a folder"));
}

TEST(ArchiveCheckTest, RefusesNamesThatDifferOnlyInCase) {
  // LibTorch would read either entry.
  EXPECT_THAT(CheckWith("code/__torch__/M.py", ""), Refused("upper and lower case"));
  for (const char* name : {"Data.pkl", "code/__torch__/n.PY", "Code/__torch__/n.py", "MODEL.JSON",
                           "DATA/1", ".data/VERSION", "ByteOrder2"}) {
    const absl::Status status = CheckWith(name, "x");
    EXPECT_EQ(status.ok(), name == std::string("ByteOrder2")) << name;
  }
}

TEST(ArchiveCheckTest, AcceptsArchivesThatAnotherToolPacked) {
  ZipSpec spec;
  spec.comment = "packed anew";
  spec.files.push_back({.name = "m/", .comment = "a folder"});
  for (const auto& [name, content] : Valid()) {
    spec.files.push_back({.name = "m/" + name,
                          .content = content,
                          .deflated = true,
                          .extra = "UX" + Bytes(4, 2) + "1234",
                          .comment = "deflated"});
  }
  EXPECT_OK(Check(MakeZip(spec)));
  std::reverse(spec.files.begin(), spec.files.end());
  EXPECT_OK(Check(MakeZip(spec)));
  // Many entries that each inflate to 100 MiB would fill the memory.
  const std::string zeros(100 << 20, '\0');
  const std::string deflated = Deflate(zeros);
  for (int i = 0; i < 12; ++i) {
    spec.files.push_back({.name = absl::StrCat("m/data/", 7 + i),
                          .content = deflated,
                          .crc = 0,
                          .size = static_cast<uint32_t>(zeros.size()),
                          .method = 8});
  }
  EXPECT_THAT(Check(MakeZip(spec)), Refused("the deflated entries take more than"));
}

TEST(ArchiveCheckTest, ChecksVersionAndByteOrder) {
  for (const char* version : {"1", "2\n", "3", "3\n", "10\n", "99"}) {
    EXPECT_OK(CheckWith("version", version));
  }
  for (const char* version : {"", "\n", "0", "100", "0x3", "-3", "3\n\n", "99999999999999999999"}) {
    EXPECT_THAT(CheckWith("version", version), Refused("version")) << version;
  }
  EXPECT_THAT(CheckWith(".data/version", "3"), Refused("besides version"));
  EXPECT_THAT(CheckWith("byteorder", "big"), Refused("byteorder"));
  Entries entries = Valid();
  entries.erase("version");
  entries[".data/version"] = "3\n";
  entries.erase("byteorder");  // as in files before PyTorch 2.1
  EXPECT_OK(Check(entries));
  // Files before version 3 began like this.
  EXPECT_OK(CheckCode("op_version_set = 1\nclass A:\n  a : int\n"));
}

TEST(ArchiveCheckTest, RefusesEveryPrefixAndNoFlippedBitPassesUnlessItMeansNothing) {
  const Entries valid = Valid();
  std::string bytes = Archive(valid);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Check(bytes.substr(0, size)).ok()) << size;
  }
  // Everything that a flipped bit can belong to has a CRC, unless it means nothing.
  // The reader's tests prove that an archive which passes has the same contents.
  for (const auto& [name, content] : valid) {
    const size_t at = bytes.find(name + std::string(1, 'F'));  // before the padding
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    EXPECT_FALSE(Check(bytes).ok()) << name;
    bytes[at] ^= 1;
  }
}

// --- Pickles ------------------------------------------------------------------

TEST(ArchiveCheckTest, AcceptsValuesOfEveryType) {
  const auto build = [](const std::string& function, const std::string& elements) {
    return Reduce(Global("torch.jit._pickle", function), Tuple(List(elements)));
  };
  const auto tagged = [](const std::string& value, const std::string& type) {
    return Reduce(Global("torch.jit._pickle", "restore_type_tag"), value + Text(type) + "\x86");
  };
  const std::string values[] = {
      None(),
      Bool(true),
      Int(int64_t{1} << 40),
      Double(0.5),
      Text("text"),
      Tuple(Int(1) + Text("a")),
      build("build_intlist", Int(1) + Int(2)),
      build("build_doublelist", Double(1)),
      build("build_boollist", Bool(false)),
      build("build_tensorlist", Tensor(Storage("1", 2, "LongStorage"), 0, {2}, {1})),
      tagged(List(Text("a")), "List[str]"),
      tagged(Dict(Int(1) + List("")), "Dict[int, List[__torch__.m.M]]"),
      Reduce(Global("torch", "device"), Tuple(Text("cuda:1"))),
      Reduce(Global("builtins", "complex"), Double(1) + Double(2) + "\x86"),
      Reduce(Global("__torch__.m", "Color"), Int(2)),
      Object(Global("__torch__.m", "M"), Dict("")),
  };
  for (const std::string& value : values) {
    Entries entries = Valid();
    entries["data/1"] = std::string(16, '\0');
    entries["data.pkl"] = Model(Tensor(Storage("0", 6), 0, {6}, {1}), value);
    EXPECT_OK(Check(entries));
  }
}

TEST(ArchiveCheckTest, RefusesGlobalsThatAreNotOnTheList) {
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"os", "system"},
           {"builtins", "eval"},
           {"__builtin__", "getattr"},
           {"posix", "system"},
           {"torch", "load"},
           {"torch._utils", "_rebuild_qtensor"},
           {"torch._tensor", "_rebuild_from_type_v2"},
           {"torch.distributed.rpc", "rref"},
           {"torch.jit._pickle", "build_tensor_from_id"},
           {"__main__", "TensorID"},
           {"torch", "FloatStorage"},
       }) {
    EXPECT_THAT(CheckAttribute(Reduce(Global(module, name), Tuple(Text("true")))),
                Refused("m.pt: data.pkl: byte"))
        << module << "." << name;
    EXPECT_THAT(CheckAttribute(Object(Global(module, name), Dict(""))),
                Refused("class that the archive may not use"))
        << module << "." << name;
    EXPECT_THAT(CheckAttribute(Global(module, name)), Refused("where it does not belong"));
  }
  EXPECT_THAT(CheckAttribute(Reduce(Global("os", "system"), Tuple(Text("true")))),
              Refused("calls os.system, which is not on the list"));
  EXPECT_THAT(CheckAttribute(Reduce(Int(0), ")")), Refused("calls what is no function"));
}

TEST(ArchiveCheckTest, RefusesTorchBindClasses) {
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"__torch__.torch.classes.quantized", "LinearPackedParamsBase"},
           {"__torch__.torch.classes", "A"},
           {"__torch__.torch", "classes.A"},
           {"__torch__", "torch.classes.A"},
           {"__torch__", ""},
           {"__torch__..m", "M"},
           {"torch", "__torch__.M"}}) {
    EXPECT_FALSE(CheckAttribute(Object(Global(module, name), Dict(""))).ok()) << module;
    EXPECT_FALSE(CheckAttribute(Reduce(Global(module, name), Int(1))).ok()) << module;
  }
  // LibTorch parses the name recursively.
  const auto deep = [](int parts) {
    return Object(Global("__torch__" + Repeat(".a", parts - 2), "M"), Dict(""));
  };
  EXPECT_OK(CheckAttribute(deep(kMaxNesting - 1)));
  EXPECT_OK(CheckAttribute(deep(kMaxNesting)));
  EXPECT_FALSE(CheckAttribute(deep(kMaxNesting + 1)).ok());
}

TEST(ArchiveCheckTest, RefusesObjectsThatAreNotWrittenByPyTorch) {
  const std::string cls = Global("__torch__.m", "M");
  EXPECT_THAT(CheckAttribute(cls + ")\x81"), Refused("an object is not"));
  EXPECT_THAT(CheckAttribute(cls + Tuple(Int(1)) + "\x81}b"), Refused("an object is not"));
  EXPECT_THAT(CheckAttribute(Object(cls, Int(1))), Refused("an object is not"));
  EXPECT_THAT(CheckAttribute(Object(cls, Dict(Int(1) + Int(2)))), Refused("attribute's name"));
  EXPECT_THAT(CheckAttribute(Object(cls, Dict(Text("a") + Int(2) + Text("a") + Int(3)))),
              Refused("there twice"));
  // LibTorch would put a number into the memo.
  EXPECT_THAT(CheckAttribute(cls + ")\x81" + Put(0) + "}b"), Refused("an object is not"));
  EXPECT_THAT(CheckAttribute(Reduce(cls, Dict(""))), Refused("the arguments of M"));
  EXPECT_THAT(CheckWith("data.pkl", Of(Int(1))), Refused("has the wrong type"));
  EXPECT_THAT(CheckWith("constants.pkl", Of(Int(1))), Refused("has the wrong type"));
}

TEST(ArchiveCheckTest, RefusesWrongArguments) {
  const auto call = [](const std::string& module, const std::string& name,
                       const std::string& arguments) {
    return CheckAttribute(Reduce(Global(module, name), arguments));
  };
  const std::string pickle = "torch.jit._pickle";
  EXPECT_FALSE(call(pickle, "build_intlist", Tuple(List(Text("a")))).ok());
  EXPECT_FALSE(call(pickle, "build_intlist", Tuple(Int(1))).ok());
  EXPECT_FALSE(call(pickle, "build_intlist", ")").ok());
  EXPECT_FALSE(call(pickle, "build_tensorlist", Tuple(List(Int(1)))).ok());
  EXPECT_FALSE(call(pickle, "restore_type_tag", Tuple(List("") + Text("Dict[str, int]"))).ok());
  EXPECT_FALSE(call(pickle, "restore_type_tag", Tuple(Int(1) + Text("List[int]"))).ok());
  for (const char* type :
       {"List[f(1)]", "List[int", "List[int]]", "List[\"a\"]", "List[int] = 3", "List[int]\n",
        "List[__torch__.torch.classes.A]", "List[1]", "List[a b]", "List[#]"}) {
    EXPECT_FALSE(call(pickle, "restore_type_tag", Tuple(List("") + Text(type))).ok()) << type;
  }
  EXPECT_FALSE(call("torch", "device", Tuple(Text("cpu;"))).ok());
  EXPECT_FALSE(call("builtins", "complex", Tuple(Int(1) + Int(2))).ok());
  EXPECT_FALSE(call("collections", "OrderedDict", ")").ok());
  EXPECT_FALSE(CheckAttribute(Dict(List("") + Int(1))).ok());
  EXPECT_FALSE(CheckAttribute(Storage("0", 6)).ok());
}

absl::Status CheckTensor(const std::string& tensor, size_t bytes = 24) {
  Entries entries = Valid();
  entries["data/0"] = std::string(bytes, '\0');
  entries["data.pkl"] = Model(tensor, Int(1));
  return Check(entries);
}

TEST(ArchiveCheckTest, StoragesAreAsLargeAsTheirEntries) {
  EXPECT_OK(CheckTensor(Tensor(Storage("0", 6), 0, {6}, {1})));
  EXPECT_OK(CheckTensor(Tensor(Storage("0", 3, "DoubleStorage"), 0, {3}, {1})));
  EXPECT_OK(CheckTensor(Tensor(Storage("0", 0), 0, {0}, {1}), 0));
  for (int64_t elements :
       {int64_t{5}, int64_t{7}, int64_t{-6}, int64_t{0}, int64_t{1} << 62, int64_t{1} << 40}) {
    EXPECT_THAT(CheckTensor(Tensor(Storage("0", elements), 0, {1}, {1})),
                Refused("storage 0 has 24 bytes"))
        << elements;
  }
  EXPECT_THAT(CheckTensor(Tensor(Storage("0", 6, "QUInt4x2Storage"), 0, {1}, {1})),
              Refused("unknown type QUInt4x2Storage"));
  EXPECT_THAT(CheckTensor(Tensor(Storage("0", 6, "QInt32Storage"), 0, {1}, {1})),
              Refused("without scale and zero point"));
  for (const char* key : {"1", "", "00", "../0", "x", "9999999999", "0/", "0 "}) {
    EXPECT_THAT(CheckTensor(Tensor(Storage(key, 6), 0, {1}, {1})),
                Refused("the archive has no storage"))
        << key;
  }
  // LibTorch would read the entry twice. Through the memo, it is one storage.
  EXPECT_THAT(CheckAttribute(Tensor(Storage("0", 6), 0, {6}, {1})), Refused("is there twice"));
  EXPECT_OK(CheckWith("data.pkl", Model(Tensor(Storage("0", 6) + Put(0), 0, {6}, {1}),
                                        Tensor(Get(0), 3, {3}, {1}))));
}

std::string PerTensor(int64_t zero_point) {
  return Tuple(Global("torch", "per_tensor_affine") + Double(0.5) + Int(zero_point));
}
std::string QuantisedTensor(const std::string& storage, int64_t offset,
                            const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                            const std::string& quantiser) {
  return Reduce(Global("torch._utils", "_rebuild_qtensor"),
                Tuple(storage + Int(offset) + Ints(sizes) + Ints(strides) + quantiser +
                      Bool(false) + Reduce(Global("collections", "OrderedDict"), ")")));
}

TEST(ArchiveCheckTest, QuantisedTensorsFitTheirQuantisers) {
  const std::string ints = Storage("0", 24, "QInt8Storage");
  const auto check = [&](const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                         const std::string& quantiser, int64_t offset = 0) {
    return CheckTensor(QuantisedTensor(ints, offset, sizes, strides, quantiser));
  };
  EXPECT_OK(check({4, 6}, {6, 1}, PerTensor(-128)));
  EXPECT_OK(check({}, {}, PerTensor(127), 23));
  EXPECT_OK(CheckTensor(
      QuantisedTensor(Storage("0", 6, "QInt32Storage"), 0, {6}, {1}, PerTensor(-70000))));
  EXPECT_THAT(check({4, 7}, {6, 1}, PerTensor(0)), Refused("data.pkl: byte"));
  EXPECT_THAT(check({4, 7}, {6, 1}, PerTensor(0)), Refused("beyond its storage"));
  EXPECT_THAT(check({4}, {6}, PerTensor(0), 20), Refused("beyond its storage"));
  EXPECT_THAT(check({int64_t{1} << 30, 4}, {0, 0}, PerTensor(0)),
              Refused("of more elements than its storage"));
  EXPECT_THAT(check({-1}, {1}, PerTensor(0)), Refused("negative"));
  EXPECT_THAT(check({4}, {1}, PerTensor(128)), Refused("a zero point outside of"));
  EXPECT_THAT(check({4}, {1}, PerTensor(-129)), Refused("a zero point outside of"));
  EXPECT_THAT(
      CheckTensor(QuantisedTensor(Storage("0", 24, "QUInt8Storage"), 0, {4}, {1}, PerTensor(-1))),
      Refused("a zero point outside of"));
  EXPECT_THAT(CheckTensor(QuantisedTensor(Storage("0", 6), 0, {4}, {1}, PerTensor(0))),
              Refused("a storage of another type"));
  for (const std::string& quantiser :
       {Tuple(""), Tuple(Int(1) + Double(0.5) + Int(0)),
        Tuple(Global("torch", "per_tensor_affine") + Double(0.5)),
        Tuple(Global("torch", "per_tensor_affine") + Int(1) + Int(0)),
        Tuple(Global("torch", "per_tensor_symmetric") + Double(0.5) + Int(0)),
        Tuple(Global("os", "per_tensor_affine") + Double(0.5) + Int(0)),
        Tuple(Global("torch", "per_channel_affine") + Double(0.5) + Int(0) + Int(0))}) {
    EXPECT_THAT(check({4}, {1}, quantiser), Refused("a quantiser is not what"));
  }

  // Per channel: the scales and zero points are tensors in storages of their own.
  const auto channels = [&](int64_t scales, int64_t zeros, int64_t axis,
                            const std::string& zero_type = "LongStorage",
                            const std::string& scheme = "per_channel_affine") {
    Entries entries = Valid();
    entries["data/0"] = std::string(24, '\0');
    entries["data/1"] = std::string(static_cast<size_t>(8 * scales), '\0');
    entries["data/2"] =
        std::string(static_cast<size_t>((zero_type[0] == 'F' ? 4 : 8) * zeros), '\0');
    const std::string quantiser = Tuple(
        Global("torch", scheme) + Tensor(Storage("1", scales, "DoubleStorage"), 0, {scales}, {1}) +
        Tensor(Storage("2", zeros, zero_type), 0, {zeros}, {1}) + Int(axis));
    entries["data.pkl"] = Model(QuantisedTensor(ints, 0, {4, 6}, {6, 1}, quantiser), Int(1));
    return Check(entries);
  };
  EXPECT_OK(channels(4, 4, 0));
  EXPECT_OK(channels(6, 6, 1));
  EXPECT_OK(channels(4, 4, 0, "FloatStorage", "per_channel_affine_float_qparams"));
  EXPECT_THAT(channels(4, 4, 0, "FloatStorage"), Refused("of an unusual type"));
  for (const int64_t axis : {int64_t{2}, int64_t{-1}, int64_t{1} << 62}) {
    EXPECT_THAT(channels(4, 4, axis), Refused("axis is not a dimension"));
  }
  EXPECT_THAT(channels(3, 4, 0), Refused("for each of 4 channels"));
  EXPECT_THAT(channels(4, 5, 0), Refused("for each of 4 channels"));
  EXPECT_THAT(channels(4, 4, 1), Refused("for each of 6 channels"));
  EXPECT_THAT(channels(0, 0, 0), Refused("for each of 4 channels"));
}

TEST(ArchiveCheckTest, TakesPackedParameters) {
  const std::string weight =
      QuantisedTensor(Storage("1", 4, "QInt8Storage"), 0, {2, 2}, {2, 1}, PerTensor(0));
  const auto object = [&](const std::string& module, const std::string& name,
                          const std::string& state) {
    Entries entries = Valid();
    entries["data/1"] = std::string(4, '\0');
    entries["data.pkl"] =
        Model(Tensor(Storage("0", 6), 0, {6}, {1}), Object(Global(module, name), state));
    return CheckTorchScriptArchive(Archive(entries), "m.pt");
  };
  const std::string classes = "__torch__.torch.classes.";
  const auto checked =
      object(classes + "quantized", "LinearPackedParamsBase", Tuple(weight + None()));
  ASSERT_OK(checked);
  EXPECT_TRUE(checked->has_state);
  EXPECT_FALSE(CheckTorchScriptArchive(Archive(Valid()), "m.pt")->has_state);
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"quantized", "Other"}, {"dist_rpc", "WorkerInfo"}, {"rnn", "LinearPackedParamsBase"}}) {
    EXPECT_THAT(object(classes + module, name, Tuple(weight + None())).status(),
                Refused("class that the archive may not use"));
  }
}

TEST(ArchiveCheckTest, TensorsStayWithinTheirStorage) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::string s = Storage("0", 6);
  EXPECT_OK(CheckTensor(Tensor(s, 0, {2, 3}, {3, 1})));
  EXPECT_OK(CheckTensor(Tensor(s, 5, {}, {})));
  EXPECT_OK(CheckTensor(Tensor(s, 5, {1}, {kMax})));
  EXPECT_OK(CheckTensor(Tensor(s, 0, {1000}, {0})));  // expanded
  EXPECT_OK(CheckTensor(Tensor(s, 6, {0}, {1})));
  EXPECT_OK(CheckTensor(Tensor(s, 0, {3, 2}, {1, 3})));
  for (const std::string& tensor :
       {Tensor(s, 0, {7}, {1}), Tensor(s, 1, {6}, {1}), Tensor(s, 6, {}, {}),
        Tensor(s, -1, {1}, {1}), Tensor(s, kMax, {1}, {1}), Tensor(s, 7, {0}, {1}),
        Tensor(s, 0, {2}, {6}), Tensor(s, 0, {2}, {kMax}), Tensor(s, kMax, {2}, {kMax}),
        Tensor(s, 0, {2, 2}, {kMax, kMax})}) {
    EXPECT_THAT(CheckTensor(tensor), Refused("beyond its storage"));
  }
  EXPECT_THAT(CheckTensor(Tensor(s, 0, {-1}, {1})), Refused("negative"));
  EXPECT_THAT(CheckTensor(Tensor(s, 5, {2}, {-1})), Refused("negative"));
  EXPECT_THAT(CheckTensor(Tensor(s, 0, {2}, {1, 1})), Refused("rank"));
}

TEST(ArchiveCheckTest, LimitsRankAndElements) {
  const std::string s = Storage("0", 6);
  const auto rank = [&](int rank) {
    return CheckTensor(Tensor(s, 0, std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 1)));
  };
  EXPECT_OK(rank(kMaxRank - 1));
  EXPECT_OK(rank(kMaxRank));
  EXPECT_THAT(rank(kMaxRank + 1), Refused("rank"));
  EXPECT_OK(CheckTensor(Tensor(s, 0, {kMaxTensorElements - 1}, {0})));
  EXPECT_OK(CheckTensor(Tensor(s, 0, {kMaxTensorElements}, {0})));
  EXPECT_THAT(CheckTensor(Tensor(s, 0, {kMaxTensorElements + 1}, {0})), Refused("elements"));
  EXPECT_THAT(CheckTensor(Tensor(s, 0, {int64_t{1} << 32, int64_t{1} << 32}, {0, 0})),
              Refused("elements"));
}

TEST(ArchiveCheckTest, RefusesValuesThatMultiplyByBeingShared) {
  // LibTorch visits a shared module once for each path to it.
  const auto modules = [](int levels) {
    std::string module = Object(Global("__torch__.m", "M"), Dict(Text("a") + Int(1)));
    for (int i = 0; i < levels; ++i) {
      module = Object(Global("__torch__.m", "M"),
                      Dict(Text("a") + module + Put(i) + Text("b") + Get(i)));
    }
    return Of(module);
  };
  EXPECT_OK(CheckWith("data.pkl", modules(4)));
  EXPECT_THAT(CheckWith("data.pkl", modules(30)), Refused("shared too often"));
  const auto tuples = [](int levels) {
    std::string tuple = Tuple(Int(1));
    for (int i = 0; i < levels; ++i) tuple += Put(i) + Get(i) + "\x86";
    return Of(Tuple(tuple));
  };
  EXPECT_OK(CheckWith("constants.pkl", tuples(4)));
  EXPECT_THAT(CheckWith("constants.pkl", tuples(30)), Refused("shared tuples"));
}

TEST(ArchiveCheckTest, LimitsTheDepthOfPickles) {
  const auto nested = [](int depth) {
    return CheckWith("constants.pkl", Of(std::string(depth, '(') + std::string(depth, 't')));
  };
  EXPECT_OK(nested(kMaxPickleDepth));
  EXPECT_THAT(nested(kMaxPickleDepth + 1), Refused("m.pt: constants.pkl: byte"));
}

// Returns whether an archive with this table of source positions passes, and may show it to LibTorch.
bool PositionsPass(const std::string& table) {
  Entries entries = Valid();
  entries["code/__torch__/m.py.debug_pkl"] = table;
  const absl::StatusOr<CheckedArchive> checked = CheckTorchScriptArchive(Archive(entries), "m.pt");
  EXPECT_OK(checked);  // A table never refuses an archive.
  if (!checked.ok() || checked->positions.ok()) return checked.ok();
  EXPECT_THAT(checked->positions.message(), HasSubstr("code/__torch__/m.py.debug_pkl: "));
  return false;
}

TEST(ArchiveCheckTest, ChecksTablesOfSourcePositions) {
  const std::string texts = Text("ab") + Text("c");
  EXPECT_TRUE(PositionsPass(DebugTable(texts, DebugRow({0, 1}, 1, 3, 4))));
  for (const std::string& row :
       {DebugRow({2}, 0, 0, 0), DebugRow({-1}, 0, 0, 0), DebugRow({0}, 2, 0, 0),
        DebugRow({0}, 0, -1, 0), DebugRow({0}, 0, 1, 0), DebugRow({0}, 0, 3, 3),
        DebugRow({0}, 0, 0, 4), Int(1), Tuple(Int(0))}) {
    EXPECT_FALSE(PositionsPass(DebugTable(texts, row)));
  }
  EXPECT_FALSE(PositionsPass(Of(Tuple(""))));
  EXPECT_FALSE(PositionsPass(DebugTable(Int(1), "")));
  EXPECT_FALSE(PositionsPass(DebugTable("", Reduce(Global("os", "system"), ")"))));
  EXPECT_FALSE(PositionsPass(Of(Text("FORMAT_OF_TOMORROW") + Tuple("") + "\x86")));
  EXPECT_FALSE(PositionsPass("no pickle at all"));
  Entries entries = Valid();
  entries["code/__torch__/m.py.debug_pkl"] = Of(Int(1));
  EXPECT_THAT(CheckTorchScriptArchive(Archive(entries), "m.pt")->positions.message(),
              HasSubstr(": not a table of source positions as torch.jit.save writes it"));
  EXPECT_FALSE(PositionsPass(""));
}

TEST(ArchiveCheckTest, ChecksFlatTablesOfSourcePositions) {
  // A row of PyTorch 1.4 to 1.9. The tag came in 1.6.
  const auto row = [](const std::string& text, const std::string& file, int64_t begin, int64_t end,
                      const std::string& tag = "") {
    return Tuple(Int(7) + Tuple(Tuple(text + file + Int(1)) + Int(begin) + Int(end)) + tag);
  };
  const auto table = [](const std::string& rows) { return Of(Tuple(rows)); };
  EXPECT_TRUE(PositionsPass(table(row(Text("abc"), Text("m.py"), 0, 3))));
  EXPECT_TRUE(PositionsPass(
      table(row(Text("abc"), None(), 1, 3, Int(0)) + row(Text(""), Text(""), 0, 1, Int(2)))));
  for (const std::string& bad :
       {row(Text("abc"), Text("m.py"), 0, 5), row(Text("abc"), Text("m.py"), 2, 1),
        row(Text("abc"), Text("m.py"), -1, 1), row(Int(0), Text("m.py"), 0, 0),
        row(Text("abc"), Int(0), 0, 0), row(Text("abc"), None(), 0, 0, Text("")), Int(1),
        Tuple("")}) {
    EXPECT_FALSE(PositionsPass(table(row(Text("abc"), None(), 1, 3) + bad)));
  }
  // LibTorch copies the text for each row that shares it.
  std::string rows;
  const std::string text(1 << 20, 'x');
  for (int i = 0; i < 65; ++i) {
    rows += row(i == 0 ? Text(text) + Put(0) : Get(0), None(), 0, 1);
    if (i == 63) {
      EXPECT_TRUE(PositionsPass(table(rows)));
    }
  }
  EXPECT_FALSE(PositionsPass(table(rows)));
}

// --- Code: what would run ---------------------------------------------------------

TEST(ArchiveCheckTest, AcceptsTheLanguageOfTheWriter) {
  EXPECT_OK(CheckBody(R"(    _0 = uninitialized(int)
    if torch.__isnot__(y, None):
      y0 = unchecked_cast(Tensor, y)
    else:
      if torch.gt(torch.dim(x), 1):
        pass
      else:
        _2 = torch.format("bad \"dim\" {}\n", torch.dim(x))
        ops.prim.RaiseException(_2, "builtins.ValueError")
      y0 = x
    ml = self.other
    _00 = getattr(ml, "0")
    x1 = (_00).forward(x, )
    _4, n, = 0, -1.5e-07
    _5 = True
    while _5:
      _5, _4 = torch.lt(_4, 10), torch.add(_4, 1)
    for i in range(torch.len([x, y0])):
      z = 1.+2.j
    def __forked_function():
      return __torch__.m.fk(x1, )
    fu = fork(__forked_function)
    x4 = torch.wait(fu)
    with _00:
      x5 = (x4, -inf, nan, {"a": [1, 2], "b": annotate(List[int], [])}, ())
    self.other = 3
    s = CONSTANTS.c0
    col = __torch__.m.Color.RED
    w = ((self).other(x, ))[0][1]
    t = torch.device("cpu")
    v : Optional[int] = None
)"));
  EXPECT_OK(CheckCode(absl::StrCat(kClass, R"(class Color(Enum):
  RED = 1
  BLUE = 2
class Iface(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
class NT(NamedTuple):
  a : Tensor
  b : Optional[str]
class Hooked(Module):
  __parameters__ = []
  __buffers__ = []
  __forward_hooks__ = ["hk", ]
  def hk(self: __torch__.m.Hooked,
    out: Tensor) -> Tensor:
    return out
class Helper:
  x : int
  def __init__(self: __torch__.m.Helper,
    x: int) -> NoneType:
    self.x = x
    return None
def fn(x: Tensor,
    k: int=3,
    name: str=CONSTANTS.c0,
    dev: Optional[Device]=torch.device("cpu"),
    c: __torch__.m.Color=__torch__.m.Color.RED,
    l: List[int]=annotate(List[int], []),
    t: Tuple[int, float]=(1, -2.5),
    e: Tuple[()]=(),
    f: float=-inf) -> Tensor:
  return x
)")));
}

TEST(ArchiveCheckTest, RefusesSetState) {
  const auto set_state = [](absl::string_view body) {
    return CheckCode(absl::StrCat(kClass, "  def __setstate__(self: __torch__.m.M, x: int) -> ",
                                  "NoneType:\n", body, "    return None\n"));
  };
  EXPECT_OK(set_state("    self.other = x\n    _0 = (self).set((x)[0], (x)[1], )\n"));
  for (const char* body :
       {"    self.weight = torch.from_file(\"f\", True, 9)\n",
        "    self.weight = ops.aten.from_file(\"f\", True, 9)\n", "    _0 = __torch__.m.f(x)\n",
        "    while x:\n      pass\n", "    if x:\n      pass\n    else:\n      pass\n",
        "    _0 = getattr(self, \"other\")\n", "    self.weight = CONSTANTS.c0\n"}) {
    EXPECT_THAT(set_state(body), Refused("m.pt: code/__torch__/m.py:8:7: defines __setstate__"))
        << body;
  }
  EXPECT_FALSE(CheckCode("def __setstate__(x: int) -> NoneType:\n  return None\n").ok());
  for (const char* name : {"__setstate__", "__getstate__"}) {
    EXPECT_THAT(CheckBody(absl::StrCat("    (self).", name, "(x, )\n")), Refused("mentions __"));
    EXPECT_THAT(CheckBody(absl::StrCat("    getattr(self, \"", name, "\")(x, )\n")),
                Refused("mentions __"));
  }
  EXPECT_THAT(CheckCode("class M:\n  __forward_hooks__ = [\"h\"]\n"),
              Refused("code/__torch__/m.py:1: the hook 'h'"));
}

TEST(ArchiveCheckTest, RefusesDefaultsThatRunWhenTheFileIsLoaded) {
  for (const char* value :
       {"torch.from_file(\"f\", True, 9)", "ops.aten.from_file(\"f\", True, 9)", "__torch__.m.f()",
        "__torch__.torch.device(\"cpu\")", "__torch__.m.annotate(1, 2)", "torch.device(f(\"cpu\"))",
        "[f(1)]", "(torch.rand)([2])", "CONSTANTS.c0.add_(1)", "getattr(torch, \"rand\")([2])",
        "fork(__torch__.m.f)", "[1][0]", "\"a\".upper()", "1 + 1", "[i for i in range(9)]", "f",
        ""}) {
    EXPECT_FALSE(CheckCode(absl::StrCat("def g(x: Tensor,\n    y: Tensor=", value,
                                        ") -> Tensor:\n  return x\n"))
                     .ok())
        << value;
    EXPECT_FALSE(CheckCode(absl::StrCat("class A:\n  y : Final[Tensor] = ", value, "\n")).ok())
        << value;
  }
  // LibTorch evaluates the type here by mistake.
  EXPECT_THAT(CheckCode("class A(NamedTuple):\n  a : torch.rand([2]) = Tensor\n"),
              Refused("m.py:2:17: '(' is not"));
  EXPECT_THAT(CheckCode("def g(x: torch.rand([2])) -> Tensor:\n  return x\n"), Refused("'('"));
  EXPECT_THAT(CheckCode("def g(x: Tensor) -> torch.rand([2]):\n  return x\n"), Refused("'('"));
}

TEST(ArchiveCheckTest, RefusesTorchClasses) {
  EXPECT_THAT(CheckBody("    q = __torch__.torch.classes.a.B(x)\n"), Refused("torch.classes"));
  // Types of packed parameters are taken, but no object of them is made.
  const std::string packed = "__torch__.torch.classes.rnn.CellParamsBase";
  EXPECT_OK(CheckCode("class A:\n  a : " + packed + "\n"));
  EXPECT_OK(CheckBody("    q = annotate(List[" + packed + "], [])\n"));
  EXPECT_THAT(CheckBody("    q = " + packed + "(x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : a." + packed + "\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : " + packed + ".B\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckBody("    q = __torch__ . torch . classes . a(x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckBody("    q = annotate(\"torch.classes.a.B\", x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : __torch__.torch.classes.a.B\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : \"torch.classes.a.B\"\n"), Refused("is not what"));
  EXPECT_THAT(CheckWith("code/__torch__/torch/classes/a.py", "class B:\n  a : int\n"),
              Refused("torch.classes"));
  EXPECT_OK(CheckBody("    q = self.classes\n"));
}

TEST(ArchiveCheckTest, RefusesWhatTheCompilerFoldsForAnyTime) {
  for (const char* call : {"torch.zfill(\"a\", 9)", "ops.aten.center(\"a\", 9)", "\"a\".ljust(9)",
                           "(\"a\").rjust(9)", "getattr(x, \"factorial\")(9)",
                           "CONSTANTS.c0.replace(\"a\", x)", "CONSTANTS.x0.zfill(9)"}) {
    EXPECT_THAT(CheckBody(absl::StrCat("    q = ", call, "\n")), Refused("may run when")) << call;
  }
  EXPECT_OK(CheckBody("    q = (self).center(x)\n    r = self.center\n"));
  // The function is called under another name or as a value.
  for (const char* line : {"g = torch.add", "g = str", "g = getattr", "g = [torch.add]",
                           "a, getattr = x, x", "return torch.add"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  // PyTorch calls a variable like the submodule that it holds.
  EXPECT_OK(CheckCode(absl::StrCat(Code("    q = x\n"),
                                   "  def other(self: __torch__.m.M,\n"
                                   "    x: Tensor) -> Tensor:\n"
                                   "    q = torch.relu(x)\n"
                                   "    torch = self.torch\n"
                                   "    return (torch).forward(q, )\n")));
  EXPECT_OK(
      CheckBody("    y = annotate(int, 1)\n    annotate = self.annotate\n"
                "    z = (annotate).forward(y, )\n"));
  EXPECT_THAT(CheckBody("    torch = self.torch\n    y = torch.add(x, x)\n"),
              Refused("a variable hides 'torch'"));
  EXPECT_THAT(CheckBody("    torch = self.torch\n    y = torch(x)\n"),
              Refused("a variable hides 'torch'"));
  EXPECT_THAT(CheckBody("    annotate = x\n    y = annotate(str, \"a\")\n"),
              Refused("a variable hides 'annotate'"));
}

TEST(ArchiveCheckTest, RefusesStringsThatDouble) {
  const auto doubled = [](const std::string& start, const std::string& step, int times) {
    std::string body = "    s0 = " + start + "\n";
    for (int i = 0; i < times; ++i) {
      body += absl::StrCat("    s", i + 1, " = ", step, "(s", i, ", s", i, ")\n");
    }
    return body;
  };
  EXPECT_OK(CheckBody(doubled("\"a\"", "torch.add", 20)));
  EXPECT_THAT(CheckBody(doubled("\"a\"", "torch.add", 21)), Refused("string grows too long"));
  for (const char* start : {"torch.str(1)", "CONSTANTS.c0", "__torch__.m.Color.RED.name",
                            "self.text", "getattr(self, \"text\")", "str(1)"}) {
    EXPECT_THAT(CheckCode(Code(doubled(start, "torch.add", 30)) +
                          "class Color(Enum):\n  RED = 1\n"
                          "class B:\n  text : Final[str] = \"abc\"\n"),
                Refused("string grows too long"))
        << start;
  }
  // A tensor that is added to itself is not a string, even if a string was an argument.
  EXPECT_OK(CheckBody(doubled("torch.pad(x, [1], \"constant\")", "torch.add", 200)));
}

// MultiheadAttention passes strings through its branches like this.
TEST(ArchiveCheckTest, AllowsStringsThatAreHandedOver) {
  const auto handed = [](const std::string& step, int times) {
    std::string body = "    s, t = \"abc\", \"def\"\n";
    for (int i = 0; i < times; ++i) absl::StrAppend(&body, "    ", step, "\n");
    return body;
  };
  EXPECT_OK(CheckBody(handed("s, t = t, s", 300)));
  EXPECT_OK(CheckBody(handed("a, s, t, b = True, t, s, x", 300)));
  EXPECT_THAT(CheckBody(handed("s, t = torch.add(s, t), torch.add(t, s)", 30)),
              Refused("string grows too long"));
  EXPECT_THAT(CheckBody(handed("u = (s, t)\n    s, t = u\n    v = torch.add(s, t)", 300)),
              Refused("grows too"));
}

TEST(ArchiveCheckTest, RefusesTuplesThatDouble) {
  const auto doubled = [](const std::string& step, int times) {
    std::string body = "    t0 = (x, x)\n";
    for (int i = 0; i < times; ++i) {
      body += absl::StrReplaceAll(
          step, {{"$new", absl::StrCat("t", i + 1)}, {"$old", absl::StrCat("t", i)}});
    }
    return body;
  };
  // LibTorch's analysis of aliases visits the elements of a tuple twice.
  for (const char* step :
       {"    $new = ($old, x)\n", "    $new = ($old,)\n", "    $new = ($old, $old)\n",
        "    $new = $old, $old\n", "    $new = ([$old], [$old])\n",
        "    u = torch.__getitem__([$old], 0)\n    $new = (u, u)\n",
        "    u, v = $old, $old\n    $new = (u, v)\n",
        "    def f():\n      return ($old, $old)\n    $new = torch.wait(fork(f))\n",
        "    $new = annotate(Any, ($old, $old))\n"}) {
    EXPECT_OK(CheckBody(doubled(step, 8))) << step;
    EXPECT_THAT(CheckBody(doubled(step, 30)), Refused("tuple's type grows")) << step;
  }
  std::string named = "class N0(NamedTuple):\n  a : int\n";
  for (int i = 1; i < 30; ++i) {
    absl::StrAppend(&named, "class N", i, "(NamedTuple):\n  a : __torch__.m.N", i - 1,
                    "\n  b : __torch__.m.N", i - 1, "\n");
  }
  EXPECT_THAT(CheckCode(named), Refused("NamedTuple of more than"));
}

// --- Code: what the parser and the compiler cannot take ---------------------------

TEST(ArchiveCheckTest, LimitsBrackets) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"}, {"[", "]"}, {"f(", ")"}}) {
    const auto nested = [&, open = open, close = close](int depth) {
      return CheckBody("    q = " + Repeat(open, depth) + "x" + Repeat(close, depth) + "\n");
    };
    EXPECT_OK(nested(kMaxNesting - 1));
    EXPECT_OK(nested(kMaxNesting));
    EXPECT_THAT(nested(kMaxNesting + 1), Refused("brackets are nested more than 200 deep"));
    EXPECT_THAT(nested(1000000), Refused("brackets are nested more than 200 deep"));
  }
  const auto type = [](int depth) {
    return CheckCode("class A:\n  a : " + Repeat("List[", depth) + "int" + Repeat("]", depth) +
                     "\n");
  };
  EXPECT_OK(type(kMaxNesting));
  EXPECT_THAT(type(kMaxNesting + 1), Refused("brackets"));
}

TEST(ArchiveCheckTest, LimitsIndentation) {
  const auto nested = [](int depth) {  // the class and the function are two levels
    std::string body;
    for (int i = 0; i < depth - 2; ++i) body += std::string(4 + i, ' ') + "if x:\n";
    return CheckBody(body + std::string(2 + depth, ' ') + "pass\n");
  };
  EXPECT_OK(nested(kMaxNesting - 1));
  EXPECT_OK(nested(kMaxNesting));
  EXPECT_THAT(nested(kMaxNesting + 1), Refused("blocks are nested more than 200 deep"));
}

TEST(ArchiveCheckTest, LimitsChains) {
  for (const char* link : {".a", "[0]", "()"}) {
    EXPECT_OK(CheckBody("    q = x" + Repeat(link, kMaxNesting - 1) + "\n")) << link;
    EXPECT_OK(CheckBody("    q = x" + Repeat(link, kMaxNesting) + "\n")) << link;
    EXPECT_THAT(CheckBody("    q = x" + Repeat(link, kMaxNesting + 1) + "\n"),
                Refused("a chain of more than 200"))
        << link;
  }
  EXPECT_FALSE(CheckCode("class A:\n  a : a" + Repeat(".a", 201) + "\n").ok());
}

TEST(ArchiveCheckTest, LimitsTheRecursionOfTheCompiler) {
  // Each definition is compiled in the middle of the one that mentions it.
  const auto functions = [](int count) {
    std::string code = "def f0(x: Tensor) -> Tensor:\n  return x\n";
    for (int i = 1; i < count; ++i) {
      absl::StrAppend(&code, "def f", i, "(x: Tensor) -> Tensor:\n  return __torch__.m.f", i - 1,
                      "(x)\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(functions(50));
  EXPECT_THAT(functions(1000), Refused("levels of recursion"));
  const auto classes = [](int count) {
    std::string code = "class C0:\n  a : int\n";
    for (int i = 1; i < count; ++i) {
      absl::StrAppend(&code, "class C", i, ":\n  a : __torch__.m.C", i - 1, "\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(classes(100));
  EXPECT_THAT(classes(1000), Refused("levels of recursion"));
  const auto methods = [](int count) {
    std::string code = kClass;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&code, "  def f", i, "(self: __torch__.m.M) -> int:\n    return (self).f",
                      i + 1, "()\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(methods(50));
  EXPECT_THAT(methods(1000), Refused("levels of recursion"));
  // Definitions that mention each other.
  const auto cycle = [](int count) {
    std::string code;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&code, "def f", i, "(x: Tensor) -> Tensor:\n  return __torch__.m.f",
                      (i + 1) % count, "(x)\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(cycle(50));
  EXPECT_THAT(cycle(1000), Refused("levels of recursion"));
}

TEST(ArchiveCheckTest, LimitsLoopsAndElements) {
  EXPECT_OK(CheckBody(Repeat("    while x:\n      pass\n", 200)));
  EXPECT_THAT(CheckBody(Repeat("    while x:\n      pass\n", 201)), Refused("loops"));
  EXPECT_OK(CheckBody("    q = [" + Repeat("1, ", 65535) + "]\n"));
  EXPECT_THAT(CheckBody("    q = [" + Repeat("1, ", 65536) + "]\n"), Refused("elements"));
  EXPECT_OK(CheckBody("    " + std::string(kMaxNameBytes - 1, 'a') + " = 1\n"));
  EXPECT_OK(CheckBody("    " + std::string(kMaxNameBytes, 'a') + " = 1\n"));
  EXPECT_THAT(CheckBody("    " + std::string(kMaxNameBytes + 1, 'a') + " = 1\n"),
              Refused("name is too long"));
  EXPECT_THAT(CheckBody("    q = annotate(Union[" + Repeat("int, ", 2000) + "], x)\n"),
              Refused("Union"));
}

TEST(ArchiveCheckTest, LimitsTheSizeOfFiles) {
  const std::string code = Code("");
  const auto sized = [&](size_t size) {
    return CheckCode(absl::StrCat(code, std::string(size - code.size(), ' ')));
  };
  EXPECT_OK(sized(kMaxTextFileBytes - 1));
  EXPECT_OK(sized(kMaxTextFileBytes));
  EXPECT_THAT(sized(kMaxTextFileBytes + 1),
              Refused("code/__torch__/m.py: larger than 67108864 bytes"));
  EXPECT_THAT(CheckWith("data.pkl", std::string(kMaxTextFileBytes + 1, 'N')),
              Refused("data.pkl: larger than 67108864 bytes"));
}

TEST(ArchiveCheckTest, RefusesTextThatTwoLexersMayReadDifferently) {
  for (const char* line : {"# a comment",
                           "x = 1 # type: (int) -> int",
                           "x = \\",
                           "\tx = 1",
                           "x = \"\"\"a\"\"\"",
                           "x = '''a'''",
                           "x = \"a\" \"b\"",
                           "x = \"a",
                           "x = \"a\\",
                           "x = \"\x01\"",
                           "x = \"\xc3\"",
                           "x = \"\xc3\xc3\xa4\"",
                           "x = \"\xe4\"",
                           "x = \"\\\xc3\xa4\"",
                           "\xc3\xa4 = 1",
                           "x = 0x1f",
                           "x = 1__torch__",
                           "x = 1e",
                           "x = 1.a",
                           "x = .5",
                           "x = ...",
                           "x = (1]",
                           "x = 1)",
                           "x = (1",
                           "x = 1;",
                           "x\r",
                           "x = $"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  EXPECT_FALSE(CheckBody(std::string("    x = 1\0\n", 11)).ok());
  // PyTorch writes names of attributes so.
  EXPECT_OK(CheckBody("    q = \"\xc3\xa4\"\n"));
  EXPECT_OK(CheckBody("    q = \"\"\n    r = '\"'\n    s = \"a\\\"b\\\\\"\n"));
  EXPECT_OK(CheckBody(Repeat("\n", 200)));
  EXPECT_THAT(CheckBody(Repeat("\n", 201)), Refused("blank lines"));
}

TEST(ArchiveCheckTest, RefusesWhatTheWriterDoesNotUse) {
  for (const char* line : {"q = x + x",
                           "q = x * x",
                           "q = - x",
                           "q = not x",
                           "q = x if x else x",
                           "q = x and x",
                           "q = x == x",
                           "q = [i for i in x]",
                           "q = (*x, *x)",
                           "f(*x)",
                           "q = lambda: x",
                           "q += 1",
                           "q = r = 1",
                           "q = x y",
                           "q = 1 2",
                           "assert x",
                           "raise x",
                           "del x",
                           "break",
                           "continue",
                           "global x",
                           "import os",
                           "for i in x:",
                           "for i, j in range(2):",
                           "elif x:",
                           "q = x[1:2]",
                           "q = x.if",
                           "return x\n    q = 1",
                           "class A:",
                           "q =",
                           "= q",
                           "q = (,)",
                           "q = f(,)",
                           "q = x.",
                           "q = {x}}",
                           "@x",
                           "if x: pass",
                           "else: pass",
                           "def f(a): pass",
                           "def f(a: int) -> int:",
                           "with x as y:",
                           "q : = 1"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  for (const char* code : {"x = 1\n",
                           "import os\n",
                           "op_version_set = 1.0\n",
                           "op_version_set = 1, 2\n",
                           "op_version_set = x\n",
                           "op_version_set = 1\nop_version_set = 1\n",
                           "  class A:\n    a : int\n",
                           "class A\n",
                           "class A(B):\n  a : int\n",
                           "class A:\n",
                           "class A:\na : int\n",
                           "class A:\n  a\n",
                           "class A:\n  a = 1\n",
                           "class A:\n  pass\n",
                           "class A:\n  a : int\n b : int\n",
                           "class A:\n  __annotations__[0] = int\n",
                           "class A:\n  __parameters__ = f()\n",
                           "class A:\n  __parameters__ = [1]\n",
                           "def f(x) -> int: return x\n",
                           "def f(x):\n  return x\n",
                           "def f(x) -> :\n  return x\n",
                           "def f() -> int:\n",
                           "def if() -> int:\n  return x\n",
                           "class A:\n  a : int\nclass A:\n  a : int\n"}) {
    EXPECT_FALSE(CheckCode(code).ok()) << code;
  }
}

// LibTorch expects certain statements in each kind of class. It reads parts that
// other statements do not have. "crashes" marks statements that crash it.
TEST(ArchiveCheckTest, KindsOfClassesHaveTheirOwnStatements) {
  EXPECT_OK(
      CheckCode("class A(Enum):\n  RED = 1\n  MINUS = -1\n  HALF = 0.5\n  TEXT = \"t\"\n"
                "class B(Interface):\n  def f(self) -> int:\n    pass\n"
                "class C(NamedTuple):\n  a : int\n"
                "class D(Module):\n  __annotations__ = []\n  a : Final[int] = -1\n"));
  const struct {
    const char* code;
    const char* message;
  } cases[] = {
      {"class A(Enum):\n  RED : int\n", ":2:7: ':'"},  // crashes
      {"class A(Enum):\n  RED : int = 1\n", ":2:7: ':'"},
      {"class A(Enum):\n  RED = [1]\n", ":2:11: the statement"},
      {"class A(Enum):\n  RED = inf\n", ":2:9: the statement"},
      {"class A(Enum):\n  RED = 1j\n", ":2:9: the statement"},
      {"class A(Enum):\n  RED = - 1j\n", ":2:11: the statement"},
      {"class A(Enum):\n  RED = 1\n  def f(self: int) -> int:\n    return 1\n", ":3:7: 'f'"},
      {"class A(NamedTuple):\n  a : int\n  def f(self: int) -> int:\n    return 1\n", ":3:7: 'f'"},
      {"class A(NamedTuple):\n  a : int = 3\n", ":2:11: '='"},
      {"class A(NamedTuple):\n  __parameters__ = [\"a\", ]\n", ":2:18: '='"},
      {"class A(NamedTuple):\n  __annotations__[\"a\"] = int\n", ":2:18: '['"},
      {"class A(Interface):\n  a : int\n", ":2:3: 'a'"},
      {"class A(Interface):\n  __parameters__ = []\n", ":2:3: '__parameters__'"},
      {"class A(Interface):\n  def f() -> int:\n    pass\n", ":2:7: 'f'"},  // crashes
      {"class A(Interface):\n  def f(self) -> int:\n    return 1\n", ":3:5: 'return'"},
      {"class A(Module):\n  def f() -> int:\n    return 1\n", ":2:7: 'f'"},
      {"class A(Module):\n  __parameters__ : int\n", ":2:18: ':'"},
      {"class A(Module):\n  __forward_hooks__ : int\n", ":2:21: ':'"},
      {"class A(Module):\n  __annotations__ : int\n", ":2:19: ':'"},
      {"class A:\n  a = 1\n", ":2:5: '='"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(CheckCode(c.code), Refused(absl::StrCat("m.py", c.message))) << c.code;
  }
  // The kind of a class does not apply to the next class or function.
  EXPECT_OK(
      CheckCode("class A(Interface):\n  def f(self) -> int:\n    pass\n"
                "def g(x: Tensor) -> Tensor:\n  y = x\n  return y\n"
                "class B:\n  a : int\n  def f(self: __torch__.m.B) -> int:\n    return 1\n"));
}

TEST(ArchiveCheckTest, RefusesEmptyIndices) {
  // LibTorch takes the first index without a check, and crashes if a tensor is indexed.
  EXPECT_THAT(CheckBody("    q = x[]\n"), Refused("m.py:11:11: ']'"));
  EXPECT_THAT(CheckBody("    q = [1][]\n"), Refused("m.py:11:13: ']'"));
  EXPECT_THAT(CheckBody("    x[] = x\n"), Refused("m.py:11:7: ']'"));
  EXPECT_OK(CheckBody("    q = x[1]\n    r = []\n    s = f()\n"));
}

TEST(ArchiveCheckTest, TypesAreNamesWithTypesInBrackets) {
  for (const char* type : {"int", "a.b.c", "List[int]", "Dict[str, List[a.b]]", "Tuple[()]",
                           "Tuple[Tuple[()], int]"}) {
    EXPECT_OK(CheckCode(absl::StrCat("class A:\n  a : ", type, "\n"))) << type;
  }
  for (const char* type : {"[int]", "[]", "List[]", "List[int][int]", "List[[int]]", ".a", "a..b",
                           "List[.a]", "a.[b]", "Tuple[()[]]"}) {
    EXPECT_THAT(CheckCode(absl::StrCat("class A:\n  a : ", type, "\n")),
                Refused("is not what PyTorch writes here"))
        << type;
  }
}

TEST(ArchiveCheckTest, SaysWhereTheProblemIs) {
  EXPECT_THAT(CheckBody("    q = 1\n    q = x ? x\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.pt: code/__torch__/m.py:12:11: '?' is not what PyTorch writes here"));
  EXPECT_THAT(CheckWith("data.pkl", Of("i")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "m.pt: data.pkl: byte 2: opcode 0x69 is not one that PyTorch writes"));
  EXPECT_THAT(CheckTorchScriptArchive("x", "a\nb.pt"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a\\nb.pt: byte 1: ")));
}

TEST(ArchiveCheckTest, RecognisesTorchScript) {
  const std::string bytes = Archive(Valid());
  EXPECT_TRUE(LooksLikeTorchScript(bytes));
  EXPECT_TRUE(LooksLikeTorchScript(bytes.substr(0, bytes.size() - 30)));
  EXPECT_FALSE(LooksLikeTorchScript(""));
  EXPECT_FALSE(LooksLikeTorchScript("PK\3\4"));
  EXPECT_FALSE(LooksLikeTorchScript("/constants.pkl"));
  // torch.save and torch.export
  EXPECT_FALSE(LooksLikeTorchScript(
      MakeZip({.files = {{.name = "m/data.pkl"}, {.name = "m/version"}, {.name = "m/data/0"}}})));
  EXPECT_FALSE(LooksLikeTorchScript(
      MakeZip({.files = {{.name = "m/archive_format"}, {.name = "m/models/model.json"}}})));
}

}  // namespace
}  // namespace graphnet
