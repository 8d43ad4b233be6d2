"""DVF104: what is made to fit a part of what the `forward` of a module is given."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

MODULE = """
    import numpy as np
    import torch
    from torch import nn
    from library import Base
    class Net({base}):
        def __init__(self, n):
            super().__init__()
            {part}
        def {method}(self, batch, pair):
            {lines}
"""
LAYER = "self.layer = nn.Linear(n, n)"
KEYED = 'h = torch.zeros(batch["x"].shape[0], 3)\n            return self.encoder(h, batch["x"])'


def program(lines: str, part: str = LAYER, base: str = "Base", method: str = "forward") -> str:
    return MODULE.format(lines=lines.replace("; ", "\n            "), part=part, base=base, method=method)


SILENT = {
    "of a transform of data": (KEYED, "self.n = n"),
    "of what keeps a loss alone": (KEYED, "self.loss = nn.MSELoss()"),
    "of an array": ('a = np.asarray(batch["x"]); return torch.zeros(a.shape[0], 3)', LAYER),
    "of what a function makes of an input": ("a, b = read(batch); return torch.zeros(a.shape[0], 3)", LAYER),
    "of what is brought to the host": ('a = batch["x"].cpu(); return torch.zeros(a.shape[0], 3)', LAYER),
    "of what is bound in other ways as well": (
        "a, b = pair; [print(a) for b in pair]; a = read(a); return torch.zeros(a.shape[0], 3)",
        LAYER,
    ),
    "of what the module holds": ('return torch.zeros(self.table["x"].shape[0], 3)', LAYER),
    "read as an array": ('return torch.zeros(batch["x"].shape[0], 3).numpy()', LAYER),
    "of an element, maybe of a shape": ("return torch.zeros(pair[0].shape[0], 3)", LAYER),
    "placed": ('return torch.zeros(batch["x"].shape[0], 3, device=self.place)', LAYER),
}


@pytest.mark.parametrize(("lines", "part"), SILENT.values(), ids=SILENT)
def test_is_not_edited(rule, lines: str, part: str) -> None:
    assert not any(rule.safeties(program(lines, part)))


def test_other_methods_say_nothing(rule) -> None:
    assert rule.findings(program(KEYED, method="collate")) == ()
    assert rule.findings(program(KEYED, base="object", part="self.n = n")) == ()


FIXED = {
    "a value of a mapping": (KEYED, 'h = torch.zeros(batch["x"].shape[0], 3, device=batch["x"].device)'),
    "a value that is spread": (
        'h = torch.zeros(*batch["x"].shape, 3); return self.encoder(h)',
        'torch.zeros(*batch["x"].shape, 3, device=batch["x"].device)',
    ),
    "an element of a pair": (
        "a, b = pair; return self.encoder(torch.ones(a.shape[0], 3))",
        "torch.ones(a.shape[0], 3, device=a.device)",
    ),
    "values by their names": (
        'x, m = batch["x"], batch["m"]; n = m.shape[0]; return self.encoder(torch.ones(n, 3))',
        "torch.ones(n, 3, device=m.device)",
    ),
}


@pytest.mark.parametrize(("lines", "fixed"), FIXED.values(), ids=FIXED)
def test_goes_with_it_as_a_choice(rule, lines: str, fixed: str) -> None:
    assert fixed in rule.unchanged_unless_unsafe(program(lines))


@pytest.mark.parametrize("part", ["self.w = nn.Parameter(torch.zeros(n))", "self.net = nn.Sequential()"])
def test_parts_make_a_module(rule, part: str) -> None:
    assert "device=batch" in rule.unchanged_unless_unsafe(program(KEYED, part=part))
