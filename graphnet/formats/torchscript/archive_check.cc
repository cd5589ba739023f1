#include "graphnet/formats/torchscript/archive_check.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/archive/pickle_reader.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/torchscript/code_check.h"
#include "graphnet/formats/torchscript/pickle_check.h"

namespace graphnet {
namespace {

// Versions of the file format. PyTorch 1.0 wrote version 1; PyTorch 2.13 writes up to 10.
constexpr int kMinVersion = 1;
constexpr int kMaxVersion = 99;

// The limit on all source code in an archive, which is in memory at once. A single
// file may be that large.
constexpr uint64_t kMaxCodeBytes = 4 * uint64_t{kMaxTextFileBytes};

// The purpose of an entry, according to its name without the archive's folder.
enum class Role {
  kPickle,   // data.pkl, constants.pkl
  kStorage,  // data/0, constants/0.storage
  kCode,     // code/__torch__/m.py
  kDebug,    // code/__torch__/m.py.debug_pkl
  kVersion,
  kByteOrder,
  kLegacy,  // model.json, which makes LibTorch read the layout of PyTorch 1.0 to 1.2
  // Entries that torch::jit::load does not read: extra files, the bytecode for mobile devices, the
  // inputs of a trace, marks of the writer, and what other tools add.
  kInert,
};

bool IsNumber(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// Returns whether the components of a name such as "code/__torch__/a/b.py" form a
// qualified name.
bool IsCodeName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "code/") || !absl::ConsumeSuffix(&name, ".py")) {
    return false;
  }
  int parts = 0;
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (++parts == 1 && part != "__torch__") return false;
    if (part.empty() || absl::ascii_isdigit(part[0])) return false;
    for (char c : part) {
      if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') {
        return false;
      }
    }
  }
  return parts <= kMaxNesting;
}

Role RoleOf(absl::string_view name) {
  if (name == "data.pkl" || name == "constants.pkl") return Role::kPickle;
  for (absl::string_view folder : {"data/", "constants/"}) {
    if (absl::ConsumePrefix(&name, folder)) {
      return IsStorageKey(name) ? Role::kStorage : Role::kInert;
    }
  }
  if (absl::StartsWith(name, "code/")) {
    if (absl::EndsWith(name, ".py")) return Role::kCode;
    return absl::EndsWith(name, ".py.debug_pkl") ? Role::kDebug : Role::kInert;
  }
  if (name == "version" || name == ".data/version") return Role::kVersion;
  if (name == "byteorder") return Role::kByteOrder;
  if (name == "model.json") return Role::kLegacy;
  return Role::kInert;
}

class ArchiveCheck {
 public:
  ArchiveCheck(ZipReader zip, absl::string_view name) : zip_(std::move(zip)), name_(name) {}

  absl::StatusOr<CheckedArchive> Run() {
    RETURN_IF_ERROR(CheckNames());
    RETURN_IF_ERROR(zip_.InflatedBytes().status());
    RETURN_IF_ERROR(zip_.VerifyAll());
    RETURN_IF_ERROR(CheckVersion());
    std::vector<uint64_t> constants;
    for (absl::string_view name : {"constants", "data"}) {
      RETURN_IF_ERROR(CheckPickle(name, &constants));
    }
    RETURN_IF_ERROR(CheckCode(std::move(constants)));
    return checked_;
  }

 private:
  absl::Status Error(absl::string_view entry, absl::string_view message) const {
    return Annotate(Annotate(absl::InvalidArgumentError(message), entry), name_);
  }

  const ZipEntry* Find(absl::string_view name) const {
    return zip_.Find(absl::StrCat(prefix_, name));
  }

  absl::StatusOr<std::string> Read(const ZipEntry& entry, uint64_t max_bytes) const {
    if (entry.size > max_bytes) {
      return Error(ShortName(entry), absl::StrCat("larger than ", max_bytes, " bytes"));
    }
    return zip_.Read(entry);
  }

  absl::string_view ShortName(const ZipEntry& entry) const {
    return absl::StripPrefix(entry.name, prefix_);
  }

  absl::Status CheckNames() {
    if (zip_.entries().empty()) return Error("archive", "is empty");
    const absl::string_view first = zip_.entries().front().name;
    prefix_ = std::string(first.substr(0, first.find('/') + 1));
    if (prefix_.empty()) return Error(first, "is not in a folder");
    absl::flat_hash_set<std::string> lower_names;
    const std::string lower_prefix = absl::AsciiStrToLower(prefix_);
    for (const ZipEntry& entry : zip_.entries()) {
      const std::string lower = absl::AsciiStrToLower(entry.name);
      // LibTorch looks for names in the archive's folder only, but does not mind their case.
      if (!absl::StartsWith(lower, lower_prefix)) continue;
      const Role role = RoleOf(absl::string_view(lower).substr(prefix_.size()));
      if (role == Role::kInert) continue;
      const absl::string_view name = ShortName(entry);
      if (!lower_names.insert(lower).second) {
        return Error(name, "is there twice, in upper and lower case");
      }
      if (!absl::StartsWith(entry.name, prefix_) || RoleOf(name) != role) {
        return Error(name, "is not in the case in which PyTorch writes it");
      }
      if (role == Role::kLegacy) {
        return Error(
            name, "is of the layout of PyTorch 1.0 to 1.2, which PyTorch itself no longer loads");
      }
      if (role == Role::kCode && !IsCodeName(name)) {
        return Error(name, "is code outside of __torch__");
      }
    }
    for (absl::string_view name : {"data.pkl", "constants.pkl"}) {
      if (Find(name) == nullptr) return Error(name, "is missing");
    }
    return absl::OkStatus();
  }

  absl::Status CheckVersion() const {
    const ZipEntry* version = Find("version");
    if (version == nullptr) version = Find(".data/version");
    if (version == nullptr) return Error("version", "is missing");
    if (version != Find(".data/version") && Find(".data/version") != nullptr) {
      return Error(".data/version", "exists besides version");
    }
    ASSIGN_OR_RETURN(const std::string text, Read(*version, 16));
    int number = 0;
    const absl::string_view digits = absl::StripSuffix(text, "\n");
    if (!IsNumber(digits) || digits.size() > 3) {
      return Error(ShortName(*version), "is not a number");
    }
    for (char c : digits) number = 10 * number + (c - '0');
    if (number < kMinVersion || number > kMaxVersion) {
      return Error(ShortName(*version),
                   absl::StrCat("the format's version ", number, " is not supported"));
    }
    if (const ZipEntry* order = Find("byteorder"); order != nullptr) {
      ASSIGN_OR_RETURN(const std::string value, Read(*order, 16));
      if (value != "little") return Error("byteorder", "is not 'little'");
    }
    return absl::OkStatus();
  }

  // Checks <name>.pkl with its storages in <name>/.
  absl::Status CheckPickle(absl::string_view name, std::vector<uint64_t>* constants) {
    const std::string entry_name = absl::StrCat(name, ".pkl");
    const ZipEntry* entry = Find(entry_name);
    if (entry == nullptr) return absl::OkStatus();
    const auto annotate = [&](const absl::Status& status) {
      return Annotate(Annotate(status, entry_name), name_);
    };
    ASSIGN_OR_RETURN(const std::string bytes, Read(*entry, kMaxTextFileBytes));
    const absl::StatusOr<Pickle> pickle = Pickle::Parse(bytes);
    if (!pickle.ok()) return annotate(pickle.status());

    const PickleKind kind = pickle->kind(pickle->root());
    if ((name == "data" && kind != PickleKind::kObject) ||
        (name == "constants" && kind != PickleKind::kTuple)) {
      return Error(entry_name, "has the wrong type");
    }
    const auto storage_size = [&](absl::string_view key) -> std::optional<uint64_t> {
      const ZipEntry* storage = Find(absl::StrCat(name, "/", key));
      if (storage == nullptr) return std::nullopt;
      return storage->size;
    };
    const absl::StatusOr<bool> has_state = CheckValuePickle(*pickle, storage_size);
    if (!has_state.ok()) return annotate(has_state.status());
    checked_.has_state |= *has_state;
    if (name == "constants") *constants = StringBytes(*pickle);
    return absl::OkStatus();
  }

  absl::Status CheckCode(std::vector<uint64_t> constants) {
    CodeCheck check(std::move(constants));
    std::deque<std::string> texts;  // `check` refers to them
    uint64_t total = 0;
    for (const ZipEntry& entry : zip_.entries()) {
      const absl::string_view name = ShortName(entry);
      const Role role = RoleOf(name);
      if (!absl::StartsWith(entry.name, prefix_)) continue;
      if (role != Role::kCode && role != Role::kDebug) continue;
      if (role == Role::kDebug && entry.size > kMaxTextFileBytes) {
        checked_.positions = Error(name, "is too large");
        continue;
      }
      ASSIGN_OR_RETURN(std::string bytes, Read(entry, kMaxTextFileBytes));
      if (role == Role::kDebug) {
        // The table only tells where the code comes from, so LibTorch can do without it.
        const absl::StatusOr<Pickle> pickle = Pickle::Parse(bytes);
        const absl::Status status = pickle.ok() ? CheckDebugPickle(*pickle) : pickle.status();
        if (!status.ok() && checked_.positions.ok()) checked_.positions = Annotate(status, name);
        continue;
      }
      total += bytes.size();
      if (total > kMaxCodeBytes) {
        return Error(name, absl::StrCat("the code exceeds ", kMaxCodeBytes, " bytes"));
      }
      texts.push_back(std::move(bytes));
      RETURN_IF_ERROR(Annotate(check.AddFile(name, texts.back()), name_));
    }
    RETURN_IF_ERROR(Annotate(check.Finish(), name_));
    checked_.has_state |= check.has_set_state();
    return absl::OkStatus();
  }

  ZipReader zip_;
  const absl::string_view name_;
  std::string prefix_;  // the archive's folder, "m/"
  CheckedArchive checked_;
};

}  // namespace

absl::StatusOr<CheckedArchive> CheckTorchScriptArchive(absl::string_view bytes,
                                                       absl::string_view name) {
  ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(bytes, std::string(name)));
  return ArchiveCheck(std::move(zip), name).Run();
}

bool LooksLikeTorchScript(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, "PK\x03\x04")) return false;
  // The names are in the central directory, at the end, and in the local
  // headers, of which the first are enough if the end is missing.
  constexpr size_t kHead = 1 << 20;
  constexpr size_t kTail = 16 << 20;
  const absl::string_view head = bytes.substr(0, kHead);
  const absl::string_view tail = bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  for (absl::string_view part : {tail, head}) {
    if (absl::StrContains(part, "/constants.pkl") ||
        (absl::StrContains(part, "/code/__torch__") && absl::StrContains(part, "/data.pkl"))) {
      return true;
    }
  }
  return false;
}

}  // namespace graphnet
