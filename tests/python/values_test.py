"""Values that come from outside: checkpoints, and arrays of numpy in and out."""

import pathlib
import tempfile
import unittest

import graphnet_ir
import numpy
import torch

TEXT = """
graph @forward(%x : f32[4, 3], %w : f32[3, 3] as torch.nn.parameter.Parameter) {
  %mm = torch.mm(%x, %w)
  %relu = torch.relu(%mm)
  return (%relu,)
}
"""


class CheckpointTest(unittest.TestCase):

    def setUp(self) -> None:
        self.sample = graphnet_ir.parse("""graphnet.module 1

attribute net.w : f32[2] as torch.nn.parameter.Parameter

graph @forward(%x : f32[2]) {
  %w = get_attr net.w : f32[2]
  return (%w,)
}
end
""")
        self.values = numpy.array([1, 2], dtype=numpy.float32)

    def assertWeight(self, expected: numpy.ndarray) -> None:
        numpy.testing.assert_array_equal(self.sample.weights["net.w"], expected)

    def test_a_state_dict(self) -> None:
        found = self.sample.load_weights({"module.net.w": self.values, "step": numpy.zeros(1)})
        self.assertEqual(found["num_put"], 1)
        self.assertEqual(found["prefix_removed"], "module.")
        self.assertEqual(found["unused"], ["step"])
        self.assertWeight(self.values)
        # A view, in another order.
        self.sample.load_weights({"net.w": torch.tensor([1.0, 7.0, 2.0, 7.0])[::2]})
        self.assertWeight(self.values)

    def test_another_dtype(self) -> None:
        self.sample.load_weights({"net.w": self.values})
        doubles = {"net.w": self.values.astype(numpy.float64) + 1}
        with self.assertRaisesRegex(graphnet_ir.Error, r"of another dtype .*f64\[2\]"):
            self.sample.load_weights(doubles)
        self.assertWeight(self.values)
        self.sample.load_weights(doubles, cast=True)
        self.assertWeight(self.values + 1)

    def test_a_file(self) -> None:
        self.sample.load_weights({"net.w": self.values})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.safetensors")
            graphnet_ir._core._write_weights(self.sample, path)
            other = graphnet_ir.parse(graphnet_ir.show(self.sample, complete=True))
            self.assertEqual(other.load_weights(path)["num_put"], 1)
            self.assertEqual(other.canonical_hash(weights=True),
                             self.sample.canonical_hash(weights=True))
            state = pathlib.Path(folder, "state.pth")
            torch.save({"net.w": torch.tensor([5.0, 6.0])}, state)
            self.sample.load_weights(str(state))
            self.assertWeight(numpy.array([5, 6], dtype=numpy.float32))

    def test_what_is_refused(self) -> None:
        with self.assertRaisesRegex(graphnet_ir.Error, "none of its 1 names"):
            self.sample.load_weights({"other": self.values})
        wider = {"net.w": numpy.zeros(3, dtype=numpy.float32)}
        with self.assertRaisesRegex(graphnet_ir.Error, r"of another shape .*f32\[3\]"):
            self.sample.load_weights(wider)
        self.assertEqual(self.sample.weights, {})
        with self.assertRaisesRegex(TypeError, "the name of a tensor must be a str"):
            self.sample.load_weights({1: self.values})
        with self.assertRaises(TypeError):
            self.sample.load_weights({"net.w": "text"})


class ArraysTest(unittest.TestCase):

    def test_in_and_out(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        x = numpy.arange(12, dtype=numpy.float32).reshape(4, 3) - 6
        w = numpy.arange(18, dtype=numpy.float32).reshape(3, 6)[:, ::-2]
        expected = numpy.maximum(x @ w, 0)
        ready = graphnet_ir.prepare(sample, x, w)
        for got, in (graphnet_ir.run(sample, x, w, numpy=True), ready.run(numpy=True),
                     graphnet_ir.run(sample, values={"x": x.astype(">f4"), "w": w}, numpy=True)):
            self.assertIs(type(got), numpy.ndarray)
            numpy.testing.assert_array_equal(got, expected)
            self.assertFalse(got.flags.writeable)
        self.assertTrue(torch.equal(ready.run()[0], torch.from_numpy(expected)))
        self.assertEqual([row["outputs"] for row in ready.records()],
                         [[{"dtype": "float32", "shape": [4, 3]}]] * 2)

    def test_numbers_and_what_numpy_lacks(self) -> None:
        sample = graphnet_ir.parse("""
graph @f(%x : f32[0, 2], %s : f32[]) {
  %double = operator.mul(%s, 2)
  %half = .to(%s, torch.bfloat16)
  return (%x, %double, %half)
}""")
        x = numpy.zeros((0, 2), dtype=numpy.float32)
        self.assertEqual(graphnet_ir.run(sample, x, numpy.float32(1.5))[1], 3)
        with self.assertRaisesRegex(TypeError, "numpy has no dtype bfloat16"):
            graphnet_ir.run(sample, x, numpy.float32(1.5), numpy=True)
        sample.graph.output_node().args = (sample.graph.output_node().args[0][:2],)
        empty, double = graphnet_ir.run(sample, x, numpy.float32(1.5), numpy=True)
        self.assertEqual((empty.shape, double.shape, double.item()), ((0, 2), (), 3.0))


if __name__ == "__main__":
    unittest.main()
