// Pickles of archives: what they may build, and tensors within their storages.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"
#include "tests/formats/torchscript/archive_bytes.h"

namespace graphnet {
namespace {

using namespace pickle;  // NOLINT: the opcodes

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

}  // namespace
}  // namespace graphnet
