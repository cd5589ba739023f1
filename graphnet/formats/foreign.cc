#include "graphnet/formats/foreign.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/archive/zip_reader.h"

namespace graphnet {
namespace {

// Advice for a file that holds a module or a program in another form.
constexpr char kExport[] =
    "export the module with torch.export.save(torch.export.export(module, inputs), FILE)";
constexpr char kOriginal[] = "use the PyTorch program that it was made from";

// --- Files by their first bytes ----------------------------------------------------

struct Magic {
  size_t offset;
  absl::string_view bytes;
  absl::string_view what;
  absl::string_view advice;
};

// A longer word comes before a word that is its beginning.
constexpr Magic kMagics[] = {
    {0, "version https://git-lfs.github.com/", "a git-lfs pointer, not the file itself",
     "git lfs pull fetches the file"},
    {0, "\x1f\x8b", "compressed by gzip", "gunzip it, or unpack it with tar xzf, first"},
    {0, "BZh", "compressed by bzip2", "unpack it first"},
    {0, "\xfd\x37zXZ", "compressed by xz", "unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first"},
    {0, "\x04\x22\x4d\x18", "compressed by lz4", "unpack it first"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"},
    {0, "Rar!\x1a\x07", "a rar archive", "unpack it first"},
    {257, "ustar", "a tar archive", "unpack it with tar xf first"},
    {4, "TFL3", "a TensorFlow Lite model, which graphnet does not read", kOriginal},
    {4, "PTMF", "a TorchScript program for mobile devices, without its graph",
     "give it the archive that torch.jit.save wrote"},
    {4, "FT01", "tensors of ExecuTorch, without a graph", kExport},
    {0, "GGUF", "a GGUF file: it holds weights but no graph", kExport},
    {0, "\x89HDF", "an HDF5 file, as Keras writes it, which graphnet does not read", kExport},
    {0, "\x93NUMPY", "an array of NumPy: it holds values but no graph",
     "--inputs takes safetensors"},
    {0, "ML\xefR", "bytecode of MLIR, which graphnet does not read", kOriginal},
    {0, "BC\xc0\xde", "bitcode of LLVM, which graphnet does not read", kOriginal},
    {0,
     "\x7f"
     "ELF",
     "a compiled library or program, such as AOTInductor makes, without a graph", kOriginal},
    {0, "%PDF", "a PDF document", "give it a model"},
    {0, "\x89PNG", "a picture", "graphnet show MODEL -o FILE draws one and does not read it"},
};

bool IsExecuTorch(absl::string_view head) {
  return head.size() > 8 && head.substr(4, 2) == "ET" &&
         absl::c_all_of(head.substr(6, 2), absl::ascii_isdigit);
}

bool IsSafetensors(absl::string_view head) {
  if (head.size() < 10 || head[8] != '{') return false;
  uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof(size));
  return size < (uint64_t{1} << 30) && (head[9] == '"' || head[9] == '}' || head[9] == ' ');
}

// Recognises a ModelProto: ir_version, then another of its fields, usually the producer.
bool IsOnnx(absl::string_view head) {
  if (head.size() < 8 || head[0] != '\x08' || head[1] <= 0 || head[1] >= 32) return false;
  const auto length = static_cast<unsigned char>(head[3]);
  switch (head[2]) {
    case '\x12':  // producer_name, a short word
      return length < 64 && absl::c_all_of(head.substr(4, length), absl::ascii_isprint);
    case '\x3a': return true;                                    // graph
    case '\x42': return head[4] == '\x0a' || head[4] == '\x10';  // opset_import
    default: return false;
  }
}

// Recognises a SavedModel: its version, 1, then a graph with its metadata.
bool IsSavedModel(absl::string_view head) {
  return absl::StartsWith(head, absl::string_view("\x08\x01\x12", 3)) && head.size() > 8 &&
         static_cast<unsigned char>(head[3]) >= 64;
}

std::string DescribePickle(absl::string_view pickle) {
  const auto has = [&](absl::string_view word) { return absl::StrContains(pickle, word); };
  if (has("torch.fx"))
    return absl::StrCat("a torch.fx.GraphModule that torch.save pickled; ", kExport);
  if (has("torch.nn.modules") || has("_parameters"))
    return absl::StrCat("a module that torch.save pickled; ", kExport);
  return absl::StrCat(
      "tensors that torch.save wrote, such as a state_dict, without a graph; load them into their "
      "module, and ",
      kExport);
}

// Returns the text without a byte-order mark and white space at its start.
absl::string_view FirstWords(absl::string_view head) {
  absl::ConsumePrefix(&head, "\xef\xbb\xbf");
  return absl::StripLeadingAsciiWhitespace(head);
}

bool HasAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return absl::c_any_of(words,
                        [&](absl::string_view word) { return absl::StrContains(text, word); });
}

bool StartsWithAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return absl::c_any_of(words,
                        [&](absl::string_view word) { return absl::StartsWith(text, word); });
}

bool IsPython(absl::string_view text) {
  if (StartsWithAny(text, {"import ", "from ", "class ", "def ", "#!"})) return true;
  return StartsWithAny(text, {"#", "\"\"\""}) &&
         HasAny(text, {"\nimport ", "\nfrom ", "\nclass ", "\ndef "});
}

std::string DescribeText(absl::string_view head) {
  const absl::string_view text = FirstWords(head);
  if (text.empty()) return "an empty file";
  if (HasAny(text, {"class GraphModule(", "class Program_weight_tensor_meta_",
                    "class Program_input_tensor_meta_", "dynamic_dim_constraint_",
                    "\"num_devices_required\""})) {
    return "a file of a GraphNet sample; give it the folder that the file lies in";
  }
  if (text[0] == '<') {
    const std::string lower = absl::AsciiStrToLower(text.substr(0, 1000));
    if (HasAny(lower, {"<!doctype html", "<html"})) {
      return "a web page (HTML), as a download that failed leaves it; download the file itself";
    }
    if (HasAny(lower, {"<net "}))
      return absl::StrCat("a program of OpenVINO, which graphnet does not read; ", kOriginal);
    if (StartsWithAny(lower, {"<?xml", "<svg"}))
      return absl::StrCat("an XML file, which graphnet does not read; ", kOriginal);
  }
  if (StartsWithAny(text, {"module {", "module @", "module attributes", "builtin.module",
                           "func.func", "#loc", "#map", "// -----// IR Dump"})) {
    return absl::StrCat("text of MLIR, which graphnet writes and does not read; ", kOriginal);
  }
  const absl::string_view inside = absl::StripLeadingAsciiWhitespace(text.substr(1));
  if ((text[0] == '{' && StartsWithAny(inside, {"\"", "}"})) ||
      (text[0] == '[' && StartsWithAny(inside, {"{", "[", "\"", "]"}))) {
    return "a JSON file, which holds no graph that graphnet reads";
  }
  if (IsPython(text))
    return absl::StrCat("a program in Python, which is never executed; ", kExport);
  return "";
}

// --- Zip archives by their entries --------------------------------------------------

// Returns the names in the central directory. Reads leniently, because archives of other programs
// have many things that the strict reader refuses. Empty if the archive is damaged.
std::vector<absl::string_view> NamesIn(absl::string_view bytes) {
  const auto number = [&](size_t at, int width) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, static_cast<size_t>(width));
    return value;
  };
  constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLongestComment = 65535;
  if (bytes.size() < kEndBytes) return {};
  const size_t end = bytes.rfind("PK\x05\x06", bytes.size() - kEndBytes);
  if (end == absl::string_view::npos || bytes.size() - end > kEndBytes + kLongestComment) return {};
  std::vector<absl::string_view> names;
  const uint32_t count = number(end + 10, 2);
  size_t at = number(end + 16, 4);
  for (uint32_t i = 0; i < count && i < kMaxArchiveEntries; ++i) {
    if (at > end || end - at < kEntryBytes || bytes.substr(at, 4) != "PK\x01\x02") return {};
    const size_t name = number(at + 28, 2), extra = number(at + 30, 2), note = number(at + 32, 2);
    if (end - at - kEntryBytes < name) return {};
    names.push_back(bytes.substr(at + kEntryBytes, name));
    at += kEntryBytes + name + extra + note;
  }
  return names;
}

}  // namespace

std::string DescribeForeignFile(absl::string_view head) {
  for (const Magic& magic : kMagics) {
    if (head.size() >= magic.offset && absl::StartsWith(head.substr(magic.offset), magic.bytes))
      return absl::StrCat(magic.what, "; ", magic.advice);
  }
  if (IsExecuTorch(head)) {
    return absl::StrCat("a program of ExecuTorch (.pte), lowered for its runtime; ", kOriginal);
  }
  if (IsSafetensors(head))
    return "a safetensors file: it holds values but no graph; --inputs takes it";
  if (IsOnnx(head)) return absl::StrCat("an ONNX model, which graphnet does not read; ", kOriginal);
  if (IsSavedModel(head))
    return absl::StrCat("a SavedModel of TensorFlow, which graphnet does not read; ", kExport);
  // The number at the start of files of torch.save from the time before they were archives.
  constexpr absl::string_view kTorchSave = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    if (absl::StartsWith(head.substr(2), kTorchSave)) return DescribePickle(head);
    return absl::StrCat("a pickle, which is never executed; ", kExport);
  }
  return DescribeText(head);
}

std::string DescribeForeignArchive(absl::string_view bytes) {
  const std::vector<absl::string_view> names = NamesIn(bytes);
  const auto has = [&](absl::string_view part) {
    return absl::c_any_of(names,
                          [&](absl::string_view name) { return absl::StrContains(name, part); });
  };
  const auto ends = [&](absl::string_view ending) {
    return absl::c_any_of(names,
                          [&](absl::string_view name) { return absl::EndsWith(name, ending); });
  };
  if (names.empty()) return "";
  if (has(".data/extern_modules") || has(".data/python_version")) {
    return absl::StrCat(
        "a package of torch.package: it holds Python code and pickles, which are never executed; ",
        kExport);
  }
  if (ends("constants.pkl") || ends("serialized_exported_program.json")) return "";
  const bool has_program = absl::c_any_of(names, [](absl::string_view name) {
    return absl::StrContains(name, "models/") && absl::EndsWith(name, ".json");
  });
  if (has_program) return "";
  if (has("aotinductor/")) {
    return absl::StrCat("a package of AOTInductor: compiled code, without its graph; ", kExport);
  }
  if (ends("archive_format")) return absl::StrCat("an archive without a program; ", kExport);
  if (ends("data.pkl")) {
    const absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "");
    if (!zip.ok()) return "";
    for (const ZipEntry& entry : zip->entries()) {
      if (!absl::EndsWith(entry.name, "data.pkl")) continue;
      const absl::StatusOr<std::string> pickle = zip->Read(entry);
      return pickle.ok() ? DescribePickle(*pickle) : "";
    }
  }
  if (has("MAR-INF/")) {
    return "a model archive of TorchServe; unzip it, and give the program in it";
  }
  if (ends("graph_net.json")) {
    return "a zip archive of GraphNet samples; unzip it, and give the folder";
  }
  if (ends("model.weights.h5"))
    return absl::StrCat("a model of Keras, which graphnet does not read; ", kExport);
  if (absl::c_all_of(names, [](absl::string_view name) { return absl::EndsWith(name, ".npy"); }))
    return "arrays of NumPy: it holds values but no graph; --inputs takes safetensors";
  // These names belong to programs of PyTorch, whose readers say what is missing.
  if (ends("/version") || ends(".pkl") || has("/code/")) return "";
  return absl::StrCat("a zip archive without a program, which begins with ",
                      Printable(names.front(), 100), "; unzip it, and give the model in it");
}

std::string DescribeForeignFolder(const std::vector<std::string>& names) {
  const auto has = [&](absl::string_view name) { return absl::c_linear_search(names, name); };
  if (has("model.py") && has("weight_meta.py"))
    return "a GraphNet sample without its graph_net.json";
  if (has("saved_model.pb"))
    return absl::StrCat("a SavedModel of TensorFlow, which graphnet does not read; ", kExport);
  if (has("Manifest.json") && has("Data"))
    return absl::StrCat("a package of Core ML, which graphnet does not read; ", kOriginal);
  if (has("config.json") && absl::c_any_of(names, [](const std::string& name) {
        return absl::EndsWith(name, ".safetensors") || absl::EndsWith(name, ".bin");
      })) {
    return absl::StrCat("a checkpoint of Hugging Face: it holds weights but no graph; ", kExport);
  }
  return "";
}

}  // namespace graphnet
