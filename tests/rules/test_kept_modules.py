"""DVF202: modules that an object keeps, of which a method moves several."""

import pytest

CODE = "DVF202"

AGENT = """
    import torch
    from torch import nn

    class Agent:
        def __init__(self, use_cuda):
            self.critic = nn.Linear(4, 1)
            self.actor = {made}
            self.target = nn.Linear(4, 1)
            if use_cuda:
                self.to_cuda()

        def to_cuda(self):
            {moves}

        def act(self, state):
            return self.critic(state.cuda()), self.actor(state.cuda()), self.target(state.cuda())
"""
MOVES = ("self.critic = self.critic.cuda()", "self.target = self.target.cuda()")
ALL = (*MOVES, "self.actor = self.actor.cuda()")


def _program(*moves: str, made: str = "nn.Linear(4, 2)") -> str:
    return AGENT.format(made=made, moves=f"\n{' ' * 12}".join(moves))


@pytest.mark.parametrize(
    ("moves", "made"),
    [
        (ALL, "nn.Linear(4, 2)"),
        (MOVES, "nn.Linear(4, 2).cuda()"),
        (MOVES, "Env()"),
        (MOVES, "lambda state: state.mean()"),
    ],
)
def test_what_is_moved_or_no_module(rule, moves: tuple[str, ...], made: str) -> None:
    assert rule.findings(_program(*moves, made=made)) == ()


@pytest.mark.parametrize("made", ["nn.Linear(4, 2)", "nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))"])
def test_the_one_that_is_left_is_moved_by_the_method(rule, made: str) -> None:
    fixed = rule.fixed(_program(*MOVES, made=made), unsafe=True)
    assert "self.actor = self.actor.cuda()\n" in fixed.partition("def to_cuda")[2].partition("def act")[0]
    assert f"self.actor = {made}\n" in fixed


def test_it_is_moved_as_the_others_are(rule) -> None:
    moves = tuple(f"self.{one}.to(self.device)" for one in ("critic", "target"))
    assert "        self.actor.to(self.device)\n" in rule.fixed(_program(*moves), unsafe=True)


WRAPPED = """
    import torch
    from torch import nn

    class Losses:
        def __init__(self):
            self.net = nn.Linear(4, 1)
            self.head = nn.Linear(1, 1)

        def {method}(self, device):
            self.net.to(device)

        def compute(self, x, device):
            return self.net(x.to(device)), self.head(self.net(x.to(device)))
"""


@pytest.mark.parametrize("method", ["begin", "compute_net"])
def test_one_that_is_moved_by_a_method_of_another_name(rule, method: str) -> None:
    assert all("modules-one" not in one.links for one in rule.findings(WRAPPED.format(method=method)))


@pytest.mark.parametrize("method", ["to", "to_device"])
def test_one_that_is_moved_by_the_method_that_moves_all(rule, method: str) -> None:
    assert "self.head.to(device)\n" in rule.fixed(WRAPPED.format(method=method), unsafe=True)


PARTS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.stem = {stem}
            self.body = {body}
            self.head = nn.Linear(4, 2).to(device)

        def forward(self, x):
            return self.head(self.body(self.stem(x)))
"""


@pytest.mark.parametrize(
    ("stem", "body"),
    [
        ("nn.Linear(4, 4).to(device)", "nn.Linear(4, 4).to(device)"),
        ("nn.Linear(4, 4)", "nn.Linear(4, 4)"),
        ("nn.Linear(4, 4).to(device)", "nn.ReLU()"),
    ],
)
def test_a_module_that_moves_all_its_parts_or_few_of_them(rule, stem: str, body: str) -> None:
    assert rule.findings(PARTS.format(stem=stem, body=body)) == ()


def test_a_module_that_moves_itself(rule) -> None:
    program = PARTS.format(stem="nn.Linear(4, 4)", body="nn.Linear(4, 4).to(device)")
    assert (
        rule.findings(
            program.replace(
                "def forward", "def place(self, device):\n            self.to(device)\n\n        def forward"
            )
        )
        == ()
    )
    assert rule.findings(f"{program}\n    def main(device):\n        return Net(device).to(device)\n") == ()


def test_the_one_part_that_a_module_does_not_move_itself(rule) -> None:
    program = PARTS.format(stem="nn.Linear(4, 4)", body="nn.Linear(4, 4).to(device)")
    assert "self.stem = nn.Linear(4, 4).to(device)\n" in rule.fixed(program, unsafe=True)


LATER = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, gpu):
            super().__init__()
            self.body, self.neck, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
            self.stem = nn.Linear(4, 4)
            if gpu:
                {moves}

        def forward(self, x):
            return {given}
"""


ALL = "self.head(self.neck(self.body(self.stem(x))))"
MOST = "\n                ".join(f"self.{one} = self.{one}.cuda()" for one in ("body", "neck", "head"))


@pytest.mark.parametrize(
    ("moves", "given"),
    [
        ("self.body = self.body.cuda(); self.head = self.head.cuda()", ALL),
        ("self.cuda()", ALL),
        (f"{MOST}; self.stem = self.stem.cuda()", ALL),
        (MOST, "self.head(self.neck(self.body(self.stem(x).to(self.body.weight.device))))"),
        (MOST, "self.head(self.neck(self.body(x))) + self.stem(x.cpu())"),
    ],
)
def test_a_module_that_moves_few_or_all_of_its_parts_later_or_has_one_for_the_host(
    rule, moves: str, given: str
) -> None:
    assert rule.findings(LATER.format(moves=moves, given=given)) == ()


def test_the_one_part_that_a_module_does_not_move_later(rule) -> None:
    fixed = rule.fixed(LATER.format(moves=MOST, given=ALL), unsafe=True)
    assert "self.body.cuda()\n            self.stem = self.stem.cuda()\n            self.neck" in fixed


TRAINER = """
    import torch
    from optim import Steps

    class Trainer:
        def __init__(self, actor, critic, target, rate=0.1):
            self.actor, self.critic, self.target = actor, critic, target
            self.rate = rate
            self.steps = Steps(self.actor.parameters(), lr=rate)

        def update(self, state):
            loss = (self.critic(state) - self.rate * self.target(state)).mean()
            self.steps.backward(loss)
            return self.actor(state)

        def {method}(self, device):
            self.critic.to(device)
            {moves}
"""


@pytest.mark.parametrize(
    ("method", "moves"),
    [
        ("to", "self.target.to(device); self.actor.to(device)"),
        ("to", "pass"),
    ],
)
def test_what_is_given_and_moved_or_beside_one_alone(rule, method: str, moves: str) -> None:
    assert rule.findings(TRAINER.format(method=method, moves=moves)) == ()


def test_what_an_object_is_given_is_moved_with_the_others(rule) -> None:
    program = TRAINER.format(method="to", moves="self.target.to(device)")
    fixed = rule.fixed(program, unsafe=True)
    assert "self.actor.to(device)\n" in fixed.partition("def to(")[2]
    assert "self.steps.to" not in fixed
    assert "self.rate.to" not in fixed
