// Entries of archives, and which archive is TorchScript.
#include "graphnet/formats/torchscript/archive_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"
#include "tests/formats/archive/zip_builder.h"
#include "tests/formats/torchscript/archive_bytes.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

using namespace pickle;  // NOLINT: the opcodes

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
