"""Names the operators that torchvision's own build does not bring beside every torch. It is run
before torchvision is imported; no model of the tests calls them."""

import torch

LIBRARY = torch.library.Library("torchvision", "FRAGMENT")  # noqa: TOR901
for _name in ("nms", "roi_align", "_roi_align_backward", "roi_pool", "_roi_pool_backward",
              "ps_roi_align", "_ps_roi_align_backward", "ps_roi_pool", "_ps_roi_pool_backward",
              "deform_conv2d", "_deform_conv2d_backward", "qnms"):
    try:
        LIBRARY.define(f"{_name}(Tensor x) -> Tensor")
    except RuntimeError:
        pass
