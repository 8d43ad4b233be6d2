"""DVF403: what cannot be pinned."""

import pytest
from devfix_codemods.engine import rewrite
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Changed, Options
from devfix_codemods.source import Source

CODE = "DVF403"

SILENT = {
    "a loader of host tensors": """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.zeros(3)), pin_memory=True)
        for (x,) in loader:
            x = x.to("cuda", non_blocking=True)
    """,
    "pinned before the move, for CUDA alone": """
        import torch
        x = torch.zeros(3).pin_memory().to("cuda", non_blocking=True)
    """,
    "asked before": """
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda":
            x = torch.zeros(3).pin_memory().to(device, non_blocking=True)
    """,
    "pinned where there is CUDA": """
        import torch
        from torch.utils.data import DataLoader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(data, pin_memory=torch.cuda.is_available())
        other = DataLoader(data, pin_memory=device.type == "cuda")
        third = DataLoader(data, pin_memory=False)
    """,
    "for other accelerators as well": """
        import torch
        from torch.utils.data import DataLoader
        loader = DataLoader(data, pin_memory=True)
        if hasattr(torch, "accelerator"):
            device = torch.accelerator.current_accelerator().type
        else:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        for x in loader:
            model(x.to(device))
    """,
    "a loader's user decides": """
        import torch
        from torch.utils.data import DataLoader
        def make(data, device: torch.device, pin_memory=False):
            return DataLoader(data, pin_memory=pin_memory and torch.cuda.is_available())
    """,
    "a file that never asks for CUDA": """
        from torch.utils.data import DataLoader
        loader = DataLoader(data, pin_memory=True)
    """,
    "a framework places the batches": """
        import torch
        import lightning as L
        from torch.utils.data import DataLoader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(data, pin_memory=True)
    """,
    "a loader of another library": """
        import torch
        from dgl.dataloading import DataLoader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(graph, pin_memory=True)
    """,
    "a collate function of its own": """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        def collate(items):
            return torch.stack([one[0].cpu() for one in items])
        loader = DataLoader(TensorDataset(torch.zeros(3).cuda()), collate_fn=collate, pin_memory=True)
    """,
    "a tensor of unknown place": """
        def pinned(x, y):
            return x.pin_memory(), y.contiguous().pin_memory()
    """,
    "methods of other classes": """
        import torch
        class Batch:
            def pin_memory(self, *names):
                return self.apply(lambda x: x.pin_memory(), *names)
        batch = Batch()
        batch.pin_memory("x", "y")
        batch.pin_memory(num_threads=2)
    """,
    "strings compared with strings": """
        import torch
        def make(device: str, name):
            device_name = "cuda"
            pin_memory = device == "cuda"
            return dict(pin_memory=device_name != "cpu" and name == "cuda")
    """,
    "a flag that asks for CUDA": """
        from torch import cuda, device as device_t
        class Loader:
            def __init__(self, loader, device, pin=False):
                self.loader = loader
                self.device = device_t(device) if cuda.is_available() else device_t("cpu")
                self.pin = pin if cuda.is_available() else False
                self.kind = "cuda" if cuda.is_available() else None
            def __iter__(self):
                for x in self.loader:
                    if self.pin and x.ndim:
                        x = x.pin_memory().to(self.device)
                    elif self.kind:
                        x = x.pin_memory().to(self.device)
                    yield x
    """,
    "a flag that a constant names": """
        import torch
        from torch.utils.data import DataLoader
        PIN = True
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(data, pin_memory=PIN)
    """,
    "a parameter that is off": """
        import torch
        class Trainer:
            def __init__(self, pin_memory=False):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.pin_memory = pin_memory
    """,
    "a parameter that is limited already": """
        import torch
        class Trainer:
            def __init__(self, pin_memory=True):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.pin_memory = pin_memory and self.device.type != "cpu"
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


def test_loader_of_device_tensors(rule):
    program = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(x.to("cuda"), y)
        loader = DataLoader(data, shuffle=True, pin_memory=True)
    """
    assert rule.safeties(program) == [Safety.SAFE]
    assert "DataLoader(data, shuffle=True, pin_memory=False)" in rule.fixed(program)


def test_tensor_on_a_device(rule):
    program = """
        import torch
        x = torch.zeros(3, device="cuda")
        y = x.pin_memory()
        z = torch.ones(3).cuda().pin_memory()
    """
    assert rule.safeties(program) == [Safety.SAFE, Safety.SAFE]
    fixed = rule.fixed(program)
    assert "y = x\n" in fixed
    assert "z = torch.ones(3).cuda()\n" in fixed


def test_pinned_on_machines_without_cuda(rule):
    program = """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def batch(x, table):
            a = table["x"].pin_memory().to(device)
            return x.pin_memory().to(device, non_blocking=True)
    """
    assert rule.safeties(program) == [None, Safety.SAFE]
    assert "return (x.pin_memory() if torch.cuda.is_available() else x).to(device, non_blocking=True)" in rule.fixed(
        program
    )


def test_a_flag_that_asks_for_nothing(rule) -> None:
    program = """
        from torch import cuda, device as device_t
        class Loader:
            def __init__(self, device, pin=False):
                self.device = device_t(device) if cuda.is_available() else device_t("cpu")
                self.pin = pin
            def move(self, x):
                if self.pin:
                    x = x.pin_memory().to(self.device)
                return x
    """
    assert "x.pin_memory() if cuda.is_available() else x" in rule.fixed(program)


def test_loader_that_always_pins(rule):
    program = """
        import torch
        from torch.utils.data import DataLoader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(data, pin_memory=True)
    """
    assert 'DataLoader(data, pin_memory=device.type == "cuda")' in rule.unchanged_unless_unsafe(program)


def test_loader_that_always_pins_with_no_device_at_hand(rule):
    program = """
        import torch
        from torch.utils.data import DataLoader
        def make(data):
            return DataLoader(data, pin_memory=True)
        def main():
            device = "cuda" if torch.cuda.is_available() else "cpu"
    """
    assert "pin_memory=torch.cuda.is_available())" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loader = make(pin_memory=device == 'cuda')", "pin_memory=device.type == 'cuda'"),
        ("pin_memory = 'cpu' != device", "pin_memory = 'cpu' != device.type"),
        ("kwargs['pin_memory'] = kwargs.get('pin_memory', device == 'cuda:0')", "str(device) == 'cuda:0'"),
        ("options = {'pin_memory': device == 'cuda'}", "{'pin_memory': device.type == 'cuda'}"),
    ],
)
def test_comparison_that_never_holds(rule, line, expected):
    program = f"""
        import torch
        kwargs = {{}}
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        {line}
    """
    assert expected in rule.unchanged_unless_unsafe(program)


def test_comparison_with_a_name_for_the_host(rule):
    program = """
        import torch
        def infer(x, device):
            buffer = "cpu"
            pin_memory = (buffer != device)
            return torch.empty(3, pin_memory=pin_memory)
    """
    assert "(buffer != str(device))" in rule.unchanged_unless_unsafe(program)


def test_parameter_that_is_on(rule):
    program = """
        import torch
        class Trainer:
            def __init__(self, pin_memory=True):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.pin_memory = pin_memory
    """
    assert 'self.pin_memory = pin_memory and self.device.type != "cpu"' in rule.unchanged_unless_unsafe(program)


GIVEN = {
    "a parameter": """
        import torch
        class Pair:
            def pin_memory(self, device=None):
                return Pair(self.first.pin_memory(device=device), self.second)
    """,
    "a parameter of the constructor": """
        import torch
        class Loader:
            def __init__(self, source, device):
                self.source = source
                self.device = device
            def __iter__(self):
                for batch in self.source:
                    yield batch.pin_memory(self.device)
    """,
}


@pytest.mark.parametrize("program", GIVEN.values(), ids=GIVEN)
def test_a_parameter_that_serves_for_pinning_alone_is_only_told(rule, program):
    finding = rule.finding(program)
    assert finding.fix is None
    assert "device" in (finding.advice or "")


def test_argument_of_pin_memory_before_its_deprecation_stays():
    program = "import torch\ndef f(self, x):\n    return x.pin_memory(self.device).to(self.device)\n"
    options = Options(frozenset({CODE}), unsafe=True, target_torch=(2, 4))
    assert not isinstance(rewrite(Source("f.py", program.encode()), options), Changed)


def test_argument_of_pin_memory(rule):
    program = """
        import torch
        def transfer(self, x):
            return x.pin_memory(self.device).to(self.device, non_blocking=True)
    """
    assert "return x.pin_memory().to(self.device, non_blocking=True)" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize(
    "line",
    [
        'sample.to("cpu")',
        'sample.to("cpu", pin_memory=False)',
        'sample.to("cpu", pin_memory=torch.cuda.is_available())',
        "sample.to(device, pin_memory=True)",
        'sample.to("cpu", pin_memory=True) if torch.cuda.is_available() else None',
        'store("cpu", pin_memory=True)',
    ],
)
def test_samples_that_are_not_pinned_or_only_with_cuda(rule, line: str) -> None:
    assert rule.findings(f"import torch\ndef keep(sample, device, store):\n    {line}\n") == ()


def test_samples_that_are_pinned_on_any_machine(rule) -> None:
    program = 'for sample in load():\n    if mode == "cpu":\n        sample.to("cpu", pin_memory=True)\n'
    fixed = rule.unchanged_unless_unsafe(program)
    assert "import torch\n" in fixed
    assert '        sample.to("cpu", pin_memory=torch.cuda.is_available())\n' in fixed


TRAINED = """
    import torch
    from torch.utils.data import DataLoader
    def train(data, device{annotation} = torch.device("cuda" if torch.cuda.is_available() else "cpu")):
        for x in DataLoader(data, pin_memory=True):
            print(x.to(device))
"""


@pytest.mark.parametrize(
    ("annotation", "condition"),
    [
        ("", 'device.type == "cuda"'),
        (": torch.device", 'device.type == "cuda"'),
        (": str", "torch.cuda.is_available()"),
        (": torch.device | str", "torch.cuda.is_available()"),
    ],
)
def test_a_device_that_callers_may_give_as_text(rule, annotation: str, condition: str) -> None:
    assert f"pin_memory={condition})" in rule.fixed(TRAINED.format(annotation=annotation), unsafe=True)


ITEMS = """
    import torch
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    class Items(Dataset):
        def __init__(self, x, device):
            self.x = {kept}
            self.device = device
        def __len__(self):
            return 3
        def __getitem__(self, index):
            return {item}
    def collate(items):
        return {batch}
    loader = DataLoader({data}, pin_memory={pins})
"""


def items(**parts: str) -> str:
    usual = {
        "kept": "x",
        "item": "self.x[index]",
        "batch": "torch.stack(items)",
        "data": "Items(torch.zeros(3), device)",
    }
    return ITEMS.format(**(usual | {"pins": "True"} | parts))


AT_ONCE = items(item="{item}").replace(
    "    def collate(", "        def __getitems__(self, found):\n            return {batch}\n    def collate("
)


@pytest.mark.parametrize(
    ("loads", "at_once", "is_found"),
    [
        ("Items(x, device), 8, ", False, False),
        ("Items(x, device), ", True, True),
        ("Items(x, device), batch_size=None, ", False, True),
        ("Items(x, device), None, ", True, False),
    ],
)
def test_a_data_set_that_gives_whole_batches_is_asked_for_these(
    rule, loads: str, at_once: bool, is_found: bool
) -> None:
    read = ["[self.x[one] for one in found]", "[self.x[one].cuda() for one in found]"]
    text = AT_ONCE.replace("Items(torch.zeros(3), device), ", loads)
    text = text.replace("{item}", "self.x[index]" if at_once else "self.x[index].cuda()").replace(
        "{batch}", read[at_once]
    )
    assert (Safety.SAFE in rule.safeties(text)) is is_found


@pytest.mark.parametrize(
    "program",
    [
        items(kept="x.cuda()"),
        items(item="self.x[index].to(device), index"),
        items(item='{"x": self.x[index].to(self.device)}'),
        items(data="[1, 2], collate_fn=collate", batch="torch.stack(items).to(device)"),
        items(data="TensorDataset(torch.zeros(3).sum(0).cuda())"),
    ],
)
def test_items_on_a_device(rule, program: str) -> None:
    assert rule.safeties(program) == [Safety.SAFE]
    assert "pin_memory=False)" in rule.fixed(program)


@pytest.mark.parametrize(
    "parts",
    [
        {"kept": "x.cuda()", "item": "self.x[index].cpu()"},
        {"item": "self.x[index], index"},
        {"item": "self.x[index].to(self.x.device)"},
        {"kept": "x.cuda()", "data": "Items(torch.zeros(3), device), collate_fn=read"},
        {"data": "TensorDataset(torch.zeros(3).cuda().cpu())"},
    ],
)
def test_items_on_the_host(rule, parts: dict[str, str]) -> None:
    assert not rule.findings(items(**parts, pins="torch.cuda.is_available()"))
    assert all(one is not Safety.SAFE for one in rule.safeties(items(**parts)))


@pytest.mark.parametrize(
    "lines",
    [
        "x = x.to(device)\n        x = x.pin_memory()",
        "y = net(x.to(device))\n        y.detach().pin_memory()",
        "for x in loader:\n            x = x.to(device)\n            x.pin_memory()",
    ],
)
def test_what_was_moved_before_is_not_pinned(rule, lines: str) -> None:
    program = f"""
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net.to(device)
        {lines}
    """
    assert rule.safeties(program) == [Safety.SAFE]


@pytest.mark.parametrize(
    "lines",
    [
        "def f(x, where):\n            return x.to(where).pin_memory()",
        "def f(x, big):\n            x = x if big else x.cuda()\n            if big:\n                x.pin_memory()",
        "x = torch.zeros(3).to(device).cpu().pin_memory()",
    ],
)
def test_what_may_be_on_the_host_is_pinned(rule, lines: str) -> None:
    program = f"""
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        {lines}
    """
    assert not rule.findings(program)


@pytest.mark.parametrize(
    "leaving", ["assert torch.cuda.is_available()", "if not torch.cuda.is_available():\n            sys.exit(1)"]
)
def test_a_program_that_ends_without_cuda(rule, leaving: str) -> None:
    program = """
        import sys
        import torch
        from torch.utils.data import DataLoader
        {leaving}
        def make(data):
            return DataLoader(data, pin_memory=True)
    """
    assert not rule.findings(program.format(leaving=leaving))
    assert rule.findings(program.format(leaving="print(torch.cuda.is_available())"))


@pytest.mark.parametrize("module", ["ignite.distributed", "ignite.distributed.utils"])
def test_a_library_gives_a_device(rule, module: str) -> None:
    program = f"""
        import {module} as idist
        from torch.utils.data import DataLoader
        loader = DataLoader(data, pin_memory=idist.device() == "cuda")
    """
    assert len(rule.safeties(program)) == 1


@pytest.mark.parametrize("call", ["idist.backend()", "idist.device().type"])
def test_a_library_gives_a_text(rule, call: str) -> None:
    program = f"""
        import ignite.distributed.utils as idist
        from torch.utils.data import DataLoader
        loader = DataLoader(data, pin_memory={call} == "cuda")
    """
    assert rule.safeties(program) == []
