"""Values that may be None are followed only where that is ruled out. Seen through DVF501."""

import pytest

CODE = "DVF501"

PROGRAM = """
import torch
def pad(x, y, n{more}):
    {above}
    z = torch.zeros(n, 4).cuda()
    {below}
    return torch.cat([z, y], dim=0)
{caller}
"""


def fixed(rule, above: str = "pass", below: str = "pass", caller: str = "", more: str = "") -> bool:
    program = PROGRAM.format(above=above, below=below, caller=caller, more=more)
    return bool(rule.findings(program)) and ".to(y.device)" in rule.fixed(program, unsafe=True)


MAY_BE_NONE = {
    "asked below": {"below": "if y is None: return z"},
    "asked below in the negative": {"below": "if not y is None: return torch.cat([z, y], dim=0)\n    return z"},
    "asked in an expression": {"below": "if n == 0: return z if y is None else y"},
    "asked above, and nothing done": {"above": "if y is None: n = 3"},
    "asked above together with another": {"above": "if y is None and n == 0: return x"},
    "a caller gives None by place": {"caller": "print(pad(1, None, 3))"},
    "a caller gives None by name": {"caller": "def g(): return pad(1, n=3, y=None)"},
}


@pytest.mark.parametrize("parts", MAY_BE_NONE.values(), ids=MAY_BE_NONE)
def test_is_not_followed(rule, parts: dict[str, str]) -> None:
    assert not fixed(rule, **parts)


RULED_OUT = {
    "nothing says None": {},
    "a caller gives None for another": {"caller": "pad(None, torch.ones(1, 4), 3)\npad(1, torch.ones(1, 4), n=None)"},
    "a caller gives stars": {"caller": "def g(args): return pad(*args, None)"},
    "a way out above": {"above": "if y is None: return x"},
    "an error above": {"above": "if x is None or y is None: raise ValueError"},
    "an assertion above": {"above": "assert y is not None and n > 0"},
    "read above": {"above": "n = n + y.shape[0]", "below": "if y is None: return z"},
}


@pytest.mark.parametrize("parts", RULED_OUT.values(), ids=RULED_OUT)
def test_is_followed(rule, parts: dict[str, str]) -> None:
    assert fixed(rule, **parts)


@pytest.mark.parametrize(
    "test", ["y is not None", "not y is None", "y is not None and n > 0", "isinstance(y, torch.Tensor)"]
)
def test_is_followed_on_the_branch_that_has_it(rule, test: str) -> None:
    program = f"""
        import torch
        def pad(y, n, short=False):
            if {test}:
                z = torch.zeros(n, 4).cuda()
                return torch.cat([z, y], dim=0)
            return y is None
    """
    assert "torch.zeros(n, 4).to(y.device)" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("test", ["y is None", "y is not None or n > 0", "n > 0"])
def test_is_not_followed_on_other_branches(rule, test: str) -> None:
    program = f"""
        import torch
        def pad(y, n, short=False):
            if {test}:
                z = torch.zeros(n, 4).cuda()
                return torch.cat([z, y], dim=0)
            return y is None
    """
    assert not any(one.fix and "y.device" in one.fix.title for one in rule.findings(program))


@pytest.mark.parametrize("made", ['batch["mask"]', "batch.mask", "find(x)", "x if n > 0 else None"])
@pytest.mark.parametrize(
    "chosen",
    [
        "mask if mask is not None else torch.ones(n, 4).cuda()",
        "torch.ones(n, 4).cuda() if mask is None else mask",
    ],
)
def test_what_is_none_there_is_not_followed(rule, made: str, chosen: str) -> None:
    program = f"""
        import torch
        def pool(batch, x, n):
            x = torch.relu(x)
            mask = {made}
            mask = {chosen}
            return torch.cat([x, mask])
    """
    assert "mask.device" not in "".join(one.fix.title for one in rule.findings(program) if one.fix)
    assert ".to(x.device)" in rule.fixed(program, unsafe=True)


def test_what_is_asked_for_below_is_not_followed_above(rule) -> None:
    program = """
        import torch
        def pool(batch, n):
            mask = batch["mask"]
            base = torch.ones(n, 4).cuda()
            return base if mask is None else base * mask
    """
    assert "mask.device" not in "".join(one.fix.title for one in rule.findings(program) if one.fix)


def test_what_a_call_gives_is_followed_where_it_is_there(rule) -> None:
    program = """
        import torch
        def pool(batch, n):
            mask = batch["mask"].float()
            if mask is not None:
                return torch.ones(n, 4).cuda() * mask
            return n
    """
    assert ".to(mask.device)" in rule.fixed(program, unsafe=True)


def test_what_is_moved_is_not_followed_under_its_other_name(rule) -> None:
    program = """
        import torch
        class Encoder(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.embed = torch.nn.Linear(size, size)
            def forward(self, batch):
                x = batch["data"]
                x = self.embed(x.cuda().float())
                return torch.relu(x)
    """
    assert 'batch["data"].device' not in "".join(one.fix.title for one in rule.findings(program) if one.fix)
