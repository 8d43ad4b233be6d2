"""DVF501: whose parameters are asked, and whose not: a model that the program itself takes to CUDA tells nothing."""

from textwrap import dedent

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
