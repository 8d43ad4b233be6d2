"""DVF402: tensors that are copied to the host in one place, and given to numpy as they are in another."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF402"
HEAD = "import numpy as np\nimport torch\nfrom scipy.sparse import csr_matrix\n"

SILENT = {
    "under its own name": "def f(x):\n    x = x.cpu()\n    return np.unique(x)\n",
    "another value of that name": "def f(x, g):\n    a = x.cpu()\n    x = g(a)\n    return np.unique(x)\n",
    "the copy": "def f(x):\n    y = x.cpu()\n    return np.unique(y)\n",
    "its shape": "def f(x):\n    y = x.cpu()\n    return np.zeros(x.shape[0]), np.prod(x.shape)\n",
    "a number": "def f(n):\n    return n.cpu(), np.zeros(n), np.arange(n), np.float32(n)\n",
    "what answers itself": "def f(x):\n    return x.cpu(), np.mean(x), np.round(x)\n",
    "in another branch": (
        "def f(x, gpu):\n    if gpu:\n        y = x.cpu()\n    else:\n        y = np.unique(x)\n    return y\n"
    ),
    "in one branch alone": ("def f(x, wanted):\n    if wanted:\n        print(x.cpu())\n    return np.unique(x)\n"),
    "where it is on the host": (
        "def f(x):\n    a = x.cpu()\n    return np.unique(x) if not x.is_cuda else np.unique(a)\n"
    ),
    "in another function": "def f(x):\n    return x.cpu()\ndef g(x):\n    return np.unique(x)\n",
    "thrown away": "def f(x):\n    x.cpu()\n    return np.unique(x)\n",
    "an entry of its own": "def f(x):\n    return x.cpu(), np.unique(x.rows)\n",
    "another framework": "import paddle\ndef f(x):\n    y = x.cpu()\n    return np.unique(x)\n",
    "what is no reader": "def f(x, g):\n    y = x.cpu()\n    return g(x)\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


REPAIRED = {
    "by numpy": ("y = x.cpu()\n    return y, np.unique(x)", "np.unique(x.cpu())"),
    "rows of it": ("y = x.cpu()\n    return y, np.unique(x[:, 0]).shape[0]", "np.unique(x[:, 0].cpu()).shape[0]"),
    "above the copy": ("rows = np.unique(x)\n    return rows, x.detach().cpu().numpy()", "np.unique(x.cpu())"),
    "in a branch below": (
        "y = x.cpu()\n    if n is None:\n        n = np.unique(x).shape[0]\n    return y, n",
        "np.unique(x.cpu()).shape[0]",
    ),
    "by scipy": ("y = x.cpu().numpy()\n    return y, csr_matrix(x)", "csr_matrix(x.cpu())"),
    "converted": ("y = x.cpu()\n    return y, x.numpy()", "x.cpu().numpy()"),
}


@pytest.mark.parametrize(("body", "after"), REPAIRED.values(), ids=REPAIRED)
def test_copied_to_the_host(rule, body: str, after: str) -> None:
    program = f"{HEAD}def f(x, n=None):\n    {body}\n"
    assert after in rule.fixed(program, unsafe=True)
    assert set(rule.safeties(program)) <= {Safety.SAFE, Safety.UNSAFE}


def test_what_a_module_gave(rule) -> None:
    program = (
        f"{HEAD}def f(model, batch, report):\n    best = model(batch).max(dim=1)[1]\n    print(np.unique(best))\n"
        "    return report(best.detach().cpu().numpy())\n"
    )
    assert "np.unique(best.cpu())" in rule.fixed(program, unsafe=True)


TWICE = """
import torch
from sklearn.model_selection import train_test_split

def split(net, data):
    rows = net(data.x).cpu()
    labels = data.mask.long()
    return train_test_split({given})
"""


@pytest.mark.parametrize("given", ["rows, labels.cpu(), stratify=labels.cpu()", "rows, rows, stratify=rows"])
def test_what_is_on_the_host_wherever_a_call_gets_it(rule, given: str) -> None:
    assert rule.findings(TWICE.format(given=given)) == ()


@pytest.mark.parametrize("given", ["rows, labels, stratify={}", "rows, {}, labels"])
def test_what_a_call_gets_twice_is_copied_both_times(rule, given: str) -> None:
    fixed = rule.fixed(TWICE.format(given=given.format("labels")), unsafe=True)
    assert fixed.count("labels.cpu()") == 2
