"""A sample as text, its values, and its runs: what rates.py, forms.py and faults.py share."""

import pathlib
import re
import subprocess

NODE = re.compile(r"^  %(?P<name>[\w.]+) = (?P<target>[\w.]+)\((?P<arguments>.*?)\)(?P<rest>| (?:in|at|:) .*)$")


class Failed(Exception):
    """graphnet ended with an error."""


def call(graphnet, *arguments, env=None, timeout=120, codes=(0,)):
    """Runs graphnet and returns what it prints."""
    try:
        done = subprocess.run([graphnet, *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout, env=env, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed("takes too long") from error
    if done.returncode not in codes:
        raise Failed((done.stderr or done.stdout).strip()[:300])
    return done.stdout


def split_arguments(text):
    """The arguments of a call, of which some are lists."""
    depth, begin, found = 0, 0, []
    for i, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return found + [last] if last else found


class Program:
    """The text of a sample with one graph; its lines are changed to make other programs."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.nodes = [(i, match) for i, line in enumerate(self.lines)
                      if (match := NODE.match(line)) is not None]
        self.returned = next(i for i, line in enumerate(self.lines)
                             if line.startswith("  return "))

    def text(self):
        return "\n".join(self.lines) + "\n"

    def calls(self, *names):
        """(line, match, arguments) of the calls whose operator has one of the names."""
        for line, match in self.nodes:
            target = match["target"]
            if target.startswith("aten.") and target.split(".")[1] in names:
                yield line, match, split_arguments(match["arguments"])

    def with_arguments(self, line, match, arguments):
        """A program whose call has other arguments."""
        return self.with_line(line, f"  %{match['name']} = {match['target']}({', '.join(arguments)})"
                              f"{match['rest']}")

    def with_line(self, line, text):
        made = Program.__new__(Program)
        made.lines = list(self.lines)
        made.lines[line] = text
        return made

    def with_call_behind(self, line, match, calls):
        """A program in which the calls follow a node, and all later uses take the last of them.
        `calls` are texts in which {x} stands for the value so far."""
        name = match["name"]
        made = Program.__new__(Program)
        made.lines = list(self.lines[:line + 1])
        value = "%" + name
        for i, text in enumerate(calls):
            made.lines.append(f"  %fault_{i} = {text.format(x=value)}")
            value = f"%fault_{i}"
        use = re.compile(rf"%{re.escape(name)}(?![\w.])")
        made.lines += [use.sub(value, later) for later in self.lines[line + 1:]]
        return made

    def of_values(self):
        """A program that returns all inputs: a run of it draws their values."""
        names = []
        for line in self.lines[self.header():]:
            match = re.match(r'^(?:graph @\w+\()?\s*%([\w.]+) "', line)
            short = re.match(r"^(?:graph @\w+\()?\s*%([\w.]+) :", line)
            if match or short:
                names.append((match or short)[1])
            if line.rstrip().endswith("{"):
                break
        kept = [line for line in self.lines[:self.nodes[0][0]]]
        kept += ["  return (" + ", ".join("%" + name for name in names) + ",)", "}", "end", ""]
        return "\n".join(kept), names

    def header(self):
        return next(i for i, line in enumerate(self.lines) if line.startswith("graph @"))


def targets_of(program):
    """The names by which values are given, of all inputs in order."""
    names = []
    for line in program.lines[program.header():]:
        match = re.match(r'^(?:graph @\w+\()?\s*%([\w.]+)(?: "([^"]*)")? :', line)
        if match:
            names.append(match[2] if match[2] is not None else match[1])
        if line.rstrip().endswith("{"):
            break
    return names


class Case:
    """A sample in one dtype, with its values, in a folder of its own."""

    def __init__(self, graphnet, sample, dtype, folder, seed=0):
        from safetensors.torch import load_file, save_file
        import torch
        self.graphnet, self.folder = graphnet, pathlib.Path(folder)
        self.sample, self.dtype = str(sample), dtype
        self.folder.mkdir(parents=True, exist_ok=True)
        passes = "change-device{to=cpu},torch-to-aten"
        if dtype != "f32":
            passes += ",change-dtype{from=f32,to=%s}" % dtype
        self.program = self.folder / "a.gn"
        call(graphnet, "opt", sample, "--passes", passes, "-o", self.program)
        self.text = Program(self.program.read_text())
        self.values = self.folder / "values.safetensors"
        drawing, _ = self.text.of_values()
        (self.folder / "values.gn").write_text(drawing)
        call(graphnet, "run", self.folder / "values.gn", "--seed", seed, "-o", self.values)
        drawn = load_file(self.values)
        named = {name: drawn[f"o{i}"] for i, name in enumerate(targets_of(self.text))
                 if f"o{i}" in drawn}
        save_file(named, self.values)
        self.values64 = self.folder / "values64.safetensors"
        save_file({name: value.to(torch.float64) if value.is_floating_point() else value
                   for name, value in named.items()}, self.values64)
        self.outputs = self.run(self.program, "a.safetensors")
        self.exact = self.run64(self.program, "a64.safetensors")

    def run(self, program, name, *options, env=None):
        """Runs a program on the values, and returns the file of its outputs."""
        out = self.folder / name
        call(self.graphnet, "run", program, "--inputs", self.values, *options, "-o", out, env=env)
        return out

    def run64(self, program, name):
        wide = self.folder / ("wide_" + pathlib.Path(program).name)
        call(self.graphnet, "opt", program, "--passes", "change-dtype{to=f64}", "-o", wide)
        out = self.folder / name
        call(self.graphnet, "run", wide, "--inputs", self.values64, "-o", out)
        return out
