"""Whether code that comes to a line has surely asked for CUDA before: then it shows nothing of a machine without it."""

import ast
from collections.abc import Set
from pathlib import Path
from textwrap import dedent

import pytest
from devfix.project.import_graph import DiskFiles
from devfix.replay.harness.known_places import known_places
from devfix.replay.harness.own_files import is_of_host, loads_arrays, saves_host_copies
from devfix.replay.harness.reaching import Reached


def came_to(tmp_path: Path, text: str, nets: str) -> tuple[Reached, int]:
    """A file beside `nets.py`, and its line `here`."""
    text = dedent(text)
    (tmp_path / "nets.py").write_text(dedent(nets))
    path = tmp_path / "train.py"
    path.write_text(text)
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "here" in one)
    return Reached(str(path), ast.parse(text), DiskFiles(str(tmp_path))), line


def asks(tmp_path: Path, text: str, name: str, nets: str = "") -> bool:
    """Whether `name`, of a file beside `nets.py`, asks before it comes to its line `here`."""
    reached, line = came_to(tmp_path, text, nets)
    return reached.asks_before(name, line)


NET = """
    import torch
    class Net:
        def __init__(self, where=None):
            {body}
    def made():
        return Net()
"""
GUARDED = {
    "what is called asks behind a test": "self.w = torch.ones(3).cuda() if where else None",
    "or behind another one": "if torch.cuda.is_available():\n                self.w = torch.ones(3).cuda()",
    "or after it may have returned": "if where:\n                return\n            self.w = torch.ones(3).cuda()",
    "or never": "self.w = torch.ones(3)",
    "or in a function that it only defines": "def later():\n                torch.ones(3).cuda()",
}
LOADS = """
    from nets import {name}
    def load(path):
        net = {name}()
        return here(net, path)
"""


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_nothing_is_sure(tmp_path: Path, body: str) -> None:
    assert not asks(tmp_path, LOADS.format(name="Net"), "load", NET.format(body=body))


@pytest.mark.parametrize("name", ["Net", "made"])
def test_what_is_called_before_asks(tmp_path: Path, name: str) -> None:
    assert asks(tmp_path, LOADS.format(name=name), "load", NET.format(body="self.w = torch.ones(3).cuda()"))


def test_what_is_called_behind_the_line_does_not_count(tmp_path: Path) -> None:
    text = """
        from nets import Net
        def load(path):
            here(path)
            return Net()
    """
    assert not asks(tmp_path, text, "load", NET.format(body="self.w = torch.ones(3).cuda()"))


@pytest.mark.parametrize(
    ("line", "is_sure"),
    [
        ("kernel = torch.ones(3).cuda()", True),
        ("torch.cuda.set_device(0)", True),
        ("kernel = torch.ones(3, device='cuda')", True),
        ("device = torch.device('cuda')", False),
        ("torch.cuda.manual_seed(0)", False),
        ("if __name__ == '__main__': torch.ones(3).cuda()", False),
    ],
)
def test_what_is_imported_asks_when_it_is_loaded(tmp_path: Path, line: str, is_sure: bool) -> None:
    text = "import nets\ndef load(path):\n    return here(path)\n"
    assert asks(tmp_path, text, "load", f"import torch\n{line}\n") is is_sure


@pytest.mark.parametrize(
    ("body", "is_sure"), [("self.w = torch.ones(3).cuda()", True), ("self.w = torch.ones(3)", False)]
)
def test_the_constructor_of_its_object_asks(tmp_path: Path, body: str, is_sure: bool) -> None:
    text = f"""
        import torch
        class Loss:
            def __init__(self):
                {body}
            def forward(self, x):
                return loss(x)
            def other(self, x):
                return here(x)
    """
    assert asks(tmp_path, text, "Loss.other") is is_sure


@pytest.mark.parametrize(("calls", "is_sure"), [(["made"], True), (["made", "free"], False), ([], False)])
def test_all_who_call_it_have_asked(tmp_path: Path, calls: list[str], is_sure: bool) -> None:
    text = "import torch\ndef loss(x):\n    return here(x)\n"
    text += "class Loss:\n    def __init__(self):\n        self.w = torch.ones(3).cuda()\n"
    text += "    def forward(self, x):\n        return loss(x)\n" if "made" in calls else ""
    text += "def free(x):\n    return loss(x)\n" if "free" in calls else ""
    assert asks(tmp_path, text, "loss") is is_sure


def test_files_that_import_each_other_end(tmp_path: Path) -> None:
    assert not asks(tmp_path, "import nets\ndef load(path):\n    return here(path)\n", "load", "import train\n")


@pytest.mark.parametrize(
    ("saved", "is_host"),
    [
        ("x", False),
        ("net.state_dict()", False),
        ("{'x': x}", False),
        ("x.cpu()", True),
        ("x.detach().cpu().clone()", True),
        ("{'x': x.cpu(), 'step': 3}", True),
        ("kept", True),
    ],
)
def test_what_is_copied_to_the_host_is_saved_there(saved: str, is_host: bool) -> None:
    tree = ast.parse(f"import torch\ndef save(x, net, path):\n    kept = x.cpu()\n    torch.save({saved}, path)\n")
    assert saves_host_copies(tree) is is_host


def test_a_file_that_saves_nothing_says_nothing() -> None:
    assert not saves_host_copies(ast.parse("import torch\ndef load(path):\n    return torch.load(path)\n"))


@pytest.mark.parametrize(
    ("read", "is_array"),
    [
        ("np.array(found)", True),
        ("ids, rows = found\n    np.save(path, rows)", True),
        ("rows = torch.from_numpy(found['rows'])", True),
        ("rows = torch.as_tensor(found['rows'])", False),
        ("for row in found['rows']:\n        np.sum(row)", True),
        ("rows = []\n    rows.append(found['x'][0])\n    np.array(rows)", True),
        ("(found['x'][3] * 255).permute(1, 2, 0).numpy().astype('uint8')", True),
        ("rows = found['x']\n    (1 - rows.detach()).numpy()", True),
        ("(found['x'] * 255).cpu().numpy()", False),
        ("found.to('cpu').float().numpy()", False),
        ("net(found).numpy()", False),
        ("net.feed(found).numpy()", False),
        ("np.array(found.cpu())", False),
        ("np.array(other)", False),
        ("net.load_state_dict(found)", False),
    ],
)
def test_what_is_given_to_numpy_was_saved_on_the_host(read: str, is_array: bool) -> None:
    text = f"import numpy as np\nimport torch\ndef load(path, net, other):\n    found = torch.load(path)\n    {read}\n"
    assert loads_arrays(ast.parse(text), "load", 4) is is_array


@pytest.mark.parametrize(
    ("given", "on_host", "on_device"),
    [
        ("y.detach().cpu()[0]", {"logits"}, set()),
        ("y", set(), set()),
        ("x.float()", set(), set()),
        ("x.view(2).new_zeros(3, device=where)", set(), {"logits"}),
        ("y.cuda()", set(), {"logits"}),
    ],
)
def test_what_callers_in_other_files_give_is_where_these_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, on_host: set[str], on_device: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results.py"
    path.write_text("class Result:\n    def __init__(self, logits):\n        self.logits = logits.numpy()\n")
    text = f"from results import Result\ndef step(net, x):\n    y = net.cuda()(x.cuda())\n    return Result({given})\n"
    (tmp_path / "module.py").write_text(text)
    with known_places(path, path.read_bytes()) as known:
        assert known.on_host("Result.__init__", 0) == on_host
        assert known.on_device("Result.__init__", 0) == on_device


@pytest.mark.parametrize(
    ("before", "path", "is_own"),
    [
        ("trainer = Trainer(net, folder=out)", "f'{out}/{name}'", True),
        ("fit(net, out)\n    path = os.path.join(out, 'best.pt')", "path", True),
        ("fit(net, out)", "out + '/best.pt'", True),
        ("os.makedirs(out); print(out); rows = os.listdir(out)", "f'{out}/{name}'", False),
        ("fit(net, out)", "f'{other}/{name}'", False),
        ("fit(net, name)", "f'{out}/{name}'", False),
        ("rows = ImageDataset(out)", "f'{out}/{name}'", False),
        ("pass", "f'{out}/{name}'", False),
        ("fit(net, out)", "out", False),
    ],
)
def test_what_is_loaded_from_a_folder_that_was_given_away(before: str, path: str, is_own: bool) -> None:
    text = f"def run(net, out, other, name):\n    {before}\n    net.load_state_dict(torch.load({path}))\n    end(out)\n"
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "torch.load" in one)
    assert is_of_host(ast.parse(text), "run", line) is is_own


LOADING = (
    "import os\nimport torch\nHERE = 'serving'\ndef load():\n    return torch.load(os.path.join(HERE, 'facts.pt'))\n"
)


@pytest.mark.parametrize(
    ("writer", "is_own"),
    [
        ("facts = {'names': read()}\ntorch.save(facts, 'serving/facts.pt')", True),
        ("path = os.path.join(OUT, 'facts.pt')\ntorch.save({'names': rows}, path)", True),
        ("torch.save(net.state_dict(), 'serving/facts.pt')", False),
        ("facts = {'net': net.state_dict()}\ntorch.save(facts, 'facts.pt')", False),
        ("net.cuda()\ntorch.save(net, 'facts.pt')", False),
        ("rows = rows.to(device)\ntorch.save(rows, 'facts.pt')", False),
        ("net = Net()\ntorch.save(net.state_dict(), 'facts.pt')", True),
        ("net = Net()\nfit(net)\ntorch.save(net.state_dict(), 'facts.pt')", False),
        ("def keep(net):\n    net = net.eval()\n    torch.save(net.state_dict(), 'facts.pt')", False),
        ("net = Net()\nx = x.to(device)\ntorch.save(net.state_dict(), 'facts.pt')", False),
        ("torch.save({'names': rows}, 'other.pt')", False),
        ("print('facts.pt')", False),
    ],
)
def test_what_another_file_saves_under_the_same_name(writer: str, is_own: bool) -> None:
    asked: list[Set[str]] = []

    def writers(names: Set[str]) -> list[ast.Module]:
        asked.append(names)
        return [ast.parse(writer)]

    assert is_of_host(ast.parse(LOADING), "load", 5, writers) is is_own
    assert asked == [{"facts.pt"}]


@pytest.mark.parametrize(
    ("saved", "moved", "is_own"),
    [("self", "pass", True), ("self.net.state_dict()", "pass", False), ("self", "self.net.cuda()", False)],
)
def test_what_a_class_loads_that_saves_itself(saved: str, moved: str, is_own: bool) -> None:
    text = f"""
import torch
class Fit:
    def fit(self):
        {moved}
    @classmethod
    def load(cls, path):
        return torch.load(path)
    def save(self, path):
        torch.save({saved}, path)
"""
    assert is_of_host(ast.parse(text), "Fit.load", 8) is is_own


def asks_after(tmp_path: Path, text: str, name: str, nets: str = "") -> bool:
    """Whether `name`, of a file beside `nets.py`, asks once it has got over its line `here`."""
    reached, line = came_to(tmp_path, text, nets)
    return reached.asks_after(name, line)


BEHIND = """
    import torch
    from nets import Net, run

    def main(path, args):
        {before}
        if args.resume:
            state = torch.load(path)  # here
            {inside}
        else:
            other().cuda()
        {behind}

    def other():
        return Net()
"""
RUN = """
    import torch
    def run(net):
        print(torch.cuda.get_device_name(0))
    class Net(torch.nn.Module):
        pass
"""


@pytest.mark.parametrize(
    ("inside", "behind"),
    [
        ("Net().cuda()", "pass"),
        ("pass", "run(Net())"),
        ("print(state)", "net = Net()\n        net.cuda()"),
        ("pass", "with open(path):\n            run(Net())"),
    ],
)
def test_what_surely_asks_behind(tmp_path: Path, inside: str, behind: str) -> None:
    assert asks_after(tmp_path, BEHIND.format(before="pass", inside=inside, behind=behind), "main", RUN)


@pytest.mark.parametrize(
    ("before", "inside", "behind"),
    [
        ("Net().cuda()", "pass", "pass"),
        ("pass", "return state", "run(Net())"),
        ("pass", "pass", "if args.cuda:\n            run(Net())"),
        ("pass", "pass", "if args.done:\n            return\n        run(Net())"),
        ("pass", "pass", "args.cuda and run(Net())"),
        ("pass", "pass", "print(run)"),
        ("pass", "pass", "def later():\n            run(Net())"),
    ],
)
def test_what_may_ask_behind(tmp_path: Path, before: str, inside: str, behind: str) -> None:
    assert not asks_after(tmp_path, BEHIND.format(before=before, inside=inside, behind=behind), "main", RUN)


@pytest.mark.parametrize(
    ("used", "is_rows"),
    [
        ("train = found['train']\n    return torch.utils.data.DataLoader(train, batch_size=4)", True),
        ("rows = found['train']\n    names = rows.names\n    print(len(names))", True),
        ("for one in found:\n        print(one)", True),
        ("return torch.utils.data.DataLoader(dataset=found['train'])", True),
        ("rows = found['test']\n    rows.augment = False\n    return DataLoader(rows), rows", True),
        ("return found", False),
        ("net.load_state_dict(found['net'])", False),
        ("state = found['net']\n    net.load_state_dict(state)", False),
        ("found.eval()", False),
        ("restore(net, found)", False),
        ("net.weights = found['weights']", False),
        ("return found['a'] + 1", False),
        ("return {'a': found['a']}", False),
        ("pass", False),
    ],
)
def test_what_is_used_as_rows_of_data(used: str, is_rows: bool) -> None:
    text = f"import torch\ndef load(path, net):\n    found = torch.load(path)\n    {used}\n"
    assert is_of_host(ast.parse(text), "load", 3) is is_rows


@pytest.mark.parametrize(
    ("move", "expected"),
    [("net.cpu()", True), ("net.to('cpu')", True), ('net = net.to("cpu")', True), ("net.cuda()", False), ("", False)],
)
def test_a_module_that_is_brought_to_the_host_before_its_state_is_saved(move: str, expected: bool) -> None:
    tree = ast.parse(
        f"import torch\ndef save(net, path):\n    {move or 'pass'}\n    torch.save(net.state_dict(), path)\n"
    )
    assert saves_host_copies(tree) is expected


NAMED = """
    import torch
    from nets import Net
    {before}
    def load(path, options):
        {bound}
        net = Net().to({device})
        return here(net, path)
"""


@pytest.mark.parametrize(
    ("before", "bound", "device"),
    [
        ("device = 'cuda' if torch.cuda.is_available() else 'cpu'", "pass", "device"),
        ("device = 'cuda'", "device = options.device", "device"),
        ("device = 'cuda'", "for device in options: pass", "device"),
        ("def other(device):\n        device = 'cuda'", "pass", "device"),
        ("device = 'cpu'", "pass", "device"),
        ("try:\n        from conf import device\n    except ImportError:\n        device = 'cuda'", "pass", "device"),
        (
            "class A:\n        def f(self):\n            options.device: str = 'cpu'",
            "options.device = 'cuda'",
            "options.device",
        ),
        ("device = 'cuda'", "print.to_log(device)", "'cpu'"),
    ],
)
def test_a_device_that_may_be_the_host(tmp_path: Path, before: str, bound: str, device: str) -> None:
    text = NAMED.format(before=before, bound=bound, device=device)
    assert not asks(tmp_path, text, "load", "class Net:\n    pass\n")


@pytest.mark.parametrize(
    ("before", "bound", "device"),
    [
        ("device = 'cuda'", "pass", "device"),
        ("device = torch.device('cuda:1')", "pass", "device"),
        ("pass", "options.device = 'cuda'", "options.device"),
    ],
)
def test_a_device_that_is_cuda_wherever_it_is_bound(tmp_path: Path, before: str, bound: str, device: str) -> None:
    text = NAMED.format(before=before, bound=bound, device=device)
    assert asks(tmp_path, text, "load", "class Net:\n    pass\n")
