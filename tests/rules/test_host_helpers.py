"""DVF104: what goes with tensors that helpers of the project make on the host stays beside them."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF104"
CONFLICTS_ALONE = True

MASKS = """
import torch
def causal(size, dtype=torch.float32, device=None, value=float("-inf")):
    if device is None:
        device = torch.device("cpu")
    mask = torch.full((size, size), value, dtype=dtype, device=device)
    return torch.triu(mask, diagonal=1).unsqueeze(0).unsqueeze(0)
def window(size, width, dtype=torch.float32, device=None):
    mask = causal(size, dtype, device)
    ones = torch.ones_like(mask)
    return torch.where(torch.triu(ones, -width) * torch.tril(ones, width) == 1, mask, 0.0)
def waves(size, width, dtype=torch.float32, device=None):
    angles = torch.arange(size, device=device) / width
    return torch.cos(angles).to(dtype=dtype, device=device), torch.sin(angles).to(dtype=dtype, device=device)
def like(x):
    return torch.ones(9, 9).to(x)
def largest(size, device=None):
    return size // 2
def chosen(size, device=None):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.ones(size, size, device=device)
"""

CACHES = """
import torch
from dataclasses import dataclass
@dataclass
class Entry:
    keys: torch.Tensor
    values: torch.Tensor
    @classmethod
    def sized(cls, shape, dtype=torch.float32, device=None):
        keys = torch.zeros(shape, dtype=dtype, device=device)
        values = torch.zeros(shape, dtype=dtype, device=device)
        return cls(keys=keys, values=values)
@dataclass
class Cache:
    entries: tuple[Entry, ...]
    @classmethod
    def sized(cls, count, shape, dtype=torch.float32, device: torch.device | None = None):
        entries = [Entry.sized(shape, dtype, device) for _ in range(count)]
        found = cls(entries=tuple(entries))
        return found
class Rows:
    def __init__(self, count, device=None):
        self.rows = torch.zeros(count, 8, device=device)
class Counts:
    def __init__(self, count):
        self.count = count
"""

WRAPPER = """
import torch
from torch import nn
import caches
from masks import causal, chosen, largest, like, waves, window
class Wrapper(nn.Module):
    def __init__(self, model, size):
        super().__init__()
        self.model = model
        self.size = size
        self.kept = {kept}
    def _cache(self, device=None):
        return caches.Cache.sized(3, (self.size, 8), device=device)
    def forward(self, tokens: torch.Tensor):
        positions = torch.arange(0, tokens.shape[1], dtype=torch.int)
        {lines}
"""


def fixes(folder: Path, lines: list[str], kept: str = "None", *, suggestions: bool = False) -> list[Fix]:
    """The fixes of the wrapper, whose masks and caches are of the files beside it."""
    (folder / "masks.py").write_text(MASKS)
    (folder / "caches.py").write_text(CACHES)
    program = WRAPPER.format(lines="\n        ".join(lines), kept=kept)
    source, project = Source(str(folder / "train.py"), program.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({CODE}), suggestions=suggestions), project)
    assert isinstance(outcome, Checked)
    return [one.fix for one in outcome.findings if one.fix is not None]


@pytest.mark.parametrize(
    "lines",
    [
        ["mask = causal(self.size)", "mask = mask.index_select(2, positions)", "return self.model.run(mask, tokens)"],
        ["mask = causal(9, device='cpu')", "return self.model.run(mask.index_select(2, positions), tokens)"],
        ["mask = window(self.size, 4)", "return self.model.run(mask.index_select(2, positions), tokens)"],
        ["cos, sin = waves(self.size, 4)", "return self.model.run(cos.index_select(0, positions), tokens)"],
    ],
)
def test_a_helper_makes_what_it_goes_with_on_the_host(tmp_path: Path, lines: list[str]) -> None:
    assert not any("tokens" in one.title for one in fixes(tmp_path, lines))


@pytest.mark.parametrize(
    "kept", ["causal(size)", "window(size, 3)", "causal(size, device=None)[0]", "2 * causal(size)"]
)
@pytest.mark.parametrize(
    "lines",
    [
        ["mask = self.kept.index_select(2, positions)", "return self.model.run(mask, tokens)"],
    ],
)
def test_a_mask_that_the_module_keeps(tmp_path: Path, kept: str, lines: list[str]) -> None:
    assert fixes(tmp_path, lines, kept) == []


@pytest.mark.parametrize("kept", ["nn.Parameter(causal(size))", "causal(size).cuda()", "largest(size)", "chosen(size)"])
def test_what_is_no_tensor_of_the_host_that_the_module_keeps(tmp_path: Path, kept: str) -> None:
    lines = ["mask = tokens + self.kept", "return self.model.run(tokens, positions, mask)"]
    assert any("tokens.device" in one.title for one in fixes(tmp_path, lines, kept, suggestions=True))


@pytest.mark.parametrize(
    "lines",
    [
        ["return self.model.run(tokens, positions, self._cache(device=tokens.device))"],
        ["return self.model.run(tokens, positions, self._cache(tokens.device))"],
        ["cache = caches.Cache.sized(3, (9, 8), device=tokens.device)", "return self.model(tokens, positions, cache)"],
        ["mask = causal(9, device=tokens.device)", "return self.model.run(mask.index_select(2, positions), tokens)"],
        ["mask = causal(9).to(tokens.device)", "return self.model.run(mask.index_select(2, positions), tokens)"],
        ["cache = self._cache()", "cache.to(tokens.device)", "return self.model.run(tokens, positions, cache)"],
        ["mask = like(tokens)", "return self.model.run(mask.index_select(0, positions), tokens)"],
        ["mask = chosen(9)", "return self.model.run(mask.index_select(0, positions), tokens)"],
        ["return self.model.run(tokens, positions, largest(self.size))"],
        ["return self.model.run(tokens, positions, caches.Counts(9))"],
        ["return self.model.run(tokens, positions, self.kept)"],
    ],
)
def test_nothing_of_the_host_goes_with_it(tmp_path: Path, lines: list[str]) -> None:
    assert any("`positions`" in one.title or ".device" in one.title for one in fixes(tmp_path, lines, suggestions=True))


def test_names_and_helpers_that_are_made_of_each_other(rule) -> None:
    program = """
    import torch
    from torch import nn
    class Pair:
        def __init__(self, first, second):
            self.first = first
            self.second = second
        @classmethod
        def joined(cls, first, second):
            for one in second:
                pair = cls(first, one)
                first = (pair, second)
                second = [first, pair]
            return cls(first, cls.joined(second, first))
    class Wrapper(nn.Module):
        def forward(self, tokens: torch.Tensor, mask):
            positions = torch.arange(tokens.shape[1])
            for one in self.layers:
                mask = (rest, one)
                rest = (mask, tokens)
                rest = Pair.joined(rest, mask)
            return self.model(tokens, positions, mask, Pair.joined(mask, rest))
    """
    assert rule.safeties(program) == [Safety.UNSAFE]
