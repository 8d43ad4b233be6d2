"""What is read on the host while it may live elsewhere."""

import pytest


def read(facts, program):
    return [(one.node.lineno, one.reader) for one in facts(program).readouts]


@pytest.mark.parametrize(
    "reading",
    [
        "np.median(torch.zeros(3))",
        "np.median(x.cpu())",
        "np.mean([len(x)])",
        "np.mean(x)",  # asks x.mean(axis=…), which no tensor takes
        "x.shape",
        "torch.median(x)",
        "x.cpu().numpy()",
    ],
)
def test_not_read_by_numpy_from_a_device(facts, reading):
    program = f"import numpy as np, torch\nx = torch.zeros(3, device='cuda')\n{reading}\n"
    assert read(facts, program) == []


@pytest.mark.parametrize(
    ("reading", "reader"),
    [
        ("x.numpy()", "numpy"),
        ("np.median(x)", "numpy.median"),
        ("np.mean([1.0, x])", "numpy.mean"),
        ("plt.imshow(x)", "matplotlib.pyplot.imshow"),
        ("figure.axes[0].plot(x)", "plot"),
    ],
)
def test_read_from_a_device(facts, reading, reader):
    head = "import numpy as np, torch\nimport matplotlib.pyplot as plt\nfigure = plt.figure()"
    assert read(facts, f"{head}\nx = torch.zeros(3, device='cuda')\n{reading}\n") == [(5, reader)]


@pytest.mark.parametrize("empty", ["[]", "list()"])
def test_what_a_list_collects_is_read(facts, empty):
    head = f"import numpy as np, torch\nfound = {empty}\nfor _ in range(3):\n    "
    program = f"{head}found.append(torch.zeros(3, device='cuda'))\nnp.unique(torch.cat(found))\n"
    assert read(facts, program) == [(5, "numpy.unique")]
