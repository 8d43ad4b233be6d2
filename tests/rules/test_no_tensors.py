"""What has no device is followed by no repair, whatever else it has of a tensor."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

from ..project.conftest import InMemory

LEFT = {
    "a size of a factory, said to be a tensor": """
        import torch
        def ramp(steps: torch.Tensor):
            grid = torch.ones((steps, 3))
            return torch.sqrt(steps) + torch.ones(3)
    """,
    "an object with parts of its own": """
        import torch
        def pad(t, length):
            t = t.clone()
            for i in range(t.dim()):
                t.parts[i] = torch.cat([t.parts[i], torch.ones(length - t.parts[i].shape[0], 3)], dim=0)
            return t
    """,
    "an argument that may be a number": """
        import torch
        def block_sizes(length, window):
            candidates = torch.arange(1, window)
            rest = torch.remainder(length, candidates)
            return torch.max(candidates[rest == 0])
    """,
    "a list that goes through other functions": """
        import torch
        def run(scores, n):
            return whole(list(scores), n)
        def whole(rows, n):
            return joined(rows, n)
        def joined(rows, n):
            more = torch.arange(n)
            return torch.concat([rows, more])
    """,
    "what the same method of another class makes a tensor of": """
        import torch
        class Cut:
            def add(self, rows, n):
                return torch.cat([torch.tensor(rows), torch.arange(n)])
        class Pick:
            def add(self, rows, n):
                more = torch.arange(n)
                return torch.concat([rows, more])
    """,
    "what is moved to CUDA goes with an object of the file's own": """
        import torch
        def forward(packed):
            mask = torch.ones(3).cuda()
            packed = packed.clone()
            return join(packed, mask, packed.lengths)
    """,
}


@pytest.mark.parametrize("shape", LEFT)
def test_no_edit_reads_the_device_of_what_may_have_none(shape: str) -> None:
    codes = frozenset(one.code for one in all_rules())
    outcome = check(Source("train.py", dedent(LEFT[shape]).encode()), Options(codes, unsafe=True))
    assert isinstance(outcome, Checked)
    edits = [repr(edit) for one in outcome.findings if one.fix is not None for edit in one.fix.edits]
    assert not [one for one in edits if ".device" in one]


FOLLOWED = {
    "an object that is seen to have a device": """
        import torch
        def pad(t: torch.Tensor, length):
            parts = t.parts.to(t.device)
            return torch.cat([t, torch.ones(length, 3)], dim=0)
    """,
    "one of several values that a helper gives": """
        import torch
        def both(x):
            return x.abs(), x.tolist()
        def run(x):
            t, rest = both(x)
            return joined(t, 3)
        def joined(t, n):
            return torch.concat([t, torch.arange(n)])
    """,
    "what another function makes a tensor of": """
        import torch
        class Cut:
            def put(self, t):
                return torch.tensor(t)
        class Pick:
            def add(self, t, n):
                return torch.concat([t, torch.arange(n)])
    """,
    "a tensor that gets an attribute": """
        import torch
        def pad(t: torch.Tensor, length):
            t.origin = length
            return torch.cat([t, torch.ones(length, 3)], dim=0)
    """,
    "a tensor whose plain attributes are read": """
        import torch
        def pad(t: torch.Tensor, length):
            half = t.dtype is torch.half
            return torch.cat([t, torch.ones(t.shape[0], 3), t.T], dim=0)
    """,
}


@pytest.mark.parametrize("shape", FOLLOWED)
def test_a_tensor_is_followed(shape: str) -> None:
    outcome = check(Source("train.py", dedent(FOLLOWED[shape]).encode()), Options(frozenset({"DVF104"})))
    assert isinstance(outcome, Checked)
    (one,) = outcome.findings
    assert one.fix is not None
    assert "t.device" in repr(one.fix.edits)


def test_a_model_with_parts_is_asked_for_its_parameters() -> None:
    program = """
        import torch
        def step(model, names, optimizer):
            x = torch.zeros(len(names), 3).cuda()
            y = model(x, model.config.scale)
            model.train()
            optimizer.step()
            return y
    """
    outcome = check(Source("train.py", dedent(program).encode()), Options(frozenset({"DVF501"}), unsafe=True))
    assert isinstance(outcome, Checked)
    (one,) = outcome.findings
    assert "next(model.parameters()).device" in repr(one.fix)


CALLER = """
from rows import joined
class Rows:
    def kept(self, scores):
        if scores is None:
            return []
        rows = scores.topk(3).indices
        return {given}
    def first(self, scores):
        return self.kept(scores)
    def run(self, scores, n):
        rows = self.first(scores)
        return joined(rows, n)
"""


@pytest.mark.parametrize(("given", "device"), [("rows.tolist()", False), ("sorted(rows)", False), ("rows[:2]", True)])
def test_what_a_method_of_another_file_gives(given: str, device: bool) -> None:
    rows = "import torch\ndef joined(rows, n):\n    return torch.concat([rows, torch.arange(n)])\n"
    files = InMemory({"/p/rows.py": rows, "/p/run.py": CALLER.format(given=given)})
    source = Source("/p/rows.py", rows.encode())
    outcome = check(source, Options(frozenset({"DVF104"}), unsafe=True), Project(files))
    assert isinstance(outcome, Checked)
    assert ("rows.device" in repr([one.fix for one in outcome.findings])) is device
