"""What the callers of a function give it, and what other files do with its attributes, before a fix relies on them."""

import pytest

from .test_project import found, patched

HISTOGRAM = """
    import torch

    def histogram(x: torch.Tensor, edges: torch.Tensor):
        centres = torch.linspace(0, 1, 5)
        return (centres - x).abs().argmin()

    def whiten(x: torch.Tensor):
        return x + torch.ones(x.shape[0], 1)
"""

CALLER = """
    import numpy as np
    from tools import histogram, whiten

    def report(path):
        {values}
        return histogram({given}, None), whiten({given})
"""


@pytest.mark.parametrize(
    ("values", "given"),
    [
        ("rows = np.load(path)", "rows"),
        ("rows = np.load(path).astype(float)[:, 0]", "rows"),
        ("rows = load(path).detach().numpy()", "rows * 2"),
        ("rows = load(path)", "[1.0, 2.0]"),
        ("rows = load(path)", "rows.tolist()"),
        ("rows = load(path)", "x=np.asarray(rows)"),
        ("rows, _ = np.histogram(load(path))", "rows"),
    ],
)
def test_parameter_that_another_file_gives_an_array(values, given):
    texts = {
        "tools.py": HISTOGRAM,
        "report.py": CALLER.format(values=values, given=given).replace(
            "x=np.asarray(rows), None", "x=np.asarray(rows), edges=None"
        ),
    }
    assert "x.device" not in patched(texts, "tools.py")


@pytest.mark.parametrize("given", ["rows", "rows.float()", "torch.as_tensor(np.load(path))"])
def test_parameter_that_another_file_may_give_a_tensor(given):
    caller = CALLER.format(values="rows = load(path)", given=given).replace(
        "import numpy as np", "import torch\n    import numpy as np"
    )
    assert patched({"tools.py": HISTOGRAM, "report.py": caller}, "tools.py").count("x.device") == 2


COMPONENT = """
    import torch

    class Component(torch.nn.Module):
        def to(self, device):
            for name in list(vars(self)):
                value = getattr(self, name)
                if isinstance(value, torch.Tensor):
                    setattr(self, name, value.to(device))
            return self
"""

PROJECTION = """
    import torch
    {base}

    class Projection({bases}):
        def __init__(self, width):
            super().__init__()
            self.matrix = torch.zeros(width, width)

        def forward(self, x: torch.Tensor):
            return torch.einsum("pd,dk->pk", x, self.matrix)
"""


def test_attribute_that_a_base_of_another_file_moves():
    text = PROJECTION.format(base="from component import Component", bases="Component")
    assert found({"train.py": text, "component.py": COMPONENT}) == []
    assert found({"train.py": PROJECTION.format(base="", bases="torch.nn.Module")}) != []
