"""TVM: Relax's front end for torch.export reads a .pt2, and LLVM compiles it for this processor."""
import logging
import os
import tempfile
import traceback
import warnings

warnings.filterwarnings("ignore")

import numpy
import onnx
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.torch import from_exported_program

import onnx_export
import worker


class TvmWorker(worker.Worker):
    name = "tvm"

    def __init__(self):
        self.function = self.machine = None

    def version(self):
        return tvm.__version__

    def load(self, tensor):
        return tvm.runtime.tensor(tensor.numpy())

    def prepare(self, program, inputs):
        self.close()
        logging.disable(logging.WARNING)
        exported = torch.export.load(program)
        logging.disable(logging.NOTSET)
        try:
            with torch.no_grad():
                module = from_exported_program(exported)
        except Exception as error:
            traceback.print_exc()
            module = self.by_onnx(program, error)
        target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(),
                                    "num-cores": len(os.sched_getaffinity(0))})
        module = self.tuned(relax.get_pipeline("zero")(module), target)
        # Find the inputs by name; unused numbers may be missing.
        names = [spec.arg.name for spec in exported.graph_signature.input_specs
                 if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
        place = {name.lower(): i for i, name in enumerate(names)}
        self.places = [place[_name_of(parameter).lower()] for parameter in module["main"].params]
        self.functions = len(_functions_of_tensor_ir(module))
        self.calls = sum(node.op == "call_function" for node in exported.graph.nodes)
        self.machine = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())
        self.function = self.machine["main"]

    def by_onnx(self, program, error):
        """Reads a program through ONNX if the front end for torch.export cannot read it."""
        try:
            onnx_export.export(program, "program.onnx")
            return from_onnx(onnx.load("program.onnx"), keep_params_in_input=False)
        except Exception:
            traceback.print_exc()
            raise error

    def tuned(self, module, target):
        """Returns the module with the best schedules that MetaSchedule finds in `trials` trials."""
        trials = int(self.option("trials", 0))
        self.tuning = ""
        if trials == 0 or not _functions_of_tensor_ir(module):
            return module
        try:
            from tvm.s_tir import meta_schedule
            builder, runner = _in_this_process(meta_schedule)
        except ImportError as error:
            raise worker.Failure(
                "compile", f"TVM {tvm.__version__} cannot tune: {worker.described(error)}") from error
        tasks = meta_schedule.relax_integration.extract_tasks(module, target)
        # Otherwise the first function may get all trials.
        for_each = min(64, -(-trials // max(1, len(tasks))))
        with tempfile.TemporaryDirectory() as folder:
            database = meta_schedule.relax_integration.tune_relax(
                module, {}, target, folder, trials, num_trials_per_iter=for_each, database="memory",
                cost_model="random", seed=self.request["seed"], builder=builder, runner=runner)
            with target, database:
                module = relax.transform.MetaScheduleApplyDatabase()(module)
        made = len(database.get_all_tuning_records())
        scheduled = sum(_is_scheduled(f) for f in _functions_of_tensor_ir(module))
        if scheduled == 0:
            raise worker.Failure("compile", f"no schedule ran in {made} trials of MetaSchedule")
        self.tuning = f", {scheduled} of them tuned in {made} trials"
        return module

    def run(self, inputs):
        return _flat(self.function(*[inputs[i] for i in self.places]))

    def unload(self, output):
        return super().unload(output.numpy() if hasattr(output, "numpy") else output)

    def compiled(self):
        return self.functions if self.calls else None

    def proof(self):
        return f"{self.functions} functions of TensorIR{self.tuning}"

    def close(self):
        self.function = self.machine = None


def _in_this_process(meta_schedule):
    """Returns what builds and what times candidates. Those of MetaSchedule start processes that import
    TVM anew, which can take longer than the time that a candidate has; this process has limits, too."""
    from tvm.ir.utils import derived_object

    @derived_object
    class Builder(meta_schedule.builder.PyBuilder):
        def build(self, build_inputs):
            return [self.built(candidate) for candidate in build_inputs]

        def built(self, candidate):
            # MetaSchedule deletes the folder of the file with all that is in it.
            path = os.path.join(tempfile.mkdtemp(prefix="candidate-", dir=os.getcwd()), "kernel.so")
            try:
                tvm.tirx.build(candidate.mod, target=candidate.target).export_library(path)
            except Exception as error:
                return meta_schedule.builder.BuilderResult(None, worker.described(error))
            return meta_schedule.builder.BuilderResult(path, None)

    @derived_object
    class Future(meta_schedule.runner.PyRunnerFuture):
        def __init__(self, result):
            super().__init__()
            self.made = result

        def done(self):
            return True

        def result(self):
            return self.made

    @derived_object
    class Runner(meta_schedule.runner.PyRunner):
        def run(self, runner_inputs):
            return [Future(self.timed(candidate)) for candidate in runner_inputs]

        def timed(self, candidate):
            try:
                kernel = tvm.runtime.load_module(candidate.artifact_path)
                arguments = [_argument(info) for info in candidate.args_info]
                times = kernel.time_evaluator("main", tvm.cpu(), number=1, repeat=3)(*arguments)
            except Exception as error:
                return meta_schedule.runner.RunnerResult(None, worker.described(error))
            return meta_schedule.runner.RunnerResult([float(time) for time in times.results], None)

    return Builder(), Runner()


def _argument(info):
    """Returns ones: valid indices as a rule, and no numbers that a processor is slow with."""
    value = tvm.runtime.empty([int(size) for size in info.shape], info.dtype)
    if str(info.dtype) in ("float32", "float64", "float16", "int64", "int32", "bool"):
        value.copyfrom(numpy.ones(value.shape, str(info.dtype)))
    return value


def _functions_of_tensor_ir(module):
    kind = tvm.tirx.PrimFunc if hasattr(tvm, "tirx") else tvm.tir.PrimFunc
    return [function for function in module.functions.values() if isinstance(function, kind)]


def _is_scheduled(function):
    return any(str(name).endswith("is_scheduled") for name in (function.attrs or {}).keys())


def _name_of(variable):
    return variable.name if hasattr(variable, "name") else variable.name_hint


def _flat(value):
    if isinstance(value, (tvm.runtime.Tensor, int, float, bool)):
        return [value]
    return [element for part in value for element in _flat(part)]


if __name__ == "__main__":
    worker.serve(TvmWorker())
