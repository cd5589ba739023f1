"""explain says whether rounding explains a difference: of sums in another order, and of wrong results."""

import unittest

import graphnet_ir
import torch

TEXT = """
graph @forward(%x : f32[8, 256]@cpu, %w : f32[16, 256]@cpu) {
  %y = torch.nn.functional.linear(%x, %w)
  %z = torch.softmax(%y, dim = 1)
  %i = torch.argmax(%z, 1)
  return (%z, %i)
}
"""


class ExplainTest(unittest.TestCase):

    def setUp(self) -> None:
        torch.manual_seed(0)
        self.sample = graphnet_ir.parse(TEXT)
        self.x = torch.randn(8, 256)
        self.w = torch.randn(16, 256)

    def explain(self, z, i=None):
        index = z.argmax(1) if i is None else i
        return graphnet_ir.explain(self.sample, [z, index], self.x, self.w)

    def test_equal_bits(self) -> None:
        found = graphnet_ir.explain(self.sample, self.sample.run(self.x, self.w), self.x, self.w)
        self.assertEqual([finding.verdict for finding in found], ["equal", "equal"])
        self.assertEqual(found[0].text, "equal bits")

    def test_another_order_of_the_sum(self) -> None:
        y = torch.zeros(8, 16)
        for k in reversed(range(256)):
            y += self.x[:, k, None] * self.w[None, :, k]
        z = torch.exp(y - y.max(1, keepdim=True).values)
        z /= z.sum(1, keepdim=True)
        self.assertNotEqual(z.tolist(), self.sample.run(self.x, self.w)[0].tolist())
        first, second = self.explain(z)
        self.assertEqual((first.verdict, first.explained), ("rounding", True))
        self.assertTrue(0 < first.ratio < 1, first.ratio)
        self.assertRegex(first.text, r"rounding: \S+ of what rounding explains")
        self.assertEqual(second.verdict, "equal")

    def test_wrong_results(self) -> None:
        z = torch.softmax(self.x.bfloat16().float() @ self.w.T, 1)
        first = self.explain(z)[0]
        self.assertEqual((first.verdict, first.explained), ("beyond", False))
        self.assertGreater(first.beyond, 0)
        z = self.sample.run(self.x, self.w)[0]
        self.assertEqual(self.explain(z, z.argmin(1))[1].verdict, "beyond")
        self.assertEqual(self.explain(z.double())[0].verdict, "other_form")
        self.assertEqual(self.explain(z[:4])[0].verdict, "other_form")

    def test_another_number_of_outputs(self) -> None:
        z = self.sample.run(self.x, self.w)[0]
        with self.assertRaisesRegex(graphnet_ir.Error, "the sample has 2 outputs, and 1 were given"):
            self.sample.explain(z, self.x, self.w)

    def test_what_rounding_cannot_decide(self) -> None:
        sample = graphnet_ir.parse("graph @forward(%x : f32[64]@cpu) {\n"
                                   "  %y = torch.add(%x, 100000000.0)\n"
                                   "  %z = torch.sub(%y, 100000000.0)\n  return (%z,)\n}\n")
        x = torch.randn(64)
        self.assertEqual(sample.explain(x, x)[0].verdict, "blind")


if __name__ == "__main__":
    unittest.main()
