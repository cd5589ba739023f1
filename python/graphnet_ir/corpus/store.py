"""The corpus: a folder of three tables, opened at one version."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from graphnet_ir import _core
from graphnet_ir._core import Error, Module, Sample
from graphnet_ir._errors import made_error
from graphnet_ir.choosing import Choice, choose
from graphnet_ir.corpus import cost_models, covering, jobs, layout, near, ranges, sampling, views
from graphnet_ir.corpus.adding import ROWS_A_CALL, Added, Addition, rows_of_paths, rows_of_samples
from graphnet_ir.corpus.durable import sync
from graphnet_ir.corpus.exporting import export
from graphnet_ir.corpus.finding import Condition, Found
from graphnet_ir.corpus.importing import Import
from graphnet_ir.corpus.origins import Origin
from graphnet_ir.corpus.repairing import Repair, Repaired
from graphnet_ir.corpus.schema import FORMAT, schemas
from graphnet_ir.corpus.tables import Table
from graphnet_ir.corpus.verifying import Finding, findings
from graphnet_ir.corpus.weights import Weights
from graphnet_ir.ranges import Recurring

Path = Union[str, "os.PathLike[str]"]
_KEYS = {"graphs": "hash", "sources": "id", "jsons": "id"}


@dataclass(frozen=True)
class Removed:
    """How much was removed."""

    occurrences: int
    graphs: int


class Corpus:
    """A corpus of graphs in a folder (docs/corpus.md).

        corpus = graphnet_ir.Corpus.create("corpus")
        corpus.add("samples")
        for hit in corpus.find("conv2d(groups>1)"):
            print(hit.hash, hit.matches, hit.names)

    It is read at the version that it had when it was opened or last refreshed. mode: 'r', or 'a',
    with which graphs can be added. version: the name of a tag.
    """

    def __init__(self, path: Path, mode: str = "r", *, version: str | None = None):
        if mode not in ("r", "a"):
            raise ValueError("mode must be 'r' or 'a'")
        if mode == "a" and version is not None:
            raise ValueError("a tag can only be read")
        self.path = os.fspath(path)
        self.mode = mode
        self.version = version
        self.manifest = layout.read_manifest(self.path)
        self.weights = Weights(self.path)
        made = {}
        columns = schemas(self.manifest["version"])
        for kind in reversed(layout.TABLES):
            made[kind] = Table(
                layout.table_path(self.path, kind), kind, _KEYS[kind], columns[kind], version
            )
        self.graphs: Table = made["graphs"]
        self.sources: Table = made["sources"]
        self.jsons: Table = made["jsons"]
        if mode == "a" and not self.is_current:
            raise made_error(
                "failed_precondition",
                f"{self.path} has hashes or features of another version of graphnet, "
                "so that graphs can only be read from it",
            )

    @staticmethod
    def create(path: Path) -> Corpus:
        """Makes an empty corpus at a path where nothing is, and opens it to add graphs."""
        path = os.path.abspath(os.fspath(path))
        above = os.path.dirname(path)
        try:
            os.makedirs(above, exist_ok=True)
            aside = tempfile.mkdtemp(prefix=f".{os.path.basename(path)}.", dir=above)
        except OSError as error:
            raise made_error(
                "failed_precondition", f"cannot make {path}: {error.strerror}"
            ) from error
        try:
            layout.write_manifest(aside)
            for kind, schema in schemas(FORMAT).items():
                Table.create(layout.table_path(aside, kind), kind, schema)
            sync(aside)
            os.chmod(aside, 0o777 & ~_umask())
            try:
                os.rename(aside, path)  # Only an empty folder may be there.
            except OSError as error:
                raise made_error("already_exists", f"{path} is there already") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        sync(above)
        return Corpus(path, "a")

    @staticmethod
    def repair(path: Path, out: Path) -> Repaired:
        """Makes a new corpus of all that is sound in a damaged one, which stays as it is. Says what
        was lost. The new one has neither the tags nor the older versions."""
        path = os.fspath(path)
        columns = schemas(layout.read_manifest(path)["version"])

        def opened(kind: str) -> tuple[Table, str | None]:
            return Table.newest(layout.table_path(path, kind), kind, _KEYS[kind], columns[kind])

        new = Corpus.create(out)
        try:
            work = Repair(path, new, opened, Weights(path))
            work.run()
        except BaseException:
            shutil.rmtree(new.path, ignore_errors=True)
            raise
        return work.done

    def __repr__(self) -> str:
        return f"<graphnet_ir.Corpus {self.path}, {len(self)} graphs>"

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[str]:
        """Yields the hashes of all graphs, in their order."""
        for batch in self.graphs.rows(["hash"]):
            yield from (hash.hex() for hash in batch.column("hash").to_pylist())

    @property
    def is_current(self) -> bool:
        """Whether its hashes and features are those that this graphnet makes."""
        return bool(
            self.manifest["hash_version"] == _core.HASH_VERSION
            and self.manifest["feature_version"] == _core.FEATURE_VERSION
        )

    @property
    def dataset(self) -> Any:
        """The table of graphs as a lance.LanceDataset."""
        return self.graphs.dataset

    def refresh(self) -> None:
        """Goes on to the newest version."""
        for table in (self.sources, self.graphs, self.jsons):
            table.refresh()

    def add(
        self,
        items: Path | Sample | Module | bytes | Iterable[Any],
        *,
        source: str | None = None,
        model: str | None = None,
        revision: str | None = None,
        licence: str | None = None,
        weights: bool = True,
        told: Callable[[Added], None] | None = None,
    ) -> Added:
        """Adds samples: files and folders of any format, other corpora, samples, modules and bytes
        of protobuf.

        A graph that is there already only gets a new occurrence, if it has not this one. A sample
        that cannot be read is refused with its reason, and the others are added. What is not given
        is read from graph_net.json or from the provenance.json of a harvest. weights: also keeps
        the real values of weights, once for all samples that have the same. told: is called after
        each commit; what it counts outlives a power cut.
        """
        self._writable()
        if isinstance(items, (str, os.PathLike, Sample, Module, bytes)):
            items = [items]
        with layout.at_work(self.path):
            work = Addition(self, Origin(source, model, revision, licence), told, weights)
            for kind, group in itertools.groupby(items, _kind):
                if kind == "corpus":
                    for path in group:
                        Corpus(path)._give(work)
                else:
                    rows_of = rows_of_paths if kind == "path" else rows_of_samples
                    for rows in rows_of(group):
                        work.take(rows)
            done = work.finish()
        self.refresh()
        return done

    def import_parquet(
        self, folder: Path, *, weights: bool = True, told: Callable[[Added], None] | None = None
    ) -> Added:
        """Adds the graphs and the occurrences of a folder that export(to='parquet') wrote. Their
        rows are made anew, since they may lie. What is damaged is refused with its reason, and
        the rest is added. weights, told: as for add."""
        self._writable()
        with layout.at_work(self.path):
            work = Addition(self, Origin(), told, weights)
            Import(os.fspath(folder), work, weights).run()
            done = work.finish()
        self.refresh()
        return done

    def remove(
        self, *, source: str | None = None, licence: str | None = None, model: str | None = None
    ) -> Removed:
        """Removes the occurrences with a source, licence and model, and the graphs that then have
        none. Graphs that an addition left without a source when it was
        killed go, too. Tagged versions keep all of it."""
        self._writable()
        filter = Condition(source=source, licence=licence, model=model).on_sources()
        if filter is None:
            raise ValueError("remove needs a source, a licence or a model")
        with layout.at_work(self.path, alone=True), layout.committing(self.path):
            self.refresh()
            rows = self.sources.table(["id"], filter)
            occurrences = self.sources.delete("id", rows.column("id").to_pylist())
            self.sources.settle()
            there = set(self.sources.table(["hash"]).column("hash").to_pylist())
            hashes = set(self.graphs.table(["hash"]).column("hash").to_pylist()) - there
            graphs = self.graphs.delete("hash", sorted(hashes))
            self.graphs.settle()
            self._free_weights()
        self.refresh()
        return Removed(occurrences, graphs)

    def _free_weights(self) -> int:
        """Deletes weights that no source of a version which is kept names. Nobody may add."""
        if not self.weights or "weights" not in self.sources.columns:
            return 0
        return self.weights.free(self.sources.kept("weights"))

    def _give(self, work: Addition) -> None:
        """Adds all samples to another corpus. Their rows are made anew, since they may lie."""
        for batch in self.graphs.rows(["hash"], batch=ROWS_A_CALL):
            sources, samples = [], []
            for hash in batch.column("hash").to_pylist():
                try:
                    originals = list(self._originals([hash]))
                except Error as error:
                    work.refuse(os.path.join(self.path, hash.hex()), str(error))
                    continue
                sources += [source for source, _ in originals]
                samples += [sample for _, sample in originals]
            first = 0
            for rows in rows_of_samples(samples):
                work.take(rows, sources[first : first + rows.table.num_rows])
                first += rows.table.num_rows

    def _writable(self) -> None:
        if self.mode != "a":
            raise made_error(
                "failed_precondition",
                f"{self.path} is open for reading only: open it with mode 'a'",
            )

    def find(
        self,
        query: str | None = None,
        *,
        where: str | None = None,
        nodes: tuple[int, int] | None = None,
        source: str | None = None,
        licence: str | None = None,
        model: str | None = None,
        view: str | None = None,
        kind: str | None = None,
        scan: bool = False,
    ) -> Found:
        """Finds graphs with a call that matches a query (docs/datasets.md), in their order.

        The index names candidates, and each is then matched itself. where: a condition of SQL on
        the columns of graphs. nodes: the least and the greatest number. source, licence, model: of
        an occurrence. view: only graphs of this view. kind: of a call that the graph has, as 'relu
        float32 4' (graphnet_ir.coverage). scan: matches each graph, whatever the index says.
        """
        return Found(
            self,
            Condition(query, where, nodes, source, licence, model, view, kind),
            scan or not self.is_current,
        )

    def count(self, query: str | None = None, **conditions: Any) -> int:
        """Counts the graphs that find would find."""
        return self.find(query, **conditions).count()

    def sql(
        self,
        query: str,
        values: Sequence[Any] | None = None,
        *,
        seconds: float = 60,
        memory: int = 4 << 30,
    ) -> Any:
        """Answers one SELECT of SQL about the tables `graphs` and `sources`, by DuckDB, which reads
        nothing else. Returns a pyarrow.Table. values: for each ? of the query."""
        from graphnet_ir.corpus.sql import answer

        return answer(self, query, values, seconds, memory)

    def __contains__(self, hash: str | bytes) -> bool:
        return bool(self.graphs.known([_hash_bytes(hash)]))

    def __getitem__(self, hash: str | bytes) -> Sample:
        """Returns the graph with a hash (as `graphnet hash --metas` prints), as a new sample with
        the name and graph_net.json of the occurrence that it was stored from. Raises KeyError if it
        is not there, Error if it is damaged."""
        wanted = _hash_bytes(hash)
        found = dict(self._stored([wanted]))
        if wanted not in found:
            raise KeyError(wanted.hex())
        sample = found[wanted]
        if isinstance(sample, Error):
            raise sample
        return sample

    def _stored(self, hashes: Sequence[bytes]) -> Iterator[tuple[bytes, Sample | Error]]:
        """Yields graphs as the samples that they were stored from, or with what is wrong."""
        graphs = {
            row["hash"]: row
            for row in self.graphs.where(["hash", "blob", "digest"], "hash", hashes).to_pylist()
        }
        sources = {
            hash: row
            for hash, rows in self.occurrences(graphs).items()
            for row in reversed(rows)
            if row["digest"] == graphs[hash]["digest"]
        }
        texts = self._json_texts(list(sources.values()))
        for hash, row in graphs.items():
            try:
                sample = self._sample(hash, row)
                if hash in sources:
                    self._dress(sample, sources[hash], texts)
                yield hash, sample
            except Error as error:
                yield hash, error

    def originals(self, hash: str | bytes) -> list[Sample]:
        """Returns the samples that were added with a hash, each as it was, but for places in source
        files."""
        wanted = _hash_bytes(hash)
        return [sample for _, sample in self._originals([wanted])]

    def _originals(
        self, hashes: Sequence[bytes], weights: bool = True
    ) -> Iterator[tuple[dict[str, Any], Sample]]:
        """Yields each row of sources of these graphs with its sample."""
        graphs = {
            row["hash"]: row
            for row in self.graphs.where(["hash", "blob", "digest"], "hash", hashes).to_pylist()
        }
        sources = self.occurrences(hashes)
        texts = self._json_texts([row for rows in sources.values() for row in rows])
        own = [
            row["id"]
            for rows in sources.values()
            for row in rows
            if row["digest"] != graphs[row["hash"]]["digest"]
        ]
        blobs = {
            row["id"]: row
            for row in self.sources.where(["id", "blob", "digest"], "id", own).to_pylist()
        }
        for hash, rows in sources.items():
            for row in rows:
                sample = self._sample(hash, blobs.get(row["id"]) or graphs[hash])
                self._dress(sample, row, texts, weights)
                yield row, sample

    def _sample(self, hash: bytes, row: dict[str, Any]) -> Sample:
        """Loads the blob of a row, if it is sound."""
        blob = row["blob"]
        if blob is None or hashlib.sha256(blob).digest()[:16] != row["digest"]:
            raise made_error("data_loss", f"graph {hash.hex()} is damaged: its digest differs")
        sample = _core.load_bytes(blob, f"graph {hash.hex()}")
        if self.is_current and _core.canonical_hash(sample, metas=True) != hash.hex():
            raise made_error("data_loss", f"graph {hash.hex()} is damaged: its hash differs")
        return sample

    def _dress(
        self, sample: Sample, source: dict[str, Any], texts: dict[bytes, str], weights: bool = True
    ) -> None:
        """Gives a sample what an occurrence has of its own."""
        sample.name = source["name"]
        sample.graph_net_json = texts.get(source["json"], "")
        sample.provenance = [
            {
                "parent": one["name"] or "",
                "parent_hash": one["hash"] or "",
                "start": one["start"] or 0,
                "end": one["end"] or 0,
            }
            for one in source["parents"]
            if one is not None
        ]
        if weights and source.get("weights") is not None:
            self.weights.give(sample, source["weights"])

    def occurrences(self, hashes: Iterable[bytes]) -> dict[bytes, list[dict[str, Any]]]:
        """Returns the rows of sources for each graph, sorted by path, without their blobs."""
        columns = [name for name in self.sources.columns if name != "blob"]
        found = self.sources.where(columns, "hash", hashes).to_pylist()
        made: dict[bytes, list[dict[str, Any]]] = {}
        for row in sorted(found, key=lambda row: (row["path"], row["place"], row["id"])):
            made.setdefault(row["hash"], []).append(row)
        return made

    def _json_texts(self, sources: Sequence[dict[str, Any]]) -> dict[bytes, str]:
        ids = {row["json"] for row in sources if row["json"] is not None}
        found = self.jsons.where(["id", "text"], "id", ids)
        return dict(zip(found.column("id").to_pylist(), found.column("text").to_pylist()))

    def samples(self, hashes: Iterable[str | bytes] | None = None) -> Iterator[Sample]:
        """Loads graphs, all of them by default, in their order."""
        for hash in self if hashes is None else hashes:
            yield self[hash]

    def similar(self, sample: Sample, at: float = 0.9) -> list[tuple[str, float]]:
        """Returns the hashes of the graphs whose similarity to a sample is at least `at`, each with
        its similarity, the nearest first. Below 0.9 each graph is looked at."""
        return near.similar(self, sample, at)

    def duplicates(self, by: str = "exact", at: float = 0.9) -> list[near.Group]:
        """Returns groups of graphs that are alike, those with the most occurrences first.

        by: 'exact', graphs that occur more than once; 'shape', graphs that differ in sizes only;
        'near', graphs that are connected by similarities of at least `at`.
        """
        return near.duplicates(self, by, at)

    def recurring(
        self,
        by: str = "range",
        *,
        calls: tuple[int, int] | None = None,
        limit: int = 100,
        memory: int = 1 << 30,
    ) -> Recurring:
        """Finds ranges of calls that occur more than once in the graphs, each of which counts once,
        as graphnet_ir.recurring does. Graphs are named by their hashes, and each range has the
        models of the occurrences of its graphs. Damaged graphs are left out."""
        return ranges.recurring_in(self, by, calls, limit, memory)

    def sample(self, count: int, *, seed: int = 0, by: str | None = None) -> list[str]:
        """Draws the hashes of graphs at random, the same for the same graphs and seed. by:
        'source', 'model', 'licence', or buckets: 'size' (nodes between powers of two), 'class' (of
        operators) or 'bucket' (both). Each value gets the same number, as far as it has graphs."""
        return sampling.sample(self, count, seed, by)

    def choose(
        self,
        count: int,
        by: str = "coverage",
        *,
        seed: int = 0,
        start: Iterable[str | bytes] = (),
        weight: float = 1.0,
        every: int = 16,
    ) -> Choice:
        """Chooses the hashes of few graphs that stand for all, as graphnet_ir.choose does. start:
        hashes of graphs that are chosen already. Damaged graphs are left out."""
        hashes: list[str] = []
        damaged: list[tuple[str, str]] = []
        begun = [_hash_bytes(hash).hex() for hash in start]
        blobs = ranges.blobs(self, hashes, damaged)
        made = choose(
            blobs, count, by, seed=seed, start=begun, ids=hashes, weight=weight, every=every
        )
        return dataclasses.replace(made, refused=[*damaged, *made.refused])

    def split(
        self, shares: Mapping[str, float], *, seed: int = 0, at: float = 0.9
    ) -> sampling.Split:
        """Divides the graphs into parts, such as {'train': 8, 'test': 2}, so that no two parts have
        graphs that differ in sizes only, that are similar by `at`, that are of one model, or of
        which one was cut from the other."""
        return sampling.split(self, shares, seed, at)

    def node_types(self, graphs: Iterable[str | bytes] | None = None, least: int = 1) -> list[str]:
        """Returns the types of the nodes of graphs, all of them by default, for cost_arrays: the
        first is 'unknown', the others are operators in the normal form (graphnet_ir.normal_form)
        that at least `least` graphs have, the most frequent first. A model keeps this list."""
        found = cost_models.counted_types(self.samples(graphs))
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [cost_models.UNKNOWN, *(name for name, count in ranked if count >= least)]

    def cost_arrays(
        self, types: Sequence[str], graphs: Iterable[str | bytes] | None = None
    ) -> Iterator[cost_models.GraphArrays]:
        """Yields graphs, all of them by default, as arrays for models that learn what graphs cost:
        edges, types of nodes, sizes, and FLOPs as `graphnet stats --cost` has them. types: those of
        node_types."""
        hashes = (_hash_bytes(hash) for hash in (self if graphs is None else graphs))
        return cost_models.arrays(((hash.hex(), self[hash]) for hash in hashes), types)

    def coverage(self, columns: Sequence[str] = covering.STORED) -> list[dict[str, Any]]:
        """Counts what the graphs have, as graphnet_ir.coverage does."""
        return covering.coverage(self, columns)

    def smallest(self, columns: Sequence[str] = covering.STORED) -> covering.Cover:
        """Returns few graphs that have all values of the columns between them, as
        graphnet_ir.smallest does."""
        return covering.smallest(self, columns)

    def map(
        self,
        work: jobs.Work,
        *,
        name: str | None = None,
        into: Path | None = None,
        processes: int | None = None,
        ray: str | None = None,
        seconds: float = 60,
        memory: int = 4 << 30,
        graphs: Iterable[str | bytes] | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> jobs.Mapped:
        """Applies a function or a command to each graph, each in a process with limits.

        work: a function of a module or file, which gets a Sample; 'MODULE:FUNCTION' or
        'FILE.py:FUNCTION'; or a command as a list, in which {} stands for the file of a graph. A
        dict that it returns, or prints as JSON, becomes columns of graphs. Samples that it returns
        are added to the corpus `into`, which is made if it is not there. A graph that ends the
        process, fails or exceeds a limit is set aside with the reason. name: of the job, which goes
        on if it was ended. ray: the address of a Ray cluster whose nodes see the corpus at the same
        path, or 'local:4' for four nodes on this machine; otherwise processes of this one work.
        """
        self._writable()
        told_work = jobs.described(work)
        if name is None:
            name = re.sub(
                r"[^A-Za-z0-9_.-]",
                "_",
                os.path.basename(told_work.get("function") or told_work["command"][0]),
            ).strip("_.-")[:99]
        job = jobs.Job(self, name, told_work, jobs.Bounds(seconds, memory))
        chosen = None if graphs is None else map(_hash_bytes, graphs)
        if ray is not None:
            from graphnet_ir.corpus.ray_pool import RayPool

            with RayPool(ray) as nodes:
                job.run(chosen, nodes, told)
        else:
            with jobs.LocalPool(processes or len(os.sched_getaffinity(0))) as pool:
                job.run(chosen, pool, told)
        columns, empty = job.columns()
        if len(columns.column_names) > 1:
            with layout.committing(self.path):
                self.graphs.set_columns(columns)
        if into is not None:
            opened_or_made(into).add(job.graphs())
        self.refresh()
        return job.mapped(empty)

    def tag(self, name: str) -> None:
        """Gives the newest version a name, under which it can be opened and is kept."""
        self._writable()
        with layout.committing(self.path):
            self.refresh()
            for table in (self.jsons, self.graphs, self.sources):
                table.tag(name)

    def tags(self) -> dict[str, int]:
        """Returns the tags, each with the number of its version of sources."""
        return {name: int(told["version"]) for name, told in sorted(self.sources.tags().items())}

    def log(self) -> list[dict[str, Any]]:
        """Returns the versions of sources that are kept, each with its time and tags."""
        return self.sources.log()

    def verify(self) -> Iterator[Finding]:
        """Reads all of it: makes each row anew from its graph, and compares. Yields what is
        wrong."""
        return findings(self)

    def save_view(self, name: str, hashes: Iterable[str | bytes]) -> None:
        """Gives some graphs a name, under which find, map and export take them. A view with this
        name is replaced."""
        self._writable()
        views.save(self.path, name, map(_hash_bytes, hashes))

    def view(self, name: str) -> list[str]:
        """Returns the hashes of a view."""
        return [hash.hex() for hash in views.load(self.path, name)]

    def views(self) -> list[str]:
        """Returns the names of the views."""
        return views.names(self.path)

    def export(
        self,
        out: Path,
        to: str = "folders",
        *,
        graphs: Iterable[str | bytes] | None = None,
        weights: bool = True,
        told: Callable[[str], None] | None = None,
    ) -> int:
        """Writes a new folder, which appears whole or not at all: to='folders' or 'protobuf', each
        occurrence as a GraphNet folder or a protobuf file; 'parquet', a table of the graphs with
        their occurrences, and a card; 'sqlite', a file with the tables of `catalogue`. graphs: only
        these hashes. weights: with their values, for
        which a GraphNet folder has no place. told: is called with a note on what is left out.
        Returns the number of samples or, for Parquet, of graphs."""
        hashes = self if graphs is None else graphs
        return export(self, os.fspath(out), to, map(_hash_bytes, hashes), weights, told)

    def compact(self) -> None:
        """Joins small files, brings all rows into the indexes, and deletes versions that are older
        than a week and have no tag, and weights that no other version has. Weights stay while
        another process adds."""
        self._writable()
        with layout.committing(self.path):
            for table in (self.jsons, self.graphs, self.sources):
                table.compact()
                table.settle()
            with contextlib.ExitStack() as alone:
                try:
                    alone.enter_context(layout.at_work(self.path, alone=True))
                except Error:
                    pass  # What another process adds may not be named yet.
                else:
                    self._free_weights()
        self.refresh()


def opened_or_made(path: Path) -> Corpus:
    """Opens a corpus to add graphs, or makes one if nothing is there."""
    return Corpus(path, "a") if layout.is_corpus(os.fspath(path)) else Corpus.create(path)


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def _hash_bytes(hash: str | bytes) -> bytes:
    try:
        made = bytes.fromhex(hash) if isinstance(hash, str) else hash
    except ValueError:
        made = b""
    if not isinstance(made, bytes):
        raise TypeError(f"a hash is text or bytes, not a {type(hash).__name__}")
    if len(made) != 32:
        raise made_error(
            "invalid_argument", f"{hash!r} is not a hash, which has 64 hexadecimal digits"
        )
    return made


def _kind(item: Any) -> str:
    """Returns in which way an item is added."""
    if not isinstance(item, (str, os.PathLike)):
        return "sample"
    return "corpus" if layout.is_corpus(os.fspath(item)) else "path"
