import pytest
from devfix_codemods.edits.operations import AddImport, InsertStatement

TORCH = AddImport("torch")
NN = AddImport("torch", "nn")

# name: (before, edit, after)
CASES = {
    "an empty file": ("", TORCH, "import torch\n"),
    "only comments": ("#!sh\n# file\n", TORCH, "#!sh\n# file\nimport torch\n"),
    "below the last import": (
        "import os\nimport sys\n\nx = 1\n",
        TORCH,
        "import os\nimport sys\nimport torch\n\nx = 1\n",
    ),
    "beside its package": (
        "import os\nimport torch\nimport sys\n",
        NN,
        "import os\nimport torch\nfrom torch import nn\nimport sys\n",
    ),
    "beside the last of its package": (
        "from torch import optim\nimport torch.cuda\nimport sys\n",
        NN,
        "from torch import optim\nimport torch.cuda\nfrom torch import nn\nimport sys\n",
    ),
    "not beside a package of a similar name": (
        "import torchvision\nimport os\n",
        TORCH,
        "import torchvision\nimport os\nimport torch\n",
    ),
    "below a line of several imports": (
        "import os; import torch  # c\nx = 1\n",
        NN,
        "import os; import torch  # c\nfrom torch import nn\nx = 1\n",
    ),
    "below a list of lines": (
        "from torch import (\n    optim,\n)\n",
        NN,
        "from torch import (\n    optim,\n)\nfrom torch import nn\n",
    ),
    "past code between imports": (
        "import os\nos.x = 1\nimport torch\n\ny = 1\n",
        NN,
        "import os\nos.x = 1\nimport torch\nfrom torch import nn\n\ny = 1\n",
    ),
    "not below a function": (
        "import os\n\n\ndef f(): pass\n\n\nimport sys\n",
        TORCH,
        "import os\nimport torch\n\n\ndef f(): pass\n\n\nimport sys\n",
    ),
    "not beside its package below a function": (
        "import os\ndef f(): pass\nimport torch\n",
        NN,
        "import os\nfrom torch import nn\ndef f(): pass\nimport torch\n",
    ),
    "below a guarded import of its package": (
        "import os\ntry:\n    import torch\nexcept ImportError:\n    torch = None\nx = 1\n",
        NN,
        "import os\ntry:\n    import torch\nexcept ImportError:\n    torch = None\nfrom torch import nn\nx = 1\n",
    ),
    "below a conditional import of its package": (
        "import os\nif x:\n    import torch\n\ny = 1\n",
        NN,
        "import os\nif x:\n    import torch\nfrom torch import nn\n\ny = 1\n",
    ),
    "not below a guarded import of another": (
        "import os\ntry:\n    import apex\nexcept ImportError:\n    pass\n",
        TORCH,
        "import os\nimport torch\ntry:\n    import apex\nexcept ImportError:\n    pass\n",
    ),
    "not into a main guard": (
        'import os\nif __name__ == "__main__":\n    import torch\n',
        TORCH,
        'import os\nimport torch\nif __name__ == "__main__":\n    import torch\n',
    ),
    "an import inside a function does not count": (
        "import os\n\ndef f():\n    import torch\n",
        TORCH,
        "import os\nimport torch\n\ndef f():\n    import torch\n",
    ),
    "an alias does not bind the name": ("import torch as t\n", TORCH, "import torch as t\nimport torch\n"),
    "an alias of a name does not bind it": (
        "from torch import nn as n\n",
        NN,
        "from torch import nn as n\nfrom torch import nn\n",
    ),
    "a submodule binds its package only": ("import torch\n", AddImport("torch.nn"), "import torch\nimport torch.nn\n"),
    "below a docstring": ('"""Doc."""\nx = 1\n', TORCH, '"""Doc."""\n\nimport torch\n\nx = 1\n'),
    "below a docstring with blank lines": (
        '"""Doc."""\n\n\ndef f(): pass\n',
        TORCH,
        '"""Doc."""\n\nimport torch\n\n\ndef f(): pass\n',
    ),
    "below the future": (
        '"""Doc."""\nfrom __future__ import annotations\nx = 1\n',
        TORCH,
        '"""Doc."""\nfrom __future__ import annotations\n\nimport torch\n\nx = 1\n',
    ),
    "below the head of a file": ("#!sh\n# file\n\n# x\nx = 1\n", TORCH, "#!sh\n# file\n\nimport torch\n\n# x\nx = 1\n"),
    "on top": ("x = 1\n", TORCH, "import torch\n\nx = 1\n"),
    "on top of a decorated class": ("@d\nclass C: pass\n", TORCH, "import torch\n\n@d\nclass C: pass\n"),
}


@pytest.mark.parametrize(("before", "edit", "after"), CASES.values(), ids=CASES)
def test_add(sheet, before, edit, after):
    assert sheet(before).edited(edit) == after


@pytest.mark.parametrize("before", [case[2] for case in CASES.values()], ids=CASES)
def test_a_second_time_changes_nothing(sheet, before):
    edit = NN if "import nn\n" in before else TORCH
    once = sheet(before).edited(edit)
    assert sheet(once).edited(edit) == once


def test_names_from_one_module_share_a_line(sheet):
    edits = [TORCH, NN, AddImport("torch", "optim"), NN]
    assert sheet("import os\n").edited(*edits) == "import os\nimport torch\nfrom torch import nn, optim\n"


def test_imports_come_before_other_code_at_the_same_place(sheet):
    file = sheet("import os\nx = 1\n")
    edits = InsertStatement(file.statement("import os"), "after", "d = torch.device()"), TORCH
    assert file.edited(*edits) == "import os\nimport torch\nd = torch.device()\nx = 1\n"
