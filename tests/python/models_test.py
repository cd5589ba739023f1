"""Models as their libraries make them, captured in at most ten lines each, then checked, validated
and replayed. Needs torchvision, timm and transformers."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch

import torchvision_operators  # noqa: F401 (before torchvision)

import graphnet_ir
from graphnet_ir import Sample

TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))
TINY = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            vocab_size=1000)


class ModelsTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = folder.name
        torch.manual_seed(0)
        torch._dynamo.reset()
        warnings.simplefilter("ignore")

    def judge(self, capture: graphnet_ir.Capture, graphs: int) -> None:
        """Every graph is kept, was replayed with eager's bits, passes the tool's check, and is the
        whole of the pieces that it is cut into."""
        self.assertEqual(len(capture), graphs, capture.report())
        self.assertTrue(all(graph.sample is not None for graph in capture))
        self.assertTrue(all(call.equal and call.runs > 0 and not call.notes
                            for call in capture.verified), capture.verified)
        self.assertTrue(capture.verified)
        assert capture.folder is not None
        done = subprocess.run([TOOL, "check", capture.folder], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(" 0 failed", done.stdout.splitlines()[-1])
        for path in graphnet_ir.find_samples([capture.folder]):
            sample: Sample = graphnet_ir.load(path)
            if len(sample.graph.find_nodes(op="call_function")) > 1:
                pieces = graphnet_ir.decompose(sample, pieces=2)
                self.assertTrue(graphnet_ir.validate(sample, pieces)["valid"], path)

    def test_resnet18(self) -> None:
        from torchvision.models import resnet18

        model = graphnet_ir.capture(resnet18().eval(), name="resnet18", workspace=self.out,
                                    verify=True)
        model(torch.randn(1, 3, 64, 64))
        self.judge(model.capture, graphs=1)

    def test_timm_vit(self) -> None:
        import timm

        model = timm.create_model("test_vit").eval()
        model = graphnet_ir.capture(model, name="vit", workspace=self.out, verify=True)
        model(torch.randn(1, 3, 160, 160))
        self.judge(model.capture, graphs=1)

    def test_bert(self) -> None:
        from transformers import BertConfig, BertModel

        model = BertModel(BertConfig(**TINY)).eval()
        model = graphnet_ir.capture(model, name="bert", workspace=self.out, verify=True)
        model(input_ids=torch.randint(3, 900, (2, 16)))
        self.judge(model.capture, graphs=1)

    def test_llama(self) -> None:
        from transformers import LlamaConfig, LlamaModel

        model = LlamaModel(LlamaConfig(**TINY)).eval()
        model = graphnet_ir.capture(model, name="llama", workspace=self.out, verify=True)
        model(input_ids=torch.randint(3, 900, (2, 16)))
        self.judge(model.capture, graphs=1)

    def test_t5(self) -> None:
        from transformers import T5Config, T5Model

        config = T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=1000)
        model = graphnet_ir.capture(T5Model(config).eval(), name="t5", workspace=self.out,
                                    verify=True)
        ids = torch.randint(3, 900, (2, 16))
        model(input_ids=ids, decoder_input_ids=ids)
        self.judge(model.capture, graphs=1)

    def test_three_breaks(self) -> None:
        @graphnet_ir.capture(workspace=self.out, verify=True)
        def breaks(x: torch.Tensor) -> torch.Tensor:
            x = torch.relu(x + 1)
            print("one")
            x = torch.tanh(x * 2)
            if x.sum() > 0:
                x = x - 1
            torch._dynamo.graph_break()
            return torch.sigmoid(x)

        breaks(torch.ones(3, 4))
        self.judge(breaks.capture, graphs=4)

    def test_torch_compile_knows_the_backend_by_name(self) -> None:
        def net(x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x) + 1

        options = {"name": "by_name", "workspace": self.out}
        x = torch.randn(3)
        made = torch.compile(net, backend="graphnet", options=options)(x)
        self.assertTrue(torch.equal(made, net(x)))
        capture = graphnet_ir.captured("by_name")
        self.assertEqual([graph.calls for graph in capture], [1])
        self.assertEqual(len(graphnet_ir.load(capture.save()).graph), 4)
        self.assertIn("tanh", capture[0].sample.graph.find_nodes(op="call_function")[0].target)
        self.assertIn("1 graph of 2 operators, 0 breaks, 1 call of graphs", capture._repr_html_())

    def test_training_step(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)

        @graphnet_ir.capture(name="step", workspace=self.out, backward=True, verify=True)
        def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimiser.step()
            return loss

        step(torch.randn(4, 8), torch.tensor([0, 1, 2, 3]))
        kinds = {graph.kind for graph in step.capture}
        self.assertEqual(kinds, {"graph", "forward", "backward"})
        self.judge(step.capture, graphs=len(step.capture))


if __name__ == "__main__":
    unittest.main()
