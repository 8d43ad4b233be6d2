"""Modules: what they hold lives with them, and so does what they give."""

import ast

import pytest
from devfix_codemods.flow.facts import Facts

HEAD = "import torch\nfrom torch import nn\n"


def module(init: str, forward: str) -> str:
    return (
        f"{HEAD}class A(nn.Module):\n    def __init__(self, given):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x, h=None):\n        {forward}\n"
    )


def met(facts: Facts) -> list[tuple[str, str]]:
    """The host values that meet what lives with the module, and what they meet."""
    return [(ast.unparse(one.misplaced.node), ast.unparse(one.anchor.node)) for one in facts.followings]


SILENT = {
    "a parameter": ("self.w = nn.Parameter(torch.zeros(3))", "return x * self.w"),
    "a row of a parameter": ("self.w = nn.Parameter(torch.zeros(3))", "return x * self.w[0] + self.w.data"),
    "a buffer": ("self.register_buffer('b', torch.zeros(3))", "return x * self.b"),
    "a buffer, set anew": ("self.register_buffer('b', None)\n        self.b = torch.zeros(3)", "return x * self.b"),
    "a parameter by name": ("self.register_parameter('p', nn.Parameter(torch.zeros(3)))", "return x * self.p"),
    "a number": ("self.b = torch.tensor(2.0)", "return x * self.b"),
    "a parameter of a part": ("self.p = nn.Linear(3, 3)", "return x * self.p.weight"),
    "a given state": ("self.p = nn.LSTM(3, 3)", "return self.p(x, h)"),
    "a state that is made where x is": (
        "self.p = nn.LSTM(3, 3)",
        "if h is None:\n            h = torch.zeros(3, device=x.device)\n        return self.p(x, h)",
    ),
    "a cache that is moved": (
        "self.c = None",
        "if self.c is None:\n            self.c = torch.zeros(3).to(x.device)\n        return x + self.c",
    ),
}


@pytest.mark.parametrize(("init", "forward"), SILENT.values(), ids=SILENT)
def test_what_lives_with_its_module(facts, init: str, forward: str) -> None:
    found = facts(module(init, forward))
    assert met(found) == []
    assert found.meetings == []


MEET = {
    "a plain tensor": ("self.b = torch.zeros(3)", "return x * self.b", ("self.b", "x")),
    "what a part gives": (
        "self.p, self.b = nn.Linear(3, 3), torch.zeros(3)",
        "return self.p(x) * self.b",
        ("self.b", "self.p(x)"),
    ),
    "what a given part gives": (
        "self.p = given\n        self.b = torch.zeros(3)",
        "self.p.train()\n        return self.p(x) * self.b",
        ("self.b", "self.p(x)"),
    ),
    "an omitted state": (
        "self.p = nn.LSTM(3, 3)",
        "if h is None:\n            h = torch.zeros(3)\n        return self.p(x, h)",
        ("h", "self.p"),
    ),
    "an omitted state, the other way round": (
        "self.p = nn.LSTM(3, 3)",
        (
            "if h is not None:\n            h = 2 * h\n        else:\n            h = torch.zeros(3)\n"
            "        return self.p(x, h)"
        ),
        ("h", "self.p"),
    ),
    "an omitted state in an expression": (
        "self.p = nn.LSTM(3, 3)",
        "h = torch.zeros(3) if h is None else h\n        return self.p(x, h)",
        ("h", "self.p"),
    ),
    "an empty cache": (
        "self.c = None",
        (
            "if self.c is None or self.c.size(0) < x.size(0):\n            self.c = torch.arange(3)\n"
            "        return x + self.c"
        ),
        ("self.c", "x"),
    ),
}


@pytest.mark.parametrize(("init", "forward", "expected"), MEET.values(), ids=MEET)
def test_what_meets_the_module(facts, init: str, forward: str, expected: tuple[str, str]) -> None:
    assert met(facts(module(init, forward))) == [expected]


def test_a_moved_module_takes_its_parameters_along(facts) -> None:
    program = module("self.w = nn.Parameter(torch.zeros(3))", "return x") + (
        "    def score(self, x):\n        return x * self.w\n"
        "model = A(1)\nmodel.cuda()\nmodel.score(torch.zeros(3).cuda())\n"
    )
    assert facts(program).meetings == []


def test_a_parameter_that_is_moved_is_a_plain_tensor(facts) -> None:
    program = module("self.w = nn.Parameter(torch.zeros(3)).to('cpu')", "return x * self.w")
    assert met(facts(program)) == [("self.w", "x")]


def test_a_state_that_the_caller_gives_is_not_omitted(facts) -> None:
    program = HEAD + (
        "def f(x, h=None):\n    if h is None:\n        h = torch.zeros(3)\n    return x * h\n"
        "f(torch.zeros(3).cuda(), torch.zeros(3).cuda())\n"
    )
    assert facts(program).meetings == []


RECURRENT = {
    "a tuple": ("return self.p(x, (torch.zeros(3), torch.ones(3)))", {"torch.zeros(3)", "torch.ones(3)"}),
    "a name for a tuple": ("h = torch.zeros(3), torch.ones(3)\n        return self.p(x, h)", {"h"}),
    "one of two": ("h = torch.zeros(3)\n        return self.p(x, (h, torch.zeros_like(x)))", {"h"}),
}


@pytest.mark.parametrize(("forward", "expected"), RECURRENT.values(), ids=RECURRENT)
def test_states_meet_a_recurrent_module(facts, forward: str, expected: set[str]) -> None:
    found = met(facts(module("self.p = nn.LSTM(3, 3)", forward)))
    assert {misplaced for misplaced, _ in found} == expected


LOSSES = {
    "a keyword": ("CrossEntropyLoss(weight=torch.ones(3))", True),
    "a position": ("CrossEntropyLoss(torch.ones(3))", True),
    "of positives": ("BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))", True),
    "moved itself": ("CrossEntropyLoss(weight=torch.ones(3).cuda())", False),
    "moved with its loss": ("CrossEntropyLoss(weight=torch.ones(3)).cuda()", False),
    "a number": ("BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))", False),
    "none": ("CrossEntropyLoss(reduction='sum')", False),
    "no weight": ("HuberLoss('mean')", False),
}


@pytest.mark.parametrize(("loss", "meets"), LOSSES.values(), ids=LOSSES)
def test_a_loss_lives_with_its_weights(facts, loss: str, meets: bool) -> None:
    program = f"{HEAD}loss = nn.{loss}\nx = torch.zeros(3, device='cuda')\nloss(x, torch.zeros(3, device='cuda'))\n"
    assert len(facts(program).meetings) == meets


OWN = "class Own(nn.Module):\n    def __init__(self, n=2):\n        super().__init__()\n        {}\n"
BUFFER = "self.register_buffer('b', torch.zeros(3))"
NAMED = "setattr(self, 'p', nn.Linear(3, 3))"
HOLD_NOTHING = {
    "pooling": "nn.MaxPool2d(2)",
    "an activation": "nn.ReLU()",
    "one of several classes": "{1: nn.AvgPool1d, 2: nn.AvgPool2d}[n](2)",
    "one of two classes": "(nn.ReLU if n else nn.Tanh)()",
    "one of several": "[nn.Identity(), nn.Dropout(0.1)][n]",
    "a container of them": "nn.Sequential(nn.ReLU(), nn.Sequential(nn.Flatten()))",
    "a class of the file": f"{OWN.format('self.n = n')}Own()",
    "a class with parts": f"{OWN.format('self.n, self.pool = n, nn.AvgPool2d(n)')}Own(3)",
    "a class without a constructor": "class Own(nn.Module):\n    def forward(self, x):\n        return x * x\nOwn()",
}
HOLD_SOMETHING = {
    "a layer": "nn.Linear(3, 3)",
    "an activation with a parameter": "nn.PReLU()",
    "one of several classes": "{1: nn.ReLU, 2: nn.PReLU}[n]()",
    "a container": "nn.Sequential(nn.ReLU(), nn.Linear(3, 3))",
    "a class with a layer": f"{OWN.format('self.p = nn.Linear(3, 3)')}Own()",
    "a class with a parameter": f"{OWN.format('self.p = nn.Parameter(torch.zeros(3))')}Own()",
    "a class with a buffer": f"{OWN.format(BUFFER)}Own()",
    "a class with a part that a function makes": f"{OWN.format('self.p = make(n)')}Own()",
    "a class with parts by name": f"{OWN.format(NAMED)}Own()",
    "a class of something": "class Own(Other):\n    def forward(self, x):\n        return x\nOwn()",
}


def given_to(made: str, facts) -> list[tuple[str, str]]:
    """The host values that meet a module which was moved to the device."""
    *above, call = made.split("\n")
    lines = [HEAD.rstrip(), "from elsewhere import Other, make", *above, "def run(n):", f"    m = {call}.to('cuda')"]
    found = facts("\n".join([*lines, "    x = torch.zeros(3)", "    return m(x)"]))
    return [(ast.unparse(one.misplaced.node), ast.unparse(one.anchor.node)) for one in found.meetings]


@pytest.mark.parametrize("made", HOLD_NOTHING.values(), ids=HOLD_NOTHING)
def test_a_module_without_tensors_takes_what_it_gets(made: str, facts) -> None:
    assert given_to(made, facts) == []


@pytest.mark.parametrize("made", HOLD_SOMETHING.values(), ids=HOLD_SOMETHING)
def test_a_module_with_tensors_takes_what_is_with_them(made: str, facts) -> None:
    assert given_to(made, facts) == [("x", "m")]


def test_a_module_that_gets_a_layer_later_holds_it(facts) -> None:
    found = facts(f"{HEAD}m = nn.Module()\nm.p = nn.Linear(3, 3)\nm.to('cuda')\ny = m(torch.zeros(3))\n")
    assert len(found.meetings) == 1


BOXES = """
class Detect:
    def forward(self, x):
        out = torch.zeros(3, 4)
        for i in range(3):
            out[i, :2] = x[i]
        return out
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.detect = Detect()
    def forward(self, x):
        y = self.a(x)
        {back}
net = Net().to("cuda")
boxes = net(x.to("cuda"))
area = boxes * torch.ones(4)
"""
BACK_ON_HOST = {
    "copied": "return y.cpu()",
    "copied, several": "return y.detach().cpu(), y.cpu().numpy()",
    "filled": "out = torch.zeros(3)\n        out[0] = y[0]\n        return out",
    "by a part": "return self.detect.forward(y)",
    "by a part and a name": "out = self.detect.forward(y)\n        return out",
}
BACK_ON_DEVICE = {
    "as it is": "return y",
    "in one case": "return y if self.training else y.cpu()",
    "one of two": "return y, y.cpu()",
    "brought back": "out = torch.zeros(3)\n        out[0] = y[0]\n        return out.to(y.device)",
    "filled there": "out = torch.zeros(3, device=y.device)\n        out[0] = y[0]\n        return out",
    "never filled": "out = torch.zeros(3)\n        return out + y",
}


@pytest.mark.parametrize("back", BACK_ON_HOST.values(), ids=BACK_ON_HOST)
def test_what_a_module_hands_back_on_the_host_is_not_where_it_is(back: str, facts) -> None:
    assert facts(HEAD + BOXES.format(back=back)).meetings == []


@pytest.mark.parametrize("back", BACK_ON_DEVICE.values(), ids=BACK_ON_DEVICE)
def test_what_it_hands_back_otherwise_is(back: str, facts) -> None:
    (found,) = facts(HEAD + BOXES.format(back=back)).meetings
    assert ast.unparse(found.misplaced.node) == "torch.ones(4)"
