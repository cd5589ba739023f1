#!/usr/bin/env python3
"""Runs what `graphnet shard SAMPLE … --values -o DIR` wrote: one process a rank, which talk by
torch.distributed.

    shard_launcher.py DIR [-o WHOLE.safetensors] [--expect OUTPUTS.safetensors] [--seed N]
                          [--inputs FILE.safetensors] [--micro-batches N]

It starts the processes itself, or is started by torchrun. The program of a rank is the model.py of
its folder; the calls in it that are not PyTorch's, torch.ops.spmd.*, are the seven functions below.
Outputs are put together as plan.json says. --expect compares them with those of the sample, as
`graphnet run SAMPLE --outputs FILE` writes them, and exits with 1 if one differs.

--inputs FILE holds whole inputs under the sample's names; inputs that are not in FILE keep the values
stored in DIR. With --micro-batches N, inputs in FILE that are N times as long in their first dimension
as the sample's are N batches. The programs run for one batch after the other, so that the ranks of one
mesh work on a batch while those of the next mesh work on the batch before. Outputs are joined along
their first dimension.
"""

import argparse
import ctypes
import importlib.util
import json
import math
import os
import pathlib
import struct
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing

SENT = []  # what is under way, and the tensors, which must live as long

DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool, "C64": torch.complex64,
}
# atol and rtol of an output that adds up parts in another order.
TOLERANCES = {
    torch.float64: (1e-7, 1e-7), torch.float32: (1e-5, 1.3e-6), torch.complex64: (1e-5, 1.3e-6),
    torch.float16: (1e-5, 1e-3), torch.bfloat16: (1e-5, 1.6e-2),
}


def read_safetensors(path):
    content = bytearray(pathlib.Path(path).read_bytes())
    (size,) = struct.unpack_from("<Q", content)
    begin = 8 + size
    tensors = {}
    for name, entry in json.loads(content[8:begin].decode()).items():
        if name == "__metadata__":
            continue
        shape, dtype = entry["shape"], DTYPES[entry["dtype"]]
        tensors[name] = torch.empty(shape, dtype=dtype)
        if tensors[name].numel():
            tensors[name] = torch.frombuffer(
                content, dtype=dtype, count=math.prod(shape),
                offset=begin + entry["data_offsets"][0]).reshape(shape).clone()
    return tensors


def write_safetensors(tensors, path):
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, data = {}, b""
    for name, tensor in tensors.items():
        tensor = tensor.contiguous()
        raw = ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.numel() else b""
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


# --- What ranks say to each other ---------------------------------------------------------------

GROUPS = {}  # by its ranks


def make_groups(plan):
    """Every process makes all groups, in one order."""
    for step in plan["communication"]:
        for ranks in step["groups"]:
            if tuple(ranks) not in GROUPS:
                GROUPS[tuple(ranks)] = dist.new_group(ranks)


def all_gather(x, dim, group):
    parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in group]
    dist.all_gather(parts, x.contiguous(), group=GROUPS[tuple(group)])
    return torch.cat(parts, dim)


REDUCTIONS = {"sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX,
              "min": dist.ReduceOp.MIN, "product": dist.ReduceOp.PRODUCT,
              "any": dist.ReduceOp.MAX, "all": dist.ReduceOp.MIN}


def all_reduce(x, reduce, group):
    is_bool = x.dtype == torch.bool
    y = x.to(torch.uint8) if is_bool else x.contiguous().clone()
    dist.all_reduce(y, REDUCTIONS[reduce], group=GROUPS[tuple(group)])
    if reduce == "avg":
        y = y / len(group)
    return y.to(torch.bool) if is_bool else y


def reduce_scatter(x, dim, reduce, group):
    # gloo has no reduce-scatter for all that all-reduce takes.
    return all_reduce(x, reduce, group).chunk(len(group), dim)[group.index(dist.get_rank())]


def all_to_all(x, dim, to_dim, group):
    mine = torch.stack(x.chunk(len(group), to_dim))
    others = torch.empty_like(mine)
    dist.all_to_all_single(others, mine, group=GROUPS[tuple(group)])
    return torch.cat(others.unbind(), dim)


def keep_first(x, reduce, group):
    if dist.get_rank() == group[0]:
        return x.clone()
    return torch.ones_like(x) if reduce == "product" else torch.zeros_like(x)


def send(x, rank):
    """Does not block: the process waits for all sends at its end."""
    # It sends bytes, because gloo does not know all dtypes.
    raw = x.contiguous().reshape(-1).view(torch.uint8) if x.numel() else None
    if raw is not None:
        SENT.append((dist.isend(raw, rank), raw))


def recv(size, dtype, rank):
    x = torch.empty(size, dtype=dtype)
    if x.numel():
        dist.recv(x.view(-1).view(torch.uint8), rank)
    return x


def define_calls():
    library = torch.library.Library("spmd", "DEF")
    for function, schema in [
            (all_gather, "(Tensor x, int dim, int[] group) -> Tensor"),
            (all_reduce, "(Tensor x, str reduce, int[] group) -> Tensor"),
            (reduce_scatter, "(Tensor x, int dim, str reduce, int[] group) -> Tensor"),
            (all_to_all, "(Tensor x, int dim, int to_dim, int[] group) -> Tensor"),
            (keep_first, "(Tensor x, str reduce, int[] group) -> Tensor"),
            (send, "(Tensor x, int rank) -> ()"),
            (recv, "(int[] size, ScalarType dtype, int rank) -> Tensor")]:
        library.define(function.__name__ + schema)
        library.impl(function.__name__, function, "CompositeExplicitAutograd")
    return library


# --- A rank -------------------------------------------------------------------------------------


def flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for element in value for leaf in flat(element)]
    return [] if value is None else [value]


def mesh_of(plan, entry):
    """Shape and ranks of the mesh that has a tensor."""
    for mesh in plan.get("meshes", []):
        if mesh["name"] == entry["mesh"]:
            return mesh["shape"], mesh["ranks"]
    return plan["mesh"], list(range(len(plan["ranks"])))


def place_of(plan, entry, whole, rank):
    """The part of a whole tensor that a rank has."""
    shape, ranks = mesh_of(plan, entry)
    place = coordinates(shape, ranks.index(rank))
    part = whole
    for dim, axis in enumerate(entry["sharding"]):
        if axis >= 0:
            length = whole.shape[dim] // shape[axis]
            part = part.narrow(dim, place[axis] * length, length)
    return part


def batches(plan, given, count):
    """Inputs by name, for each micro-batch."""
    made = [{} for _ in range(count)]
    entries = {entry["name"]: entry for entry in plan["inputs"]}
    for name, value in given.items():
        if name not in entries:
            sys.exit(f"--inputs: no input is called {name}")
        shape = entries[name]["shape"]
        if list(value.shape) == shape:
            pieces = [value] * count
        elif shape and list(value.shape) == [count * shape[0], *shape[1:]]:
            pieces = value.chunk(count)
        else:
            sys.exit(f"--inputs: {name} is {list(value.shape)}, the programs are for {shape}"
                     + (f" or {count} times as long" if count > 1 else ""))
        for batch, piece in zip(made, pieces):
            batch[name] = piece
    if count > 1 and not given:
        sys.exit("--micro-batches: --inputs has no input to divide")
    return made


def run_rank(arguments, plan, rank):
    """The outputs of a rank, for each micro-batch."""
    path = pathlib.Path(arguments.folder) / plan["ranks"][rank]
    spec = importlib.util.spec_from_file_location("model", path / "model.py")
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    values = {}
    if os.path.exists(str(path) + ".safetensors"):
        values = read_safetensors(str(path) + ".safetensors")
    given = read_safetensors(arguments.inputs) if arguments.inputs else {}
    own = [entry for entry in plan["inputs"] if rank in mesh_of(plan, entry)[1]]
    made = []
    torch.manual_seed(arguments.seed)
    for batch in batches(plan, given, arguments.micro_batches):
        taken = dict(values)
        for entry in own:
            if entry["name"] in batch:
                part = place_of(plan, entry, batch[entry["name"]], rank)
                taken[entry["argument"]] = part.contiguous()
            if "number" in entry:
                taken[entry["argument"]] = taken[entry["argument"]].item()
        with torch.no_grad():
            made.append(flat(model.GraphModule().forward(**taken)))
    for work, _ in SENT:
        work.wait()
    SENT.clear()
    return made


def coordinates(mesh, rank):
    found = []
    for size in reversed(mesh):
        found.insert(0, rank % size)
        rank //= size
    return found


def put_together(plan, by_rank):
    """The outputs, whole: what each rank holds goes to its place."""
    outputs = {}
    left = [list(values) for values in by_rank]  # each rank returns what its meshes have
    for entry in plan["outputs"]:
        ranks = mesh_of(plan, entry)[1]
        parts = {rank: left[rank].pop(0) for rank in ranks}
        first = parts[ranks[0]]
        if not isinstance(first, torch.Tensor):
            outputs[entry["name"]] = torch.tensor(first)
            continue
        if all(axis < 0 for axis in entry["sharding"]):
            outputs[entry["name"]] = first
            continue
        whole = torch.empty(entry["shape"], dtype=first.dtype)
        for rank, part in parts.items():
            place_of(plan, entry, whole, rank).copy_(part)
        outputs[entry["name"]] = whole
    return outputs


def join(by_batch):
    """Outputs of micro-batches, along their first dimension."""
    if len(by_batch) == 1:
        return by_batch[0]
    for name, value in by_batch[0].items():
        if value.dim() == 0:
            sys.exit(f"--micro-batches: output {name} has no dimension to join along")
    return {name: torch.cat([outputs[name] for outputs in by_batch]) for name in by_batch[0]}


def compare(plan, outputs, expected):
    """Whether all outputs are right; a line about each that is not."""
    gathered = {entry["name"] for entry in plan["outputs"] if "gathered" in entry}
    right = outputs.keys() - gathered == expected.keys() - gathered
    if not right:
        print(f"outputs {sorted(outputs)}, expected {sorted(expected)}", file=sys.stderr)
    for entry in plan["outputs"]:
        name = entry["name"]
        if name not in outputs or name not in expected:
            continue
        found, wanted = outputs[name], expected[name]
        same = found.dtype == wanted.dtype and found.shape == wanted.shape
        if same and found.dtype in TOLERANCES:
            atol, rtol = (0, 0) if entry["exact"] else TOLERANCES[found.dtype]
            same = torch.allclose(found, wanted, rtol, atol, equal_nan=True)
        elif same:
            same = torch.equal(found, wanted)
        if not same:
            print(f"output {name} differs", file=sys.stderr)
        right = right and same
    return right


def worker(rank, arguments, plan, store):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    ranks = len(plan["ranks"])
    if store:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    else:
        dist.init_process_group("gloo")  # torchrun's environment
    if dist.get_world_size() != ranks:
        sys.exit(f"{dist.get_world_size()} processes for {ranks} ranks")
    library = define_calls()
    make_groups(plan)
    by_rank = [None] * ranks if rank == 0 else None
    dist.gather_object(run_rank(arguments, plan, rank), by_rank)
    del library
    right = True
    if rank == 0:
        outputs = join([put_together(plan, made) for made in zip(*by_rank)])
        torch.set_printoptions(profile="full")
        for entry in plan["outputs"]:
            if "gathered" in entry:
                print(entry["gathered"], outputs[entry["name"]])
        if arguments.out:
            write_safetensors(outputs, arguments.out)
        if arguments.expect:
            right = compare(plan, outputs, read_safetensors(arguments.expect))
        said = ", as expected" if arguments.expect and right else ""
        many = f", {arguments.micro_batches} micro-batches" if arguments.micro_batches > 1 else ""
        print(f"{ranks} ranks{many}, {len(outputs)} outputs{said}")
    dist.barrier()
    dist.destroy_process_group()
    if not right:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("-o", "--out")
    parser.add_argument("--expect")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs")
    parser.add_argument("--micro-batches", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.micro_batches < 1:
        parser.error("--micro-batches: expected at least one")
    plan = json.loads((pathlib.Path(arguments.folder) / "plan.json").read_text())
    if "RANK" in os.environ:
        worker(int(os.environ["RANK"]), arguments, plan, "")
        return
    with tempfile.TemporaryDirectory() as scratch:
        try:
            torch.multiprocessing.start_processes(
                worker, (arguments, plan, os.path.join(scratch, "store")), len(plan["ranks"]),
                start_method="fork")
        except torch.multiprocessing.ProcessExitedException as error:
            sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
