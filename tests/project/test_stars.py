"""What `from … import *` brings from other files: packages under whatever name."""

import pytest

from .test_project import found

TRAIN = """
    from torch import nn
    from parts import *

    def picked(rows, marks):
        kinds = th.argmax(marks, dim=1)
        return th.tensor(rows)[kinds == 1].numpy()

    def noise(net, x, device):
        th.{seeding}(0)
        x = x.to(device)
        return net(x) + th.randn(4, 3)

    def train(net, loader, weight, device):
        loss = nn.BCELoss(weight=weight.to(device))
        for x, y in loader:
            found = th.sigmoid(net(x.to(device)))
            loss(found, y.to(device)).backward()
"""
NOISE = "DVF104:12"
BRINGING = {
    "a file that imports it": {"parts.py": "import torch as th\n"},
    "one of its attributes": {"parts.py": "import torch\nfrom torch import functional as other\nimport torch as th\n"},
    "a package behind a star": {
        "parts/__init__.py": "from .inner import *\n",
        "parts/inner.py": "import torch as th\n",
    },
    "a file that lists what it gives": {"parts.py": "import torch as th\n__all__ = ['th']\n"},
    "files that lead round in a circle": {
        "parts.py": "from other import *\n",
        "other.py": "from parts import *\nimport torch as th\n",
    },
}
OTHERS = {
    "nothing that is read": {},
    "a package of another name": {"parts.py": "import jax as th\n"},
    "an object": {"parts.py": "class Maker:\n    pass\n\nth = Maker()\n"},
    "a file of the project": {"parts.py": "import tools as th\n", "tools.py": "def randn(*size): ...\n"},
    "a file that gives it at times": {"parts.py": "try:\n    import torch as th\nexcept ImportError:\n    th = None\n"},
    "a file that lists other things": {"parts.py": "import torch as th\n__all__ = ['nn']\n"},
}


@pytest.mark.parametrize("parts", BRINGING.values(), ids=BRINGING)
def test_a_package_that_a_star_brings_is_that(parts: dict[str, str]) -> None:
    assert found({"train.py": TRAIN.format(seeding="seed"), **parts}) == [NOISE]


@pytest.mark.parametrize("parts", OTHERS.values(), ids=OTHERS)
def test_what_else_a_star_brings_is_not(parts: dict[str, str]) -> None:
    assert NOISE not in found({"train.py": TRAIN.format(seeding="seed"), **parts})


def test_a_name_of_which_only_torch_has_what_is_read_is_torch() -> None:
    assert found({"train.py": TRAIN.format(seeding="manual_seed")}) == [NOISE]
