"""Workers of TensorRT and BladeDISC, and the clocks of GPUs, none of which a machine here can run, and
of TVM, against stand-ins.

A stand-in has the documented call of the compiler, notes how it is called and compiles nothing. So
these tests show that the workers call their compiler as its documentation says. They do not show
that TensorRT, BladeDISC or TVM compile anything, nor what a GPU measures.
"""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import torch

WORKERS = pathlib.Path(__file__).resolve().parents[2] / "graphnet" / "evaluate" / "workers"
sys.path.insert(0, str(WORKERS))

import tensors  # noqa: E402  pylint: disable=wrong-import-position
import worker  # noqa: E402  pylint: disable=wrong-import-position


# The options of torch_tensorrt.dynamo.compile, of its documentation for torch 2.13.
TENSORRT_OPTIONS = {
    "arg_inputs", "kwarg_inputs", "device", "disable_tf32", "assume_dynamic_shape_support",
    "sparse_weights", "engine_capability", "num_avg_timing_iters", "workspace_size",
    "truncate_double", "require_full_compilation", "min_block_size", "torch_executed_ops",
    "torch_executed_modules", "pass_through_build_failures", "max_aux_streams",
    "version_compatible", "optimization_level", "dryrun", "hardware_compatible",
    "timing_cache_path", "lazy_engine_init", "cache_built_engines", "reuse_cached_engines",
    "use_fp32_acc", "immutable_weights", "offload_module_to_cpu", "enable_autocast",
    "decompose_attention", "attn_bias_is_causal"}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x, y):
        return torch.relu(self.linear(x)) + y


class TensorRTEngine(torch.nn.Module):
    """Named as the modules are that hold an engine."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *values):
        return self.module(*values)


class StandInTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(place.name)
        torch.manual_seed(0)
        self.net = Net().eval()
        # Names that are not in the order of the alphabet.
        self.values = {"x": torch.randn(2, 3), "a": torch.randn(2, 4)}
        self.expected = self.net(*self.values.values())
        tensors.write("inputs.safetensors", {k: tensors.of(v) for k, v in self.values.items()})

    def request(self, **more):
        return {"inputs": os.path.abspath("inputs.safetensors"), "seed": 0, "order": ["x", "a"],
                "device": "cpu", **more}

    def check(self, server, program):
        """Compiles and runs the program, and compares what it yields with eager. Yields the proof."""
        server.prepare(self.request(program=os.path.abspath(program)))
        proof = server.run(self.request(outputs="out.safetensors"))["proof"]
        found = tensors.read("out.safetensors")["0"].torch()
        self.assertTrue(torch.equal(found, self.expected))
        return proof


class TensorRt(StandInTest):
    @contextlib.contextmanager
    def stand_in(self):
        calls = []

        def compile_(exported_program, inputs=None, **options):
            calls.append((exported_program, inputs, options))
            return torch.fx.GraphModule({"engine": TensorRTEngine(exported_program.module())},
                                        engine_graph(len(options["arg_inputs"])))

        module = types.ModuleType("torch_tensorrt")
        module.dynamo = types.SimpleNamespace(compile=compile_)
        tensorrt = types.ModuleType("tensorrt")
        tensorrt.__version__ = "stand-in"
        with mock.patch.dict(sys.modules, {"torch_tensorrt": module, "tensorrt": tensorrt}):
            yield calls

    @staticmethod
    def server():
        import tensorrt_worker
        return worker._Server(tensorrt_worker.TensorRtWorker())  # pylint: disable=protected-access

    def test_calls_the_compiler_as_documented(self):
        torch.export.save(torch.export.export(self.net, tuple(self.values.values())), "net.pt2")
        server = self.server()
        # The worker asks for a GPU, and is answered as if there were one.
        with self.stand_in() as calls, \
                mock.patch("torch.cuda.is_available", return_value=True), \
                mock.patch("torch.cuda.synchronize"), \
                mock.patch("torch.export.passes.move_to_device_pass", lambda program, _: program), \
                mock.patch.object(type(server.worker), "on_gpu", return_value=True):
            self.assertEqual(server.hello({})["version"], "stand-in")
            proof = self.check(server, "net.pt2")
        (program, inputs, options), = calls
        self.assertIsInstance(program, torch.export.ExportedProgram)
        self.assertIsNone(inputs)
        self.assertLessEqual(set(options), TENSORRT_OPTIONS)
        for given, value in zip(options["arg_inputs"], self.values.values()):
            self.assertTrue(torch.equal(given, value))
        # Numbers are compared with eager's, so nothing may round on purpose.
        self.assertTrue(options["disable_tf32"])
        self.assertFalse(options["attn_bias_is_causal"])
        self.assertEqual(proof, "1 engines of TensorRT")

    def test_says_that_there_is_no_gpu(self):
        with mock.patch("torch.cuda.is_available", return_value=False), \
                self.assertRaisesRegex(worker.Failure, "needs an NVIDIA GPU"):
            self.server().hello({})


class Clocks(StandInTest):
    """A GPU whose clock shows 2 ms more at each mark, with a profiler."""

    def setUp(self):
        super().setUp()
        torch.export.save(torch.export.export(self.net, tuple(self.values.values())), "net.pt2")
        self.calls = calls = []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self, stream):
                assert stream == "the stream of cpu"
                calls.append("mark")
                self.at = 2.0 * len(calls)

            def elapsed_time(self, later):
                return later.at - self.at

        self.event = Event

    def profile(self, activities):
        self.assertEqual(activities, [torch.profiler.ProfilerActivity.CUDA])
        device, host = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
        # In microseconds: two kernels, the call that starts them, and a range around them.
        seen = [(device, False, 1500), (device, False, 500), (host, False, 2000), (device, True, 2000)]
        events = [types.SimpleNamespace(device_type=where, is_user_annotation=is_range,
                                        self_device_time_total=took)
                  for where, is_range, took in seen]
        self.calls.append("profile")
        return contextlib.nullcontext(types.SimpleNamespace(events=lambda: events))

    def time(self, on_gpu, profile):
        import torch_worker
        server = worker._Server(torch_worker.TorchWorker())  # pylint: disable=protected-access
        with mock.patch("torch.cuda.synchronize"), \
                mock.patch("torch.cuda.current_stream", lambda device: f"the stream of {device}"), \
                mock.patch("torch.cuda.Event", self.event), \
                mock.patch("torch.profiler.profile", profile), \
                mock.patch("torch.export.passes.move_to_device_pass", lambda program, _: program), \
                mock.patch.object(type(server.worker), "on_gpu", return_value=on_gpu):
            server.prepare(self.request(program=os.path.abspath("net.pt2")))
            answer = server.time(self.request(outputs="out.safetensors", warmup=2, trials=3))
        self.assertTrue(torch.equal(tensors.read("out.safetensors")["0"].torch(), self.expected))
        self.assertEqual(len(answer["ms"]), 3)
        return answer

    def test_marks_and_a_profiler_time_a_gpu(self):
        answer = self.time(True, self.profile)
        self.assertEqual(answer["gpu"], [2.0] * 3)
        self.assertEqual(answer["kernel"], [2.0] * 3)
        # The profiler runs after all trials that are timed.
        self.assertEqual(self.calls, ["mark"] * 10 + ["profile"] * 3)

    def test_the_cpu_has_only_the_wall_clock(self):
        self.assertEqual(set(self.time(False, self.profile)), {"ms"})
        self.assertEqual(self.calls, [])

    def test_a_profiler_that_fails_costs_only_its_own_times(self):
        broken = mock.Mock(side_effect=RuntimeError("no CUPTI"))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(set(self.time(True, broken)), {"ms", "gpu"})
        self.assertIn("no CUPTI", said.getvalue())

    def test_a_profiler_that_sees_nothing_has_no_times(self):
        nothing = contextlib.nullcontext(types.SimpleNamespace(events=lambda: []))
        self.assertEqual(set(self.time(True, lambda activities: nothing)), {"ms", "gpu"})

    def test_marks_of_paddle(self):
        paddle = mock.MagicMock()
        with mock.patch.dict(sys.modules, {"paddle": paddle, "numpy": mock.MagicMock()}):
            import paddle_worker  # which the patch forgets again
            compiler = paddle_worker.PaddleWorker()
            compiler.request = {"device": "cpu"}
            self.assertIsNone(compiler.event())
            compiler.request = {"device": "cuda:0"}
            self.assertIs(compiler.event(), paddle.device.Event.return_value)
        paddle.device.Event.assert_called_once_with(enable_timing=True)


def engine_graph(num_inputs):
    graph = torch.fx.Graph()
    values = [graph.placeholder(f"value_{i}") for i in range(num_inputs)]
    graph.output(graph.call_module("engine", tuple(values)))
    return graph


STAND_IN_BLADE = '''
import json, torch
def optimize(model, allow_tracing=False, model_inputs=None):
    assert isinstance(model, torch.jit.ScriptModule) and not model.training
    assert not torch.is_grad_enabled()
    json.dump({"tracing": allow_tracing, "inputs": [x.tolist() for x in model_inputs]},
              open("called.json", "w"))
    return model
'''


class BladeDisc(StandInTest):
    def server(self):
        import bladedisc_worker
        return worker._Server(bladedisc_worker.BladeDiscWorker())  # pylint: disable=protected-access

    def test_calls_the_compiler_as_documented(self):
        torch.jit.script(self.net).save("net.pt")
        pathlib.Path("torch_blade.py").write_text(STAND_IN_BLADE, encoding="utf-8")
        command = f"{sys.executable} {WORKERS / 'bladedisc_optimise.py'}"
        # The stand-in compiles nothing, and is found out.
        with mock.patch.dict(os.environ, {"GRAPHNET_BLADEDISC": command, "PYTHONPATH": os.getcwd()}):
            with self.assertRaisesRegex(worker.Failure, "compiled nothing: 0 mentions of disc"):
                self.check(self.server(), "net.pt")
        with open("called.json", encoding="utf-8") as file:
            called = json.load(file)
        self.assertEqual(called, {"tracing": True,
                                  "inputs": [value.tolist() for value in self.values.values()]})

    def test_says_what_the_command_says(self):
        torch.jit.script(self.net).save("net.pt")
        with mock.patch.dict(os.environ, {"GRAPHNET_BLADEDISC": "sh -c 'echo no disc here; exit 3'"}):
            with self.assertRaisesRegex(worker.Failure, "no disc here"):
                self.server().prepare(self.request(program="net.pt"))

    def test_says_that_there_is_no_command(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("GRAPHNET_BLADEDISC", None)
            with self.assertRaisesRegex(worker.Failure, "set GRAPHNET_BLADEDISC to a command"):
                self.server().hello({})


class PrimFunc:
    def __init__(self):
        self.attrs = {}


class TvmModule:
    def __init__(self, program, functions):
        names = list(program.graph_signature.user_inputs)
        main = types.SimpleNamespace(params=[types.SimpleNamespace(name_hint=name)
                                             for name in sorted(names)])
        self.program = program
        self.order = names
        self.functions = {"main": main, **{f"f{i}": PrimFunc() for i in range(functions)}}

    def __getitem__(self, name):
        return self.functions[name]


class Tvm(StandInTest):
    def setUp(self):
        super().setUp()
        torch.export.save(torch.export.export(self.net, tuple(self.values.values())), "net.pt2")

    @contextlib.contextmanager
    def stand_in(self, functions=2, scheduled=1, tunes=True):
        """`scheduled`: of so many functions TVM finds a schedule that runs."""
        calls = []

        class Database(list, contextlib.AbstractContextManager):
            def get_all_tuning_records(self):
                return list(self)

            def __exit__(self, *error):
                return None

        class Target(dict, contextlib.AbstractContextManager):
            def __exit__(self, *error):
                return None

        def tune_relax(module, params, target, work_dir, max_trials_global, **options):
            calls.append({"trials": max_trials_global, "target": target, **options})
            assert params == {} and os.path.isdir(work_dir) and isinstance(module, TvmModule)
            return Database(range(max_trials_global))

        def apply_database():
            def apply(module):
                for i in range(scheduled):
                    module.functions[f"f{i}"].attrs["tirx.is_scheduled"] = True
                return module
            return apply

        def machine(module, _device):
            def main(*sorted_values):
                given = dict(zip(sorted(module.order), sorted_values, strict=True))
                with torch.no_grad():
                    return module.program.module()(*[given[name] for name in module.order])
            return {"main": main}

        names = ["tvm", "tvm.relax", "tvm.relax.frontend", "tvm.relax.frontend.onnx",
                 "tvm.relax.frontend.torch", "onnx"]
        modules = {name: types.ModuleType(name) for name in names}
        # Without a module in `sys.modules`, an import fails.
        modules.update({"tvm.meta_schedule": None, "tvm.s_tir": None, "tvm.s_tir.meta_schedule": None})
        if tunes:
            modules["tvm.s_tir"] = types.ModuleType("tvm.s_tir")
            tuner = modules["tvm.s_tir.meta_schedule"] = types.ModuleType("tvm.s_tir.meta_schedule")
            tuner.relax_integration = types.SimpleNamespace(
                tune_relax=tune_relax, extract_tasks=lambda module, target: list(range(functions)))
            tuner.builder = types.SimpleNamespace(PyBuilder=object)
            tuner.runner = types.SimpleNamespace(PyRunner=object, PyRunnerFuture=object)
            modules["tvm.ir"] = types.ModuleType("tvm.ir")
            modules["tvm.ir.utils"] = types.ModuleType("tvm.ir.utils")
            modules["tvm.ir.utils"].derived_object = lambda kind: kind
        tvm = modules["tvm"]
        tvm.__version__ = "stand-in"
        tvm.relax = modules["tvm.relax"]
        tvm.tirx = types.SimpleNamespace(PrimFunc=PrimFunc)
        tvm.runtime = types.SimpleNamespace(Tensor=torch.Tensor, tensor=torch.from_numpy)
        tvm.target = types.SimpleNamespace(
            Target=Target, codegen=types.SimpleNamespace(llvm_get_system_cpu=lambda: "generic"))
        tvm.compile = lambda module, target: module
        tvm.cpu = lambda: None
        tvm.relax.VirtualMachine = machine
        tvm.relax.get_pipeline = lambda name: lambda module: module
        tvm.relax.transform = types.SimpleNamespace(MetaScheduleApplyDatabase=apply_database)
        modules["tvm.relax.frontend.onnx"].from_onnx = None
        modules["tvm.relax.frontend.torch"].from_exported_program = \
            lambda program: TvmModule(program, functions)
        with mock.patch.dict(sys.modules, modules):
            import tvm_worker
            # pylint: disable-next=protected-access
            yield worker._Server(tvm_worker.TvmWorker()), calls

    def request(self, **more):
        return super().request(**{"options": self.options, **more})

    options = {}

    def test_tunes_nothing_unless_asked(self):
        with self.stand_in() as (server, calls):
            self.assertEqual(self.check(server, "net.pt2"), "2 functions of TensorIR")
        self.assertEqual(calls, [])

    def test_shares_trials_among_functions(self):
        self.options = {"trials": "7"}
        with self.stand_in() as (server, calls):
            proof = self.check(server, "net.pt2")
        self.assertEqual(proof, "2 functions of TensorIR, 1 of them tuned in 7 trials")
        call, = calls
        self.assertEqual((call["trials"], call["num_trials_per_iter"], call["seed"]), (7, 4, 0))
        # MetaSchedule needs the number of cores.
        self.assertGreaterEqual(call["target"]["num-cores"], 1)

    def test_says_that_no_schedule_ran(self):
        self.options = {"trials": "7"}
        with self.stand_in(scheduled=0) as (server, _), \
                self.assertRaisesRegex(worker.Failure, "^no schedule ran in 7 trials of MetaSchedule$"):
            self.check(server, "net.pt2")

    def test_says_that_this_tvm_cannot_tune(self):
        self.options = {"trials": "7"}
        with self.stand_in(tunes=False) as (server, _), \
                self.assertRaisesRegex(worker.Failure, "^TVM stand-in cannot tune: .*tvm.s_tir"):
            self.check(server, "net.pt2")

    def test_no_function_is_no_success(self):
        with self.stand_in(functions=0) as (server, _), \
                self.assertRaisesRegex(worker.Failure, "compiled nothing: 0 functions of TensorIR"):
            self.check(server, "net.pt2")


if __name__ == "__main__":
    unittest.main()
