"""DVF501: whose parameters are asked, and whose not: a model that the program itself takes to CUDA tells nothing."""

from textwrap import dedent, indent

import pytest

CODE = "DVF501"
HEAD = "import torch\nimport torch.nn.functional as F\n"
MOVED = {
    "under another name": """
        class Tuner:
            def __init__(self, model, loader):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.loader = loader
            def train(self):
                model = self.model
                model = model.to("cuda")
                for batch, label in self.loader:
                    batch, label = batch.to("cuda"), label.to("cuda")
                    loss = F.cross_entropy(self.model(batch), label)
                    loss.backward()
                    self.optimizer.step()
    """,
    "behind what goes to it": """
        class Tuner:
            def __init__(self, model, loader):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.loader = loader
            def train(self):
                first, label = next(iter(self.loader))
                first, label = first.cuda(), label.cuda()
                net = self.model.cuda()
                loss = F.cross_entropy(self.model(first), label)
                loss.backward()
                self.optimizer.step()
    """,
    "where it is handed on": """
        class Tuner:
            def __init__(self, model, loader):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.loader = loader
            def train(self):
                model = self.model.cuda()
                model.train()
                for batch, label in self.loader:
                    batch, label = batch.cuda(), label.cuda()
                    loss = F.cross_entropy(self.model(batch), label)
                    loss.backward()
                    self.optimizer.step()
    """,
}


@pytest.mark.parametrize("program", MOVED.values(), ids=MOVED)
def test_a_model_that_the_program_takes_to_cuda_is_not_asked(rule, program):
    found = rule.findings(HEAD + dedent(program))
    assert [one.fix.title for one in found if one.fix and "parameters()" in one.fix.title] == []


ASKED = {
    "given": """
        class Tuner:
            def __init__(self, model, loader):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.loader = loader
            def train(self):
                for batch, label in self.loader:
                    batch, label = batch.cuda(), label.cuda()
                    loss = F.cross_entropy(self.model(batch), label)
                    loss.backward()
                    self.optimizer.step()
    """,
    "in another method": """
        class Tuner:
            def __init__(self, model, loader):
                self.model = model
                self.optimizer = torch.optim.Adam(model.parameters())
                self.loader = loader
            def prepare(self):
                self.model.cuda()
            def train(self):
                for batch, label in self.loader:
                    batch, label = batch.cuda(), label.cuda()
                    loss = F.cross_entropy(self.model(batch), label)
                    loss.backward()
                    self.optimizer.step()
    """,
}


@pytest.mark.parametrize("program", ASKED.values(), ids=ASKED)
def test_a_model_that_was_placed_before_is_asked(rule, program):
    after = rule.unchanged_unless_unsafe(HEAD + dedent(program))
    assert "device = next(self.model.parameters()).device" in after


HEADS = {
    "a loop over it": "for z in model(x.cuda(), y.cuda()):",
    "a test": "while model(x.cuda(), y.cuda()):",
    "what is entered": "with model(x.cuda(), y.cuda()):",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_device_for_the_head_of_a_block_is_bound_above_it(rule, head: str) -> None:
    program = f"{HEAD}def train(model, x, y):\n    model.eval()\n    {head}\n        print(1)\n"
    after = rule.fixed(program, unsafe=True)
    assert f"    device = next(model.parameters()).device\n    {head.replace('cuda()', 'to(device)')}\n" in after


def test_a_device_for_a_loop_and_its_head_is_bound_above_it(rule) -> None:
    program = (
        f"{HEAD}def train(model, x, y):\n    for z in model(x.cuda()):\n        if z:\n            continue\n"
        "        model(y.cuda())\n"
    )
    after = rule.fixed(program, unsafe=True)
    assert "    device = next(model.parameters()).device\n    for z in model(x.to(device)):\n" in after


UNPACKED = """
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 3)
        def forward(self, x):
            return self.fc(x)
        def step(self, {given}):
            {unpacked}
            x = x.type(torch.cuda.FloatTensor)
            return F.cross_entropy(self(x), y)
"""


def test_what_was_unpacked_with_the_value_is_where_that_was(rule):
    program = UNPACKED.format(given="batch", unpacked="x, y = batch")
    after = rule.unchanged_unless_unsafe(HEAD + dedent(program))
    assert "x = x.to(next(self.parameters()).device, torch.float32)" in after


def test_what_is_given_beside_it_is_followed(rule):
    program = UNPACKED.format(given="x, y", unpacked="self.eval()")
    assert "x = x.to(y.device, torch.float32)" in rule.fixed(HEAD + dedent(program))


BRANCHES = {
    "each behind a condition of its own": """
        def train(self, scale=None, shift=None):
            if scale is None:
                scale = torch.ones(19).cuda()
            if shift is None:
                shift = torch.ones(19).cuda()
            print(scale, shift)
    """,
    "one, and none goes to the model": """
        def train(self, scale=None):
            if scale is None:
                scale = torch.ones(19).cuda()
            print(scale)
    """,
}
TUNER = """
class Tuner:
    def __init__(self, model, loader):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.loader = loader
"""


@pytest.mark.parametrize("method", BRANCHES.values(), ids=BRANCHES)
def test_what_meets_no_model_does_not_follow_it(rule, method):
    found = rule.findings(HEAD + TUNER + indent(dedent(method), "    "))
    assert [one.fix.title for one in found if one.fix and "parameters()" in one.fix.title] == []


ABOVE = {
    "on a branch": """
        if scale is None:
            scale = torch.ones(19).cuda()
    """,
    "on a branch of one line": "if scale is None: scale = torch.ones(19).cuda()\n",
    "always": "scale = torch.ones(19).cuda()\n",
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_what_goes_to_the_device_of_a_model_stands_below_its_name(rule, above):
    method = """
        print(scale)
        for batch, label in self.loader:
            batch, label = batch.cuda(), label.cuda()
            F.cross_entropy(self.model(batch), label).backward()
            self.optimizer.step()
    """
    body = "def train(self, scale=None):\n" + indent(dedent(above) + dedent(method), "    ")
    fixed = rule.fixed(HEAD + TUNER + indent(body, "    "), unsafe=True)
    lines = [line.strip() for line in fixed.splitlines()]
    named = lines.index("device = next(self.model.parameters()).device")
    assert [index < named for index, line in enumerate(lines) if ".to(device)" in line] == [False, False]
