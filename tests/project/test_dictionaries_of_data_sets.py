"""Data sets of other files that give dictionaries: a batch of them has no `.to`, its entries have."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from .conftest import InMemory

ROWS = """
    import torch
    from torch.utils.data import Dataset
    class Rows(Dataset):
        def __getitem__(self, i):
            return {item}
"""
MAIN = """
    from torch import nn
    from torch.utils.data import DataLoader
    from rows import Rows
    def main(device):
        net = nn.Linear(3, 2).to(device)
        for batch in DataLoader(Rows()):
            print(net({given}))
"""
DICTIONARY = '{"x": torch.rand(3), "y": torch.tensor(1)}'


def _found(item: str, given: str) -> int:
    main = dedent(MAIN.format(given=given))
    files = InMemory({"/p/main.py": main, "/p/rows.py": dedent(ROWS).replace("{item}", item)})
    options = Options(frozenset({"DVF101"}), suggestions=True)
    outcome = check(Source("/p/main.py", main.encode()), options, Project(files))
    assert isinstance(outcome, Checked)
    return len(outcome.findings)


def test_the_batch_is_no_tensor() -> None:
    assert _found(DICTIONARY, "batch") == 0


@pytest.mark.parametrize(("item", "given"), [(DICTIONARY, 'batch["x"]'), ("torch.rand(3)", "batch")])
def test_its_entries_are(item: str, given: str) -> None:
    assert _found(item, given) == 1


def test_rows_of_an_entry_are() -> None:
    assert _found(DICTIONARY, 'batch["x"][:2]') == 1
