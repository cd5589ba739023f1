#include "graphnet/decompose/folder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/sources.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/text/equality.h"

namespace graphnet {
namespace {

constexpr char kPeerFolder[] = "_decomposed";
constexpr char kConfigJson[] = "decompose_config.json";
constexpr char kConfigPb[] = "decompose_config.pb";

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot create ", Printable(path, 1000), ": ", error.message()));
}

bool SameWeights(const Sample& a, const Sample& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.first == y.first && SameData(x.second, y.second);
  };
  return a.weights.size() == b.weights.size() &&
         std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), same);
}

class FolderWriter {
 public:
  FolderWriter(const Decomposition& made, const std::string& folder,
               const DecompositionFolderOptions& options)
      : made_(made), folder_(folder), format_(options.format) {
    if (options.layout == FolderLayout::kPythonGraphNet) {
      folder_ = JoinPath(folder, kPeerFolder);
      stem_ = absl::StrCat(made.config.model_name, "_");
    }
  }

  absl::StatusOr<WriteReport> Run() {
    if (stem_[0] == '.' || absl::StrContains(stem_, "/") || absl::StrContains(stem_, '\0')) {
      return absl::InvalidArgumentError(
          absl::StrCat("a folder cannot be called ", Printable(stem_), "0"));
    }
    const bool json = format_ == PieceFormat::kGraphNetFolder;
    const std::string config_file = JoinPath(folder_, json ? kConfigJson : kConfigPb);
    ASSIGN_OR_RETURN(const std::string config, json ? WriteDecomposeConfigJson(made_.config)
                                                    : SerializeDecomposeConfig(made_.config));
    RETURN_IF_ERROR(CheckFolder(BaseName(config_file), config));
    bool is_there = IsSameFile(config_file, config);
    for (size_t i = 0; i < made_.pieces.size(); ++i) {
      ASSIGN_OR_RETURN(const bool kept, json ? IsGraphNetThere(i) : IsProtoThere(i));
      ++(kept ? report_.kept : report_.written);
      is_there = is_there && kept;
    }
    if (is_there) return report_;
    // If folder_ is a link, the folder behind it is replaced.
    std::error_code missing;
    const std::filesystem::path target = std::filesystem::canonical(folder_, missing);
    if (!missing) folder_ = target.string();
    while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
    if (const auto parent = std::filesystem::path(folder_).parent_path(); !parent.empty())
      RETURN_IF_ERROR(MakeFolder(parent.string()));
    RETURN_IF_ERROR(ReplaceFolder(
        folder_, OwnEntries(BaseName(config_file)), [&](const std::string& dir) -> absl::Status {
          for (size_t i = 0; i < made_.pieces.size(); ++i) {
            const std::string path = JoinPath(dir, PieceName(i));
            if (json) {
              ASSIGN_OR_RETURN(GraphNetFileMap files, FilesOf(i));
              RETURN_IF_ERROR(WriteGraphNetFiles(std::move(files), path));
            } else {
              RETURN_IF_ERROR(WriteSampleFile(made_.pieces[i], path));
            }
          }
          return WriteFileAtomic(JoinPath(dir, BaseName(config_file)), config);
        }));
    return report_;
  }

 private:
  std::string PieceName(size_t i) const {
    return absl::StrCat(stem_, i, format_ == PieceFormat::kProtobuf ? ".pb" : "");
  }

  // The result refers to the decomposition.
  IsOwnEntry OwnEntries(const std::string& config_name) const {
    absl::flat_hash_map<std::string, const Sample*> ours;
    for (size_t i = 0; i < made_.pieces.size(); ++i) {
      ours[PieceName(i)] = &made_.pieces[i];
      if (format_ == PieceFormat::kProtobuf) ours[BaseName(WeightsPath(PieceName(i)))] = nullptr;
    }
    const bool has_folders = format_ == PieceFormat::kGraphNetFolder;
    return [=](absl::string_view path, bool is_folder) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(path, absl::MaxSplits('/', 1));
      if (parts.first == config_name) return !is_folder;
      const auto found = ours.find(parts.first);
      if (found == ours.end()) return false;
      if (parts.second.empty()) return is_folder == has_folders;
      if (!has_folders) return false;
      return IsSampleEntry(parts.second, is_folder) ||
             (!is_folder && (parts.second == kSubgraphSources ||
                             found->second->extra_files.contains(std::string(parts.second))));
    };
  }

  absl::Status CheckFolder(const std::string& config_name, const std::string& config) const {
    RETURN_IF_ERROR(CheckReplaceable(folder_, OwnEntries(config_name)));
    const std::string path = JoinPath(folder_, config_name);
    if (!FileExists(path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string there, ReadFile(path, kMaxTextFileBytes));
    if (there == config) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(
        Printable(folder_, 1000), ": not written to, as it holds another decomposition"));
  }

  // Returns whether a piece was there already.
  absl::StatusOr<bool> IsProtoThere(size_t i) const {
    const std::string path = JoinPath(folder_, PieceName(i));
    if (!FileExists(path)) return false;
    const absl::StatusOr<Sample> there = ReadSampleFile(path, /*with_weights=*/true);
    const Sample& piece = made_.pieces[i];
    return there.ok() && CheckEqual(piece, *there, kExact).ok() && SameWeights(piece, *there);
  }

  absl::StatusOr<bool> IsGraphNetThere(size_t i) const {
    ASSIGN_OR_RETURN(const GraphNetFileMap files, FilesOf(i));
    const std::string path = JoinPath(folder_, PieceName(i));
    const absl::StatusOr<std::vector<std::string>> names = ListFolder(path);
    if (!names.ok() || names->size() != files.size()) return false;
    return absl::c_all_of(files, [&](const auto& file) {
      return IsSameFile(JoinPath(path, file.first), file.second);
    });
  }

  static bool IsSameFile(const std::string& path, const std::string& content) {
    const absl::StatusOr<std::string> there = ReadFile(path, content.size());
    return there.ok() && *there == content;
  }

  absl::StatusOr<GraphNetFileMap> FilesOf(size_t i) const {
    absl::StatusOr<GraphNetFileMap> files = GraphNetFiles(made_.pieces[i]);
    if (!files.ok()) return Annotate(files.status(), PieceName(i));
    (*files)[kSubgraphSources] = SubgraphSourcesText(ProvenanceOf(made_.pieces[i]));
    return files;
  }

  const Decomposition& made_;
  std::string folder_;
  std::string stem_ = "subgraph_";
  const PieceFormat format_;
  WriteReport report_;
};

// Returns the number at the end of a piece's name; -1 if it is not a piece.
int64_t PieceNumber(const std::string& folder, absl::string_view name) {
  const std::string path = JoinPath(folder, name);
  if (IsFolder(path) ? !IsGraphNetFolder(path) : !absl::ConsumeSuffix(&name, ".pb")) return -1;
  const size_t underscore = name.rfind('_');
  if (underscore == absl::string_view::npos) return -1;
  const absl::string_view digits = name.substr(underscore + 1);
  int64_t number = -1;
  if (digits.find_first_not_of("0123456789") != absl::string_view::npos) return -1;
  return absl::SimpleAtoi(digits, &number) ? number : -1;
}

absl::StatusOr<std::map<int64_t, std::string>> FindPieces(const std::string& folder) {
  std::map<int64_t, std::string> pieces;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    const int64_t number = PieceNumber(folder, name);
    if (number < 0) continue;
    const auto [it, first] = pieces.try_emplace(number, name);
    if (!first) {
      return absl::FailedPreconditionError(absl::StrCat(Printable(folder, 1000), ": both ",
                                                        Printable(it->second), " and ",
                                                        Printable(name), " are piece ", number));
    }
  }
  return pieces;
}

// Gives values the names of the configuration, since a folder may have renamed them.
void NameValues(const PortNames& ports, Graph* graph) {
  std::vector<std::pair<Node*, absl::string_view>> renamed;
  const auto collect = [&](absl::Span<const absl::string_view> names,
                           const std::vector<Node*>& nodes) {
    for (size_t k = 0; k < nodes.size() && k < names.size(); ++k) {
      if (nodes[k]->name() != names[k]) renamed.push_back({nodes[k], names[k]});
    }
  };
  collect(ports.inputs(), graph->placeholders());
  collect(ports.outputs(), graph->output()->operands());
  // Temporary names avoid conflicts among them.
  for (size_t k = 0; k < renamed.size(); ++k)
    renamed[k].first->set_name(absl::StrCat("renamed_port_", k));
  for (const auto& [node, name] : renamed) node->set_name(name);
}

}  // namespace

std::string DecomposedPath(const std::string& sample) { return absl::StrCat(sample, kPeerFolder); }

absl::StatusOr<WriteReport> WriteDecomposition(const Decomposition& made, const std::string& folder,
                                               const DecompositionFolderOptions& options) {
  return FolderWriter(made, folder, options).Run();
}

absl::StatusOr<DecompositionFiles> FindDecomposition(const std::string& given) {
  DecompositionFiles files;
  files.folder = given;
  ASSIGN_OR_RETURN(files.pieces, FindPieces(files.folder));
  if (files.pieces.empty() && IsFolder(JoinPath(given, kPeerFolder))) {
    files.folder = JoinPath(given, kPeerFolder);
    ASSIGN_OR_RETURN(files.pieces, FindPieces(files.folder));
  }
  if (files.pieces.empty()) {
    return absl::NotFoundError(
        absl::StrCat(Printable(files.folder, 1000), ": no pieces, such as subgraph_0"));
  }
  for (const char* name : {kConfigJson, kConfigPb}) {
    const std::string path = JoinPath(files.folder, name);
    if (!FileExists(path)) continue;
    if (!files.config.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(files.folder, 1000), ": two configurations"));
    }
    files.config = path;
  }
  return files;
}

size_t NumPiecesIfWhole(const std::string& folder) {
  const absl::StatusOr<DecompositionFiles> files = FindDecomposition(folder);
  if (!files.ok() || files->config.empty()) return 0;
  const absl::StatusOr<DecomposeConfig> config = ReadDecomposeConfig(files->config);
  const bool is_whole =
      config.ok() && config->is_done() && config->subgraphs.size() == files->pieces.size();
  return is_whole ? files->pieces.size() : 0;
}

absl::StatusOr<Sample> ReadPiece(const std::string& path, bool with_weights) {
  return IsFolder(path) ? ReadGraphNetFolder(path) : ReadSampleFile(path, with_weights);
}

void ApplyConfig(const DecomposeConfig& config, absl::Span<Sample> pieces) {
  PortNames ports(config);
  for (size_t i = 0; i < std::min(pieces.size(), config.subgraphs.size()); ++i) {
    ports.Next();
    NameValues(ports, pieces[i].module->main());
    const Range& range = config.subgraphs[i].range;
    if (pieces[i].provenance.empty())
      pieces[i].provenance = {{config.model_name, config.parent_hash, range.start, range.end}};
  }
}

absl::StatusOr<StoredDecomposition> ReadDecomposition(const std::string& folder,
                                                      bool with_weights) {
  ASSIGN_OR_RETURN(const DecompositionFiles files, FindDecomposition(folder));
  StoredDecomposition stored;
  if (!files.config.empty()) {
    ASSIGN_OR_RETURN(stored.config, ReadDecomposeConfig(files.config));
  }
  int64_t expected = 0;
  for (const auto& [number, name] : files.pieces) {
    if (number != expected++) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(files.folder, 1000), ": piece ", expected - 1, " is missing"));
    }
  }
  const bool done = stored.config.has_value() && stored.config->is_done();
  if (done && stored.config->subgraphs.size() != files.pieces.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(files.folder, 1000), ": the configuration has ", stored.config->subgraphs.size(),
        " subgraphs, the folder ", files.pieces.size()));
  }
  for (const auto& [number, name] : files.pieces) {
    ASSIGN_OR_RETURN(Sample piece, ReadPiece(JoinPath(files.folder, name), with_weights));
    stored.pieces.push_back(std::move(piece));
  }
  if (done) ApplyConfig(*stored.config, absl::MakeSpan(stored.pieces));
  return stored;
}

}  // namespace graphnet
