"""DVF106: weights of losses that stay on the host."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF106"
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
END = "x = torch.zeros(3, device=device)\ncriterion(x, torch.zeros(3).to(device))\n"

SILENT = {
    "no weights": f"device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss()\n{END}",
    "another argument": f"device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss(reduction='sum')\n{END}",
    "moved weights": (
        f"device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss(weight=torch.ones(3).to(device))\n{END}"
    ),
    "a moved loss": (
        f"device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss(weight=torch.ones(3)).to(device)\n{END}"
    ),
    "a loss that is moved later": (
        "device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        f"criterion.to(device)\n{END}"
    ),
    "a 0-dim weight": (
        f"device = torch.device('cuda')\ncriterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))\n{END}"
    ),
    "everything on the host": "criterion = nn.NLLLoss(torch.ones(3))\ncriterion(torch.zeros(3), torch.zeros(3))\n",
    "weights of unknown place": "def f(w, x, device):\n    nn.CrossEntropyLoss(weight=w)(x.to(device), x.to(device))\n",
    "a loss inside a module": (
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        "    def forward(self, x: torch.Tensor, y: torch.Tensor):\n        return self.loss(x, y)\n"
    ),
    "weights of a batch": (
        "for x, w in torch.utils.data.DataLoader(data):\n    x = x.cuda()\n"
        "    F.binary_cross_entropy_with_logits(x, x, weight=w)\n"
    ),
    "a loss that a trainer keeps and moves": (
        "class A:\n    def __init__(self, model, device):\n        self.device, self.model = device, model.to(device)\n"
        "        self.loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n        self.loss.to(device)\n"
        "    def step(self, x, y):\n        x, y = x.to(self.device), y.to(self.device)\n"
        "        return self.loss(self.model(x), y)\n"
    ),
    "weights that follow": (
        "def f(x: torch.Tensor, y: torch.Tensor):\n"
        "    return F.cross_entropy(x, y, weight=torch.ones(3, device=x.device))\n"
    ),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_silent(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


def test_the_weights_are_made_where_the_loss_is_computed(rule) -> None:
    program = f"{HEAD}device = torch.device('cuda')\ncriterion = nn.CrossEntropyLoss(torch.ones(3))\n{END}"
    assert "criterion = nn.CrossEntropyLoss(torch.ones(3, device=" in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]


def test_a_loss_that_a_trainer_keeps(rule) -> None:
    program = HEAD + (
        "class A:\n    def __init__(self, model, device):\n        self.device, self.model = device, model.to(device)\n"
        "        self.loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        "    def step(self, x, y):\n        x, y = x.to(self.device), y.to(self.device)\n"
        "        return self.loss(self.model(x), y)\n"
    )
    assert "self.loss = nn.CrossEntropyLoss(weight=torch.ones(3, device=self.device))\n" in rule.fixed(
        program, unsafe=True
    )


def test_a_loss_that_goes_by_another_name(rule) -> None:
    built = "from torch.nn import NLLLoss as Criterion  # not MSELoss(x)\ncriterion = Criterion(torch.ones(3))\n"
    assert len(rule.findings(f"{HEAD}device = torch.device('cuda')\n{built}{END}")) == 1


def test_a_loss_that_follows_the_predictions(rule) -> None:
    program = HEAD + (
        "def f(x: torch.Tensor, y: torch.Tensor):\n    loss = nn.NLLLoss(weight=torch.ones(3))\n    return loss(x, y)\n"
    )
    assert "nn.NLLLoss(weight=torch.ones(3, device=x.device))" in rule.fixed(program, unsafe=True)


def test_functional_weights_are_made_where_the_predictions_are(rule) -> None:
    body = "    w = torch.ones(3)\n    return F.nll_loss(x, y, weight=w)\n"
    program = f"{HEAD}def f(x: torch.Tensor, y: torch.Tensor):\n{body}"
    assert "w = torch.ones(3, device=x.device)" in rule.fixed(program)


def test_what_is_moved_beside_says_where_even_under_a_framework(rule) -> None:
    program = (
        f"import accelerate\n{HEAD}def f(x):\n    criterion = nn.CrossEntropyLoss(torch.ones(3))\n"
        "    criterion(x.cuda(), x.cuda())\n"
    )
    assert len(rule.findings(program)) == 1
