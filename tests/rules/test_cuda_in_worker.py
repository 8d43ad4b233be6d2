"""DVF405: device work in the workers of a loader."""

from textwrap import dedent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF405"

HEAD = """
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Items(Dataset):
    def __init__(self, x, where=None):
        self.x = x
        self.copy = x.to(device)
        self.where = where
    def __len__(self): return 3
    def __getitem__(self, index):
        return self.item(index), index
    def item(self, index):
        return {item}
    def preview(self):
        return self.x.cuda()
"""
LOADER = "loader = DataLoader(Items(x), num_workers=2)\n"


def program(item="self.x[index].to(device)", rest=LOADER):
    return HEAD.format(item=item) + dedent(rest)


SILENT = {
    "no workers": program(rest="loader = DataLoader(Items(x))\nother = DataLoader(Items(x), num_workers=0)\n"),
    "a number of workers that is not known": program(rest="loader = DataLoader(Items(x), num_workers=args.workers)\n"),
    "spawned workers": program(rest="loader = DataLoader(Items(x), num_workers=2, multiprocessing_context='spawn')\n"),
    "another start method": program(rest="torch.multiprocessing.set_start_method('spawn')\n" + LOADER),
    "another dataset": program(rest="loader = DataLoader(TensorDataset(x), num_workers=2)\n"),
    "to the host": program("self.x[index].cpu().to('cpu')"),
    "a dtype": program("self.x[index].to(torch.float32)"),
    "where another tensor is": program("self.x[index].to(self.x.device) + torch.ones(3, device=self.x.device)"),
    "a device that the caller chooses": program("self.x[index].to(self.where)"),
    "moved in the constructor and elsewhere": program("self.x[index]"),
    "collated on the host": program(
        "self.x[index]",
        """
        def collate(items):
            return torch.stack([one for one, _ in items])
        loader = DataLoader(Items(x), num_workers=2, collate_fn=collate)
        for batch in loader:
            batch = batch.to(device)
        """,
    ),
    "a device item by item only": program().replace(
        "    def item(", "    def __getitems__(self, found): return [self.x[one] for one in found]\n    def item("
    ),
    "host tensors": program(
        rest="""
        x = torch.zeros(3)
        loader = DataLoader(TensorDataset(x), num_workers=2)
        """
    ),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, text):
    assert rule.findings(text) == ()


@pytest.mark.parametrize(
    "item",
    [
        "self.x[index].to(device)",
        "self.x[index].cuda()",
        "self.x[index].to('cuda:0', non_blocking=True)",
        "self.x[index].to(torch.device('cuda'))",
        "torch.zeros(3, device=device)",
    ],
)
def test_loads_in_the_main_process(rule, item):
    text = program(item)
    assert rule.safeties(text) == [Safety.UNSAFE]
    assert "DataLoader(Items(x), num_workers=0)" in rule.unchanged_unless_unsafe(text)


def test_move_goes_where_the_loop_moves(rule):
    text = program(rest=LOADER + "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n")
    fixed = rule.unchanged_unless_unsafe(text)
    assert "        return self.x[index]\n" in fixed
    assert "num_workers=2" in fixed


def test_assigned_move_goes_whole(rule):
    fixed = rule.unchanged_unless_unsafe("""
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Items(Dataset):
            def __len__(self): return 3
            def __getitem__(self, index):
                x = self.x[index]
                x = x.cuda()
                return x
        for x in DataLoader(Items(), num_workers=1):
            x = x.cuda()
    """)
    assert "        x = self.x[index]\n        return x\n" in fixed


def test_options_of_workers_forbid_the_fix(rule):
    text = program(rest="loader = DataLoader(Items(x), num_workers=2, persistent_workers=True)\n")
    finding = rule.finding(text)
    assert finding.fix is None
    assert finding.advice is not None


def test_through_names_and_splits(rule):
    text = program(
        rest="""
        from torch.utils.data import random_split
        WORKERS = 4
        data = Items(x)
        train, test = random_split(data, [2, 1])
        loader = DataLoader(train, num_workers=WORKERS)
        """
    )
    assert "DataLoader(train, num_workers=0)" in rule.unchanged_unless_unsafe(text)


def test_collate_function(rule):
    text = program(
        "self.x[index]",
        """
        def collate(items):
            return torch.stack([one for one, _ in items]).to(device)
        loader = DataLoader(Items(x), num_workers=2, collate_fn=collate)
        lazy = DataLoader([1, 2], num_workers=2, collate_fn=lambda items: torch.tensor(items).cuda())
        """,
    )
    assert len(rule.findings(text)) == 2


def test_dataset_of_device_tensors(rule):
    text = program(
        "self.x[index]",
        """
        data = TensorDataset(torch.zeros(3).to(device))
        loader = DataLoader(data, num_workers=2)
        """,
    )
    assert "DataLoader(data, num_workers=0)" in rule.unchanged_unless_unsafe(text)


PLACED = """
import torch
from torch.utils.data import DataLoader, Dataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Items(Dataset):
    def __init__(self, x, device):
        self.x = {kept}
        self.device = device
    def __len__(self): return 3
    def __getitem__(self, index):
        return {{"x": {item}, "y": index}}
{rest}
"""
FORKS = "loader = DataLoader(Items(torch.zeros(3), device), num_workers=2)"


def placed(item: str = "self.x[index]", kept: str = "x", rest: str = FORKS) -> str:
    return PLACED.format(item=item, kept=kept, rest=rest)


@pytest.mark.parametrize(
    "text",
    [
        placed("self.x[index].to(self.device)"),
        placed(kept="x.cuda()"),
        placed("torch.zeros_like(self.x[index], device=device)"),
        placed("self.x.cuda()", rest="def make(data):\n    return DataLoader(data, num_workers=2)\nmake(Items(x, 0))"),
    ],
)
def test_work_that_is_found_behind_attributes_and_calls(rule, text: str) -> None:
    assert rule.safeties(text) == [Safety.UNSAFE]


@pytest.mark.parametrize(
    "text",
    [
        placed("self.x[index].to(self.device)", rest='DataLoader(Items(x, "cpu"), num_workers=2)'),
        placed("self.x[index].cpu()", kept="x.cuda()"),
        placed("torch.zeros_like(self.x[index])"),
        placed(
            "self.x.cuda()", rest="def make(data, n):\n    return DataLoader(data, num_workers=n)\nmake(Items(x, 0), 0)"
        ),
    ],
)
def test_no_work_behind_attributes_and_calls(rule, text: str) -> None:
    assert not rule.findings(text)


def test_the_part_that_is_moved_in_the_worker_has_to_be_moved_in_the_loop(rule) -> None:
    loop = FORKS + "\nfor batch in loader:\n    {part} = batch['{part}'].to(device)\n"
    moved = rule.fixed(placed("self.x[index].to(device)", rest=loop.format(part="x")), unsafe=True)
    assert '"x": self.x[index],' in moved
    other = rule.fixed(placed("self.x[index].to(device)", rest=loop.format(part="y")), unsafe=True)
    assert "num_workers=0" in other
