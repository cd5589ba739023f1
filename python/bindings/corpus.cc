#include "python/bindings/corpus.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/corpus/calls.h"
#include "graphnet/corpus/choose.h"
#include "graphnet/corpus/match.h"
#include "graphnet/corpus/query_terms.h"
#include "graphnet/corpus/recurring.h"
#include "graphnet/corpus/row.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/protobuf/sample_stream.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/ir/canonical_hash.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrow.h"
#include "python/bindings/errors.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

int Jobs(int threads) { return threads > 0 ? threads : NumCpus(); }

// --- Rows --------------------------------------------------------------------------------------

// A row, or why there is none.
struct Entry {
  absl::StatusOr<CorpusRow> row = absl::InternalError("no row");
  std::vector<Provenance> parents;
  int32_t weights = 0;  // how many values of weights the sample has, which the row leaves out
  std::string path;
  int32_t place = 0;
};

Entry EntryOf(const Sample& sample) {
  return {.row = MakeRow(sample),
          .parents = sample.provenance,
          .weights = static_cast<int32_t>(sample.weights.size())};
}

Entry EntryOf(const absl::StatusOr<Sample>& sample) {
  return sample.ok() ? EntryOf(*sample) : Entry{.row = sample.status()};
}

// The columns of a table of rows.
class RowTable {
 public:
  // Adds the columns `path` and `place` if the rows come from files.
  explicit RowTable(bool has_paths) : has_paths_(has_paths) {
    using Column = ArrowColumn;
    const auto list = [](const char* name, const char* format) {
      return Column(name, Column::kList, {Column("item", format)});
    };
    columns_ = {Column("hash", Column::kHash),
                Column("shape_hash", Column::kHash),
                Column("blob", Column::kBytes),
                Column("name", Column::kText),
                Column("json", Column::kText),
                Column("nodes", Column::kInt32),
                Column("inputs", Column::kInt32),
                Column("outputs", Column::kInt32),
                Column("parameters", Column::kInt32),
                list("targets", Column::kText),
                list("counts", Column::kInt32),
                list("args", Column::kText),
                list("edges", Column::kText),
                list("dtypes", Column::kText),
                list("ranks", Column::kInt32),
                list("features", Column::kUInt64),
                Column("parents", Column::kList,
                       {Column("item", Column::kStruct,
                               {Column("name", Column::kText), Column("hash", Column::kText),
                                Column("start", Column::kInt64), Column("end", Column::kInt64)})}),
                Column("weights", Column::kInt32),
                Column("refused", Column::kText)};
    if (!has_paths) return;
    columns_.emplace_back("path", Column::kText);
    columns_.emplace_back("place", Column::kInt32);
  }

  void Add(const Entry& entry) {
    next_ = 0;
    if (entry.row.ok()) {
      AddRow(*entry.row);
      for (const Provenance& parent : entry.parents) {
        ArrowColumn& item = columns_[next_].child(0);
        item.child(0).Append(AsUtf8(parent.parent));
        item.child(1).Append(AsUtf8(parent.parent_hash));
        item.child(2).AppendNumber(parent.start);
        item.child(3).AppendNumber(parent.end);
        item.EndEntry();
      }
      Next().EndEntry();
      Next().AppendNumber(entry.weights);
      Next().AppendNull();
    } else {
      while (columns_[next_].name() != "refused") Next().AppendNull();
      Next().Append(AsUtf8(entry.row.status().message()));
    }
    if (has_paths_) {
      Next().Append(AsUtf8(entry.path));
      Next().AppendNumber(entry.place);
    }
    ++rows_;
  }

  ArrowColumn Take() {
    ArrowColumn table("", ArrowColumn::kStruct, std::move(columns_));
    for (int64_t i = 0; i < rows_; ++i) table.EndEntry();
    return table;
  }

 private:
  ArrowColumn& Next() { return columns_[next_++]; }

  void AddRow(const CorpusRow& row) {
    Next().Append(row.hash);
    Next().Append(row.shape_hash);
    Next().Append(row.blob);
    Next().Append(row.name);
    if (ArrowColumn& json = Next(); row.json.empty()) {
      json.AppendNull();
    } else {
      json.Append(row.json);
    }
    for (const int32_t number : {row.nodes, row.inputs, row.outputs, row.parameters})
      Next().AppendNumber(number);
    AddTexts(row.targets);
    AddNumbers(row.counts);
    AddTexts(row.args);
    AddTexts(row.edges);
    AddTexts(row.dtypes);
    AddNumbers(row.ranks);
    AddNumbers(row.features);
  }

  void AddTexts(const std::vector<std::string>& texts) {
    ArrowColumn& column = Next();
    for (const std::string& text : texts) column.child(0).Append(text);
    column.EndEntry();
  }

  template <typename T>
  void AddNumbers(const std::vector<T>& numbers) {
    ArrowColumn& column = Next();
    for (const T number : numbers) column.child(0).AppendNumber(number);
    column.EndEntry();
  }

  const bool has_paths_;
  std::vector<ArrowColumn> columns_;
  size_t next_ = 0;
  int64_t rows_ = 0;
};

// The bytes of a Python object, which are copied unless they can never change.
std::shared_ptr<const absl::string_view> BytesOf(nb::handle object) {
  if (PyBytes_CheckExact(object.ptr()) != 0) {
    struct Kept {
      nb::object owner;
      absl::string_view bytes;
    };
    auto* const kept = new Kept{
        nb::borrow(object),
        {PyBytes_AS_STRING(object.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(object.ptr()))}};
    std::shared_ptr<Kept> owner(kept, [](const Kept* old) {
      if (Py_IsInitialized() == 0) return;  // The process ends, so the memory may leak.
      const nb::gil_scoped_acquire gil;
      delete old;
    });
    return {owner, &kept->bytes};
  }
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  struct Copied {
    std::string copy;
    absl::string_view bytes;
  };
  auto copied = std::make_shared<Copied>();
  copied->copy.assign(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  copied->bytes = copied->copy;
  return {copied, &copied->bytes};
}

using Item = std::variant<ModuleObject*, std::shared_ptr<const absl::string_view>>;

// Samples, modules and bytes, with the locks of the modules.
struct Items {
  std::vector<Item> all;
  std::vector<ReadLock> locks;
};

Items ItemsOf(nb::handle items) {
  Items made;
  std::vector<ModuleObject*> modules;
  const nb::tuple objects = TupleOf(items);
  for (const nb::handle object : objects) {
    if (nb::isinstance<SampleObject>(object)) {
      modules.push_back(&nb::cast<const SampleObject&>(object).get());
      made.all.emplace_back(modules.back());
    } else if (nb::isinstance<ModuleObject>(object)) {
      modules.push_back(&nb::cast<ModuleObject&>(object));
      made.all.emplace_back(modules.back());
    } else if (PyObject_CheckBuffer(object.ptr()) != 0) {
      made.all.emplace_back(BytesOf(object));
    } else {
      Raise(PyExc_TypeError, absl::StrCat("an item must be a Sample, a Module or bytes, not a ",
                                          Py_TYPE(object.ptr())->tp_name));
    }
  }
  for (ModuleObject* module : modules) module->LetChangesPass();
  for (ModuleObject* module : modules) made.locks.emplace_back(*module);
  return made;
}

nb::object RowsOf(nb::handle items, int threads) {
  auto [all, locks] = ItemsOf(items);
  return ToArrow(LongCall(std::move(locks), [all = std::move(all), threads] {
    std::vector<Entry> entries(all.size());
    ParallelFor(
        all.size(), Jobs(threads),
        [&](size_t i) {
          if (ModuleObject* const* const module = std::get_if<ModuleObject*>(&all[i])) {
            entries[i] = EntryOf((*module)->sample());
          } else {
            entries[i] = EntryOf(DeserializeSample(*std::get<1>(all[i]), "<bytes>"));
          }
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status) {
          if (!status.ok()) entries[i] = {.row = status};
        });
    RowTable table(/*has_paths=*/false);
    for (Entry& entry : entries) {
      table.Add(entry);
      entry = {};
    }
    return table.Take();
  }));
}

// Returns whether a file has many samples in protobuf form, and goes back to its start then.
bool IsStream(std::ifstream* in) {
  constexpr size_t kHead = 20;
  std::string head(kHead, '\0');
  in->read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(in->gcount()));
  if (!LooksLikeSampleStream(head)) return false;
  in->clear();
  in->seekg(0);
  return true;
}

// Returns the entries of a file with many samples in protobuf form; nothing for any other path.
std::optional<std::vector<Entry>> EntriesOfStream(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!IsStream(&in)) return std::nullopt;
  SampleReader reader(&in, path);
  std::vector<Entry> entries;
  while (true) {
    absl::StatusOr<std::optional<Sample>> sample = reader.Next();
    if (sample.ok() && !sample->has_value()) return entries;
    Entry& entry =
        entries.emplace_back(sample.ok() ? EntryOf(**sample) : Entry{.row = sample.status()});
    entry.place = static_cast<int32_t>(entries.size() - 1);
    if (!sample.ok()) return entries;  // The reader has lost its place.
  }
}

nb::object RowsOfPaths(nb::handle places, int threads) {
  std::vector<std::string> paths;
  for (const nb::handle place : TupleOf(places)) paths.push_back(PathOf(place));
  return ToArrow(LongCall(Locks(), [paths = std::move(paths), threads] {
    std::vector<std::vector<Entry>> entries(paths.size());
    ParallelFor(
        paths.size(), Jobs(threads),
        [&](size_t i) {
          if (std::optional<std::vector<Entry>> stream = EntriesOfStream(paths[i])) {
            entries[i] = *std::move(stream);
          } else {
            entries[i].push_back(EntryOf(Load(paths[i], {.values_if_there = true})));
          }
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status) {
          if (status.ok()) return;
          entries[i].clear();
          entries[i].push_back({.row = status});
        });
    RowTable table(/*has_paths=*/true);
    for (size_t i = 0; i < paths.size(); ++i) {
      for (Entry& entry : entries[i]) {
        entry.path = paths[i];
        table.Add(entry);
        entry = {};
      }
    }
    return table.Take();
  }));
}

// --- Weights ------------------------------------------------------------------------------------

void WriteWeights(const SampleObject& self, nb::handle file) {
  ModuleObject& object = self.get();
  const std::string path = PathOf(file);
  RaiseIfError(LongCall(Locks(object), [&object, path] {
    return WriteSafetensorsFile(object.sample().weights, path);
  }));
}

void ReadWeights(const SampleObject& self, nb::handle file) {
  const std::string path = PathOf(file);
  self.get().SampleForChange().weights =
      ValueOrRaise(LongCall(Locks(), [path] { return ReadSafetensorsFile(path); }));
}

// Returns the samples at ascending places of a file, of which all but streams have one.
absl::StatusOr<std::vector<Sample>> LoadPlaces(const std::string& path,
                                               absl::Span<const size_t> places) {
  std::vector<Sample> samples;
  std::ifstream in(path, std::ios::binary);
  if (!IsStream(&in)) {
    ASSIGN_OR_RETURN(samples.emplace_back(), Load(path, {.values_if_there = true}));
    return samples;
  }
  SampleReader reader(&in, path);
  for (size_t place = 0; samples.size() < places.size(); ++place) {
    ASSIGN_OR_RETURN(std::optional<Sample> sample, reader.Next());
    if (!sample.has_value())
      return absl::NotFoundError(absl::StrCat(path, ": there is no sample ", place));
    if (place == places[samples.size()]) samples.push_back(*std::move(sample));
  }
  return samples;
}

nb::list SamplesAt(nb::handle file, std::vector<size_t> places) {
  const std::string path = PathOf(file);
  std::vector<Sample> found = ValueOrRaise(
      LongCall(Locks(), [path, places = std::move(places)] { return LoadPlaces(path, places); }));
  nb::list samples;
  for (Sample& sample : found) samples.append(MakeSample(std::move(sample)));
  return samples;
}

// --- Queries -----------------------------------------------------------------------------------

nb::list Terms(const std::string& text) {
  const CallQuery query = ValueOrRaise(CallQuery::Parse(text));
  nb::list terms;
  for (const QueryTerm& term : TermsOf(query))
    terms.append(nb::make_tuple(term.column, nb::cast(term.any_of)));
  return terms;
}

std::vector<std::string> Doubts(const std::string& text, bool names) {
  return ValueOrRaise(CallQuery::Parse(text)).Doubts(names);
}

nb::list MatchBlobs(const std::string& text, nb::handle blobs, int threads) {
  auto query = std::make_shared<const CallQuery>(ValueOrRaise(CallQuery::Parse(text)));
  std::vector<std::shared_ptr<const absl::string_view>> all;
  for (const nb::handle blob : TupleOf(blobs)) all.push_back(BytesOf(blob));
  const auto found = LongCall(Locks(), [query, all = std::move(all), threads] {
    std::vector<absl::StatusOr<size_t>> counts(all.size(), size_t{0});
    ParallelFor(
        all.size(), Jobs(threads),
        [&](size_t i) {
          counts[i] = CountMatches(*query, *all[i]);
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status) {
          if (!status.ok()) counts[i] = status;
        });
    return counts;
  });
  nb::list results;
  for (const absl::StatusOr<size_t>& count : found) {
    if (count.ok()) {
      results.append(*count);
    } else {
      results.append(std::string(count.status().message()));
    }
  }
  return results;
}

// --- Coverage -----------------------------------------------------------------------------------

absl::StatusOr<std::vector<CallKind>> CallKindsIn(absl::string_view blob, bool users) {
  ASSIGN_OR_RETURN(const Sample sample, DeserializeSample(blob, "blob"));
  return CallKindsOf(*sample.module, users);
}

nb::object CallKindsInBlobs(nb::handle blobs, bool users, int threads) {
  std::vector<std::shared_ptr<const absl::string_view>> all;
  for (const nb::handle blob : TupleOf(blobs)) all.push_back(BytesOf(blob));
  return ToArrow(LongCall(Locks(), [all = std::move(all), users, threads] {
    std::vector<absl::StatusOr<std::vector<CallKind>>> found(all.size());
    ParallelFor(
        all.size(), Jobs(threads),
        [&](size_t i) {
          found[i] = CallKindsIn(*all[i], users);
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status) {
          if (!status.ok()) found[i] = status;
        });
    using Column = ArrowColumn;
    Column kinds("kinds", Column::kList,
                 {Column("item", Column::kStruct,
                         {Column("value", Column::kText), Column("dtype", Column::kText),
                          Column("rank", Column::kInt32), Column("user", Column::kText)})});
    Column refused("refused", Column::kText);
    for (absl::StatusOr<std::vector<CallKind>>& graph : found) {
      if (!graph.ok()) {
        kinds.AppendNull();
        refused.Append(AsUtf8(graph.status().message()));
        continue;
      }
      Column& item = kinds.child(0);
      const auto append_text = [&item](size_t child, bool is_known, absl::string_view text) {
        if (is_known) {
          item.child(child).Append(text);
        } else {
          item.child(child).AppendNull();
        }
      };
      for (const CallKind& kind : *graph) {
        item.child(0).Append(kind.target);
        append_text(1, kind.dtype != DType::kUnknown, DTypeName(kind.dtype));
        if (kind.rank == CallKind::kUnknownRank) {
          item.child(2).AppendNull();
        } else {
          item.child(2).AppendNumber(kind.rank);
        }
        append_text(3, users, kind.user);
        item.EndEntry();
      }
      kinds.EndEntry();
      refused.AppendNull();
      graph = std::vector<CallKind>();
    }
    Column table("", Column::kStruct, {std::move(kinds), std::move(refused)});
    for (size_t i = 0; i < found.size(); ++i) table.EndEntry();
    return table;
  }));
}

std::vector<std::string> WorkClasses(const std::vector<std::string>& meanings) {
  std::vector<std::string> classes;
  for (const std::string& meaning : meanings)
    classes.emplace_back(WorkClassName(WorkClassOf(meaning)));
  return classes;
}

std::vector<std::string> WorkClassNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kNumWorkClasses; ++i)
    names.emplace_back(WorkClassName(static_cast<WorkClass>(i)));
  return names;
}

// --- Ranges that recur ---------------------------------------------------------------------------

// Calls work(module, i) for each item on several threads. Returns what is wrong with each.
std::vector<absl::Status> ForEachModule(
    const std::vector<Item>& all, int threads,
    const std::function<absl::Status(const Module& module, size_t i)>& work) {
  std::vector<absl::Status> statuses(all.size());
  ParallelFor(
      all.size(), Jobs(threads),
      [&](size_t i) -> absl::Status {
        if (ModuleObject* const* const module = std::get_if<ModuleObject*>(&all[i]))
          return work((*module)->module(), i);
        ASSIGN_OR_RETURN(const Sample sample, DeserializeSample(*std::get<1>(all[i]), "<bytes>"));
        return work(*sample.module, i);
      },
      [&](size_t i, const absl::Status& status) { statuses[i] = status; });
  return statuses;
}

// Prepares the items of a batch.
std::vector<absl::StatusOr<PreparedRanges>> Prepared(const std::vector<Item>& all,
                                                     const RecurringOptions& options) {
  std::vector<absl::StatusOr<PreparedRanges>> made;
  for (size_t i = 0; i < all.size(); ++i) made.emplace_back(absl::UnknownError(""));
  const auto statuses =
      ForEachModule(all, options.jobs, [&](const Module& module, size_t i) -> absl::Status {
        made[i] = PrepareRanges(module, options);
        return absl::OkStatus();
      });
  for (size_t i = 0; i < all.size(); ++i)
    if (!statuses[i].ok()) made[i] = statuses[i];
  return made;
}

nb::tuple RecurringIn(nb::handle batches, const std::string& by, int64_t least, int64_t most,
                      int64_t limit, int64_t memory, int threads) {
  const RecurringOptions options = {
      .modules = by == "module",
      .fusible = by == "fusible",
      .least_calls = least,
      .most_calls = most,
      .limit = static_cast<size_t>(std::max<int64_t>(limit, 0)),
      .max_bytes = static_cast<uint64_t>(std::max<int64_t>(memory, 0)),
      .jobs = Jobs(threads)};
  const auto search = std::make_shared<RecurringRanges>(options);
  std::vector<size_t> places;  // of the graphs that are searched, among all items
  nb::list refused;
  size_t place = 0;
  for (const nb::handle batch : nb::iter(batches)) {
    auto [all, locks] = ItemsOf(batch);
    auto prepared = LongCall(std::move(locks),
                             [all = std::move(all), options] { return Prepared(all, options); });
    for (absl::StatusOr<PreparedRanges>& one : prepared) {
      if (one.ok()) {
        RaiseIfError(search->Add(*std::move(one)));
        places.push_back(place);
      } else {
        refused.append(nb::make_tuple(place, AsUtf8(one.status().message())));
      }
      ++place;
    }
  }
  const Recurring found = ValueOrRaise(LongCall(Locks(), [search] { return search->Find(); }));
  nb::list ranges;
  for (const RecurringRange& range : found.ranges) {
    nb::list graphs;
    for (const uint32_t graph : range.graphs) graphs.append(places[graph]);
    nb::list nodes;
    for (const std::string& node : range.nodes) nodes.append(AsUtf8(node));
    ranges.append(nb::make_tuple(range.occurrences, graphs, places[range.graph], range.range.start,
                                 range.range.end, nodes, AsUtf8(range.module)));
  }
  return nb::make_tuple(ranges, found.found, found.cut_short, refused);
}

// --- Choices ---------------------------------------------------------------------------------------

nb::list NamesOfOperators(nb::handle items, int threads) {
  auto [all, locks] = ItemsOf(items);
  auto names = std::make_shared<std::vector<std::vector<std::string>>>(all.size());
  const auto statuses = LongCall(std::move(locks), [all = std::move(all), names, threads] {
    return ForEachModule(all, threads, [&](const Module& module, size_t i) {
      if (module.main() != nullptr) (*names)[i] = OperatorNames(module);
      return absl::OkStatus();
    });
  });
  nb::list made;
  for (size_t i = 0; i < statuses.size(); ++i) {
    RaiseIfError(statuses[i]);
    made.append(nb::cast((*names)[i]));
  }
  return made;
}

nb::tuple ChooseFrom(nb::handle batches, const std::string& by, int64_t count, uint64_t seed,
                     double weight, int64_t every, const std::vector<std::string>& start,
                     int threads) {
  const ChoiceWay way = by == "rarity"    ? ChoiceWay::kRarity
                        : by == "buckets" ? ChoiceWay::kBuckets
                                          : ChoiceWay::kCoverage;
  const auto facts = std::make_shared<std::vector<ChoiceFacts>>();
  std::vector<size_t> places;  // of the facts, among all items
  nb::list refused;
  size_t place = 0;
  for (const nb::handle batch : nb::iter(batches)) {
    const auto pair = nb::cast<nb::tuple>(batch);
    const auto ids = nb::cast<std::vector<std::string>>(pair[0]);
    auto [all, locks] = ItemsOf(pair[1]);
    auto made = std::make_shared<std::vector<ChoiceFacts>>(all.size());
    const auto statuses = LongCall(std::move(locks), [all = std::move(all), made, way, threads] {
      return ForEachModule(all, threads, [&](const Module& module, size_t i) -> absl::Status {
        ASSIGN_OR_RETURN((*made)[i], ChoiceFactsOf(module, way));
        return absl::OkStatus();
      });
    });
    for (size_t i = 0; i < statuses.size(); ++i, ++place) {
      if (!statuses[i].ok()) {
        refused.append(nb::make_tuple(place, AsUtf8(statuses[i].message())));
        continue;
      }
      (*made)[i].id = i < ids.size() ? ids[i] : absl::StrCat(place);
      facts->push_back(std::move((*made)[i]));
      places.push_back(place);
    }
  }
  ChoiceOptions options = {.count = static_cast<size_t>(std::max<int64_t>(count, 0)),
                           .seed = seed,
                           .weight = weight,
                           .every = static_cast<size_t>(std::max<int64_t>(every, 1))};
  for (size_t i = 0; i < facts->size(); ++i) {
    if (std::find(start.begin(), start.end(), (*facts)[i].id) != start.end())
      options.start.push_back(i);
  }
  const Choice choice =
      LongCall(Locks(), [facts, options, way] { return Choose(way, *facts, options); });
  nb::list chosen;
  for (const size_t i : choice.chosen) chosen.append(places[i]);
  return nb::make_tuple(chosen, choice.items, choice.covered, choice.at_most, refused);
}

}  // namespace

void BindCorpus(nb::module_& m) {
  BindArrow(m);
  BindNear(m);
  m.attr("FEATURE_VERSION") = kCorpusFeatureVersion;
  m.attr("HASH_VERSION") = kCanonicalHashVersion;
  m.def("_corpus_rows", RowsOf, nb::arg("items"), nb::arg("threads") = 0,
        "Returns a row for each Sample, Module or bytes of a sample in protobuf form.");
  m.def("_corpus_rows_of_paths", RowsOfPaths, nb::arg("paths"), nb::arg("threads") = 0,
        "Returns the rows of the samples at paths, of which each may be a stream of samples.");
  m.def("_write_weights", WriteWeights, nb::arg("sample"), nb::arg("path"),
        "Writes the weights of a sample as a safetensors file, whole or not at all. Equal weights "
        "give equal bytes.");
  m.def("_read_weights", ReadWeights, nb::arg("sample"), nb::arg("path"),
        "Gives a sample the weights of a safetensors file, which is mapped if it is large.");
  m.def("_samples_at", SamplesAt, nb::arg("path"), nb::arg("places"),
        "Returns the samples at ascending places of a file, with their weights; only a stream has "
        "other places than 0.");
  m.def("_query_terms", Terms, nb::arg("query"),
        "Returns pairs of a column and words: a graph with a match has one word of each pair.");
  m.def("_query_doubts", Doubts, nb::arg("query"), nb::arg("names"),
        "Returns reasons to doubt the query, with `names` also that PyTorch has no such name.");
  m.def("_call_kinds", CallKindsInBlobs, nb::arg("blobs"), nb::arg("users"), nb::arg("threads") = 0,
        "Returns the kinds of calls in each blob, or what is wrong with it.");
  m.def("_work_classes", WorkClasses, nb::arg("meanings"),
        "Returns the class of the work of each operator, which is known by its meaning.");
  m.def(
      "_work_class_names", WorkClassNames,
      "Returns the classes, from the one that says most about a graph to the one that says least.");
  m.def("_match_blobs", MatchBlobs, nb::arg("query"), nb::arg("blobs"), nb::arg("threads") = 0,
        "Returns the number of matches in each blob, or what is wrong with it.");
  m.def("_recurring", RecurringIn, nb::arg("batches"), nb::arg("by"), nb::arg("least"),
        nb::arg("most"), nb::arg("limit"), nb::arg("memory"), nb::arg("threads") = 0,
        "Returns the ranges that recur in batches of Samples, Modules and bytes, each with its "
        "occurrences, graphs, first graph, start, end, nodes and module; how many recur; from how "
        "many places ranges were cut short; and the items that were refused, with their reasons.");
  m.def("_operator_names", NamesOfOperators, nb::arg("items"), nb::arg("threads") = 0,
        "Returns the names of the operators of each Sample, Module or bytes, in their order.");
  m.def("_choose", ChooseFrom, nb::arg("batches"), nb::arg("by"), nb::arg("count"), nb::arg("seed"),
        nb::arg("weight"), nb::arg("every"), nb::arg("start"), nb::arg("threads") = 0,
        "Chooses from batches, each a pair of ids and of Samples, Modules and bytes. Returns the "
        "places that were chosen, how many things there are, how many are covered, how many can be "
        "at most, and the items that were refused, with their reasons.");
}

}  // namespace graphnet
