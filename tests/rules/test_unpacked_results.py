"""Tensors that a function gives beside others: moved where its caller has names for them, as the others are."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF104"

MEMORY = """
    import random
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Memory:
        def __init__(self):
            self.rows = []

        def sample(self, n):
            states, actions, rewards = zip(*random.sample(self.rows, n))
            return torch.from_numpy(np.array(states)).float(), {actions}, torch.FloatTensor(rewards)

    def main(memory: Memory):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(8, 4).to(device)
        memory = Memory()
        for step in range(100):
            s, a, r = memory.sample(16)
            s = s.to(device)
            {moved}
            r = r.to(device)
            q = model(s).gather(1, {index}).squeeze(1)
            F.mse_loss(q, r).backward()
"""
INDEX = "a.unsqueeze(1)"
LONG = "torch.LongTensor(actions)"


@pytest.mark.parametrize(
    ("actions", "moved", "index"),
    [
        (LONG, "a = a.to(device)", INDEX),
        (LONG, "", "a.unsqueeze(1).to(device)"),
        ("torch.tensor(actions)", "a = a.to(device)", INDEX),
    ],
)
def test_what_its_caller_moves(rule, actions: str, moved: str, index: str) -> None:
    assert rule.findings(MEMORY.format(actions=actions, moved=moved, index=index)) == ()


def test_an_array_beside_others_that_are_moved(rule) -> None:
    program = MEMORY.format(actions=LONG, moved="", index=INDEX)
    assert rule.safeties(program) == [Safety.SAFE]
    assert "s = s.to(device)\n" in (fixed := rule.fixed(program))
    assert "a = a.to(device)\n" in fixed
    assert LONG in fixed


def test_a_factory_beside_others_that_are_moved(rule) -> None:
    program = MEMORY.format(actions="torch.tensor(actions)", moved="", index=INDEX)
    assert rule.safeties(program) == [Safety.SAFE]  # an index of one element fails as well
    assert "a = a.to(device)\n" in rule.fixed(program)
