// Archives of TorchScript made byte by byte, and what the check says about them.
#ifndef TESTS_FORMATS_TORCHSCRIPT_ARCHIVE_BYTES_H_
#define TESTS_FORMATS_TORCHSCRIPT_ARCHIVE_BYTES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"
#include "tests/formats/archive/zip_builder.h"

namespace graphnet {

// Pieces of PyTorch's pickles.
namespace pickle {

inline std::string Storage(const std::string& key, int64_t elements,
                           const std::string& type = "FloatStorage") {
  return PersistentId(
      Tuple(Text("storage") + Global("torch", type) + Text(key) + Text("cpu") + Int(elements)));
}

inline std::string Ints(const std::vector<int64_t>& values) {
  std::string elements;
  for (int64_t value : values) elements += Int(value);
  return Tuple(elements);
}

inline std::string Tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  return Reduce(Global("torch._utils", "_rebuild_tensor_v2"),
                Tuple(storage + Int(offset) + Ints(sizes) + Ints(strides) + Bool(false) +
                      Reduce(Global("collections", "OrderedDict"), ")")));
}

// An object of class M with a tensor and one other attribute.
inline std::string Model(const std::string& weight, const std::string& other) {
  return Of(
      Object(Global("__torch__.m", "M"), Dict(Text("weight") + weight + Text("other") + other)));
}

inline std::string DebugTable(const std::string& texts, const std::string& rows) {
  return Of(Text("FORMAT_WITH_STRING_TABLE") + Tuple(texts) + Tuple(rows) + "\x87");
}

inline std::string DebugRow(const std::vector<int64_t>& texts, int64_t file, int64_t begin,
                            int64_t end) {
  std::string indices;
  for (int64_t text : texts) indices += Int(text);
  return Int(0) +
         (Reduce(Global("torch.jit._pickle", "build_intlist"), Tuple(List(indices))) + Int(file) +
          Int(1) + "\x87") +
         Int(begin) + Int(end) + "\x87" + Int(-1) + "\x87";
}

}  // namespace pickle

// The contents of an archive by entry name, without the archive's folder.
using Entries = std::map<std::string, std::string>;

inline std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

inline constexpr char kClass[] =
    "class M(Module):\n"
    "  __parameters__ = [\"weight\", ]\n"
    "  __buffers__ = []\n"
    "  weight : Tensor\n"
    "  other : int\n"
    "  size : Final[Tuple[int, int]] = (3, -1)\n"
    "  __annotations__[\"0\"] = __torch__.m.Other\n";

inline std::string Code(const std::string& body) {
  return absl::StrCat(kClass,
                      "  def forward(self: __torch__.m.M,\n"
                      "    x: Tensor,\n"
                      "    y: Optional[Tensor]=None) -> Tensor:\n",
                      body, "    return torch.add(x, self.weight, alpha=1)\n");
}

inline Entries Valid() {
  using namespace pickle;  // NOLINT: the opcodes
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

inline std::string Archive(const Entries& entries) {
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

inline absl::Status Check(const std::string& archive) {
  return CheckTorchScriptArchive(archive, "m.pt").status();
}
inline absl::Status Check(const Entries& entries) { return Check(Archive(entries)); }

// Checks the valid archive with one entry replaced or added.
inline absl::Status CheckWith(const std::string& name, const std::string& content) {
  Entries entries = Valid();
  entries[name] = content;
  return Check(entries);
}
inline absl::Status CheckCode(const std::string& code) {
  return CheckWith("code/__torch__/m.py", code);
}
inline absl::Status CheckBody(const std::string& body) { return CheckCode(Code(body)); }
inline absl::Status CheckAttribute(const std::string& other) {
  using namespace pickle;  // NOLINT: the opcodes
  return CheckWith("data.pkl", Model(Tensor(Storage("0", 6), 0, {6}, {1}), other));
}

inline auto Refused(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  testing::AllOf(testing::StartsWith("m.pt: "), testing::HasSubstr(message),
                                 testing::Not(testing::HasSubstr("\n"))));
}

}  // namespace graphnet

#endif  // TESTS_FORMATS_TORCHSCRIPT_ARCHIVE_BYTES_H_
