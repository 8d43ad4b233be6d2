"""What the parameters of a function are, by what callers in other files give."""

from collections.abc import Mapping

import pytest

from .test_project import found, patched

HEAD = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from steps import Box, Net, fit, stack

    gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = TensorDataset(torch.zeros(8, 4), torch.zeros(8).long())
    plum = Net().to(gpu)
    fig = torch.optim.SGD(plum.parameters(), 0.1)
"""
STEPS = """
    import torch
    from dataclasses import dataclass
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(x)

    @dataclass
    class Box:
        x: torch.Tensor
        y: torch.Tensor

    def stack(rows):
        return Box(*[torch.stack(column) for column in zip(*rows)])
"""
PICKS = """
    def fit(kiwi, plum, fig, gpu):
        for x, y in kiwi:
            {moves}
            out = plum(x)
            kept = y[out.argmax(dim=1) == 1]
            print(kept.shape)
            out.pow(2).mean().backward()
            fig.step()
"""
MOVED = "x, y = x.to(gpu), y.to(gpu)"
HALF = "x = x.to(gpu)"


def project(call: str, function: str = PICKS, moves: str = HALF, **others: str) -> dict[str, str]:
    """A script that calls a function of another file."""
    more = {f"{name}.py": text for name, text in others.items()}
    return {"main.py": HEAD + f"\n    {call}\n", "steps.py": STEPS + function.format(moves=moves), **more}


LOADER = "fit(DataLoader(rows, batch_size=2), plum, fig, gpu)"


def test_a_loader() -> None:
    texts = project(LOADER)
    assert found(texts, "steps.py") == ["DVF101:23"]
    assert "y = y.to(gpu)" in patched(texts, "steps.py")


OTHER = """
    from steps import fit
    fit({given}, plum, fig, gpu)
"""
SILENT: dict[str, Mapping[str, str]] = {
    "all is moved": project(LOADER, moves=MOVED),
    "a list": project("fit([(torch.zeros(2, 4), torch.zeros(2))], plum, fig, gpu)"),
    "nobody calls it": project("print(fit)"),
    "another function of that name": {**project("fit(rows)"), "other.py": "def fit(kiwi): pass"},
    "a loader here, a list there": project(LOADER, other=OTHER.format(given="[(1, 2)]")),
    "a loader of what is on the device": project(
        "fit(DataLoader(TensorDataset(torch.zeros(8, 4).to(gpu), torch.zeros(8).to(gpu))), plum, fig, gpu)"
    ),
    "a loader that a function of the script collates to the device": {
        **project(LOADER),
        "main.py": HEAD
        + """
    def collate(rows):
        return torch.stack([x for x, _ in rows]).to(gpu), torch.stack([y for _, y in rows]).to(gpu)

    fit(DataLoader(rows, collate_fn=collate), plum, fig, gpu)
""",
    },
    "something that the script wraps around the loader": {
        **project("fit(Ahead(DataLoader(rows), gpu), plum, fig, gpu)"),
        "main.py": "from ahead import Ahead" + HEAD + "\n    fit(Ahead(DataLoader(rows), gpu), plum, fig, gpu)",
    },
}


@pytest.mark.parametrize("texts", SILENT.values(), ids=SILENT)
def test_silent(texts: Mapping[str, str]) -> None:
    assert found(texts, "steps.py") == []


def test_two_callers_of_one_mind() -> None:
    other = """
    from torch.utils.data import DataLoader
    from steps import fit
    fit(DataLoader(data, batch_size=4), plum, fig, gpu)
"""
    assert found(project(LOADER, other=other), "steps.py") == ["DVF101:23"]
