"""Programs in several files: what one of them says of another."""

from collections import Counter
from collections.abc import Mapping
from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, CheckOutcome, Options
from devfix_codemods.project.files import MOST_BYTES, Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

from .conftest import InMemory

ALL = Options(frozenset(rule.code for rule in all_rules()), unsafe=True)

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(x)
"""

TRAIN = """
    import torch
    from torch import nn
    from models import Net

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net(){moved}
    seen = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        seen += len(out)
"""

LOOP = """
    import torch
    from torch import nn
    {imports}

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2).to(device)
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        {moves}
        loss = criterion(model(x), y)
        loss.backward()
"""


def found(texts: Mapping[str, str | bytes], path: str = "train.py", *, alone: bool = False) -> list[str]:
    """The codes and lines of what is found in one file of a project."""
    files = InMemory({f"/p/{name}": text for name, text in texts.items()})
    data = files.read(f"/p/{path}")
    assert data is not None
    outcome = check(Source(f"/p/{path}", data), ALL, None if alone else Project(files))
    assert isinstance(outcome, Checked), outcome
    return [f"{one.code}:{one.span.line}" for one in outcome.findings]


def patched(texts: Mapping[str, str], path: str = "train.py") -> str:
    """One file of a project after its fixes."""
    files = InMemory({f"/p/{name}": text for name, text in texts.items()})
    data = files.read(f"/p/{path}")
    assert data is not None
    outcome = rewrite(Source(f"/p/{path}", data), ALL, project=Project(files))
    return outcome.data.decode() if isinstance(outcome, Changed) else data.decode()


READ = """
    import torch
    def predict(model, loader, device):
        model.to(device)
        for x in loader:
            from tools import {helper}
            out = {helper}(model(x.to(device)))
            yield out.detach().numpy()
"""

HELPERS = """
    import torch
    def from_gpu(x):
        from torch.cuda import is_available
        use_cuda = is_available()
        if use_cuda:
            x = x.cpu()
        return x
    def doubled(x):
        return 2 * x
"""

SILENT: dict[str, dict[str, str | bytes]] = {
    "brought to the host by another file": {"train.py": READ.format(helper="from_gpu"), "tools.py": HELPERS},
    "a model of another file that is moved": {"train.py": TRAIN.format(moved=".to(device)"), "models.py": NET},
    "a model that another file builds and moves": {
        "train.py": TRAIN.format(moved=".to(device)").replace("Net().to(device)", "build()").replace("Net", "build"),
        "models.py": NET + "\n\n    def build():\n        return Net().to('cuda')\n",
    },
    "a model that moves itself": {
        "train.py": TRAIN.format(moved=""),
        "models.py": NET.replace("self.fc = nn.Linear(4, 2)", "self.fc = nn.Linear(4, 2)\n            self.cuda()"),
    },
    **{
        f"modules that a function of another file gives together, {how}": {
            "train.py": f"""
                import torch
                from torch import nn
                from parts import build
                from run import warm_up

                other = nn.Linear(1, 1).to("cuda")

                def main():
                    {line}
                    warm_up({model})
            """,
            "parts.py": NET + "\n    def build():\n        return Net(), [1, 2]\n",
            "run.py": """
                import torch

                def warm_up(model):
                    x = torch.randn(1, 4, device="cuda")
                    return model(x)
            """,
        }
        for how, line, model in (
            ("unpacked", "model, rest = build()", "model"),
            ("kept", "parts = build()", "parts[0]"),
            ("indexed", "model = build()[0]", "model"),
        )
    },
    "a class of which nothing is known": {"train.py": TRAIN.format(moved="")},
    "a class that is bound twice": {
        "train.py": TRAIN.format(moved=""),
        "models.py": NET + "\n    Net = wrap(Net)\n",
    },
    "a helper that moves": {
        "train.py": LOOP.format(imports="from utils import to_device", moves="x, y = to_device((x, y), device)"),
        "utils.py": """
            def to_device(batch, device):
                if isinstance(batch, (tuple, list)):
                    return [to_device(one, device) for one in batch]
                return batch.to(device)
        """,
    },
    "a helper that moves each": {
        "train.py": LOOP.format(imports="from utils import put", moves="x = put(x)\n        y = put(y)"),
        "utils.py": "def put(x):\n    return x.cuda(non_blocking=True)\n",
    },
    "a loader class that moves": {
        "train.py": LOOP.format(imports="from data import Ahead", moves="pass").replace(
            "in loader", "in Ahead(loader, device)"
        ),
        "data.py": """
            class Ahead:
                def __init__(self, loader, device):
                    self.loader, self.device = loader, device

                def __iter__(self):
                    for batch in self.loader:
                        yield [one.to(self.device) for one in batch]
        """,
    },
    "a trainer of a framework, through a class of the project": {
        "train.py": """
            import torch
            from base import Base

            class Task(Base):
                def step(self, loader):
                    for x, y in loader:
                        x = x.to(self.device)
                        loss = self.criterion(self.model(x), y)
                        loss.backward()
        """,
        "base.py": "from .deeper import Module as Base\n",
        "deeper.py": "import pytorch_lightning as pl\n\nclass Module(pl.LightningModule):\n    pass\n",
    },
    "a text dataset of another file": {
        "train.py": LOOP.format(imports="from data import Pairs", moves="x = x.to(device)").replace(
            "in loader", "in torch.utils.data.DataLoader(Pairs())"
        ),
        "data.py": """
            import torch

            class Pairs(torch.utils.data.Dataset):
                def __getitem__(self, index):
                    return torch.zeros(4), "text"
        """,
    },
    "bytes that are no Python": {"train.py": TRAIN.format(moved=""), "models.py": b"\xff\xfe\x00class Net("},
}


@pytest.mark.parametrize("texts", SILENT.values(), ids=SILENT)
def test_silent(texts: dict[str, str | bytes]) -> None:
    assert found(texts) == []


def test_what_another_file_leaves_on_the_device() -> None:
    assert found({"train.py": READ.format(helper="doubled"), "tools.py": HELPERS}) == ["DVF402:8"]


def test_two_files_that_import_each_other() -> None:
    texts = {
        "train.py": "from models import Net\n" + dedent(TRAIN.format(moved="")) + "\nlast = Net.first\n",
        "models.py": "from train import last, device\n" + dedent(NET) + "\nfirst = last\nhere = device\n",
    }
    assert found(texts) == ["DVF202:12"]


def test_a_file_that_imports_itself() -> None:
    assert found({"train.py": "from train import f\nimport torch\nx = f(torch.zeros(2)).to('cuda')\n"}) == []


def test_names_that_lead_round_in_a_circle() -> None:
    texts = {
        "train.py": TRAIN.format(moved=""),
        "models.py": "from other import Net\n",
        "other.py": "from models import Net\n",
    }
    assert found(texts) == []


MODEL = {
    "beside it": {"models.py": NET},
    "in a package": {"models/__init__.py": "from .net import Net\n", "models/net.py": NET},
    "under another name": {
        "models/__init__.py": "from .net import Model as Net\n",
        "models/net.py": NET.replace("class Net", "class Model"),
    },
    "through a star": {"models/__init__.py": "from .net import *\n", "models/net.py": NET},
    "with a base in a third file": {
        "models.py": NET.replace("import nn", "import nn\n    from base import Base").replace("nn.Module", "Base"),
        "base.py": "from torch import nn\n\nclass Base(nn.Module):\n    pass\n",
    },
}


def test_modules_that_import_everything_of_each_other() -> None:
    """The ways from one to another grow as the ninth power of their number; each name of each is followed once."""
    modules = range(12)
    stars = {one: "".join(f"from .m{other} import *\n" for other in modules if other != one) for one in modules}
    texts = {f"models/m{one}.py": text for one, text in stars.items()}
    texts["models/__init__.py"] = "from .m0 import *\n"
    train = TRAIN.format(moved="")
    assert found({"train.py": train, **texts}) == []
    assert found({"train.py": train, **texts, "models/m11.py": f"{stars[11]}{dedent(NET)}"}) == ["DVF202:11"]


PLACED = "from torch import nn\n\ndef Net():\n    return nn.Linear(4, 2).cuda()\n"
BEHIND = {
    "always": "from .placed import *\n",
    "at times": "try:\n    from .placed import *\nexcept ImportError:\n    pass\n",
}


@pytest.mark.parametrize("star", BEHIND.values(), ids=BEHIND)
def test_a_star_behind_a_definition_binds_its_name_anew(star: str) -> None:
    train = TRAIN.format(moved="")
    texts = {"train.py": train, "models/__init__.py": f"{dedent(NET)}\n{star}", "models/placed.py": PLACED}
    assert found(texts) == []
    assert found({**texts, "models/__init__.py": f"{star}\n{dedent(NET)}"}) == ["DVF202:11"]
    assert found({**texts, "models/placed.py": "other = 1\n"}) == ["DVF202:11"]
    imported = {**texts, "models/__init__.py": f"from .net import Net\n{star}", "models/net.py": NET}
    assert found(imported) == []


@pytest.mark.parametrize("texts", MODEL.values(), ids=MODEL)
def test_a_model_of_another_file_that_is_never_moved(texts: dict[str, str]) -> None:
    assert found({"train.py": TRAIN.format(moved=""), **texts}) == ["DVF202:11"]
    assert "model = Net().to(device)" in patched({"train.py": TRAIN.format(moved=""), **texts})


BRANCHES = "if fast:\n    from {first} import Net\nelse:\n    from {second} import Net\n"
PLACED = NET.replace("self.fc = nn.Linear(4, 2)", "self.fc = nn.Linear(4, 2)\n            self.cuda()")


@pytest.mark.parametrize(("first", "second"), [("net", "placed"), ("placed", "net")])
def test_nothing_is_certain_of_a_name_that_branches_import_from_different_files(first: str, second: str) -> None:
    texts = {"train.py": TRAIN.format(moved=""), "net.py": NET, "placed.py": PLACED}
    assert found({**texts, "models.py": BRANCHES.format(first=first, second=second)}) == []
    assert found({**texts, "models.py": BRANCHES.format(first="net", second="net")}) == ["DVF202:11"]


def test_relative_imports() -> None:
    train = TRAIN.format(moved="").replace("from models", "from .models")
    assert found({"pkg/__init__.py": "", "pkg/train.py": train, "pkg/models.py": NET}, "pkg/train.py") == ["DVF202:11"]


def test_a_whole_module_imported() -> None:
    train = TRAIN.format(moved="").replace("from models import Net", "import models").replace("Net()", "models.Net()")
    assert found({"train.py": train, "models.py": NET}) == ["DVF202:11"]


def test_a_module_imported_from_its_package() -> None:
    train = TRAIN.format(moved="").replace("from models", "from . import models #").replace("Net()", "models.Net()")
    assert found({"pkg/__init__.py": "", "pkg/train.py": train, "pkg/models.py": NET}, "pkg/train.py") == ["DVF202:11"]


def test_a_helper_that_forgets_one() -> None:
    moves = "x, y = prepare(x, y, device)"
    texts = {
        "train.py": LOOP.format(imports="from utils import prepare", moves=moves),
        "utils.py": "def prepare(x, y, device):\n    return x.to(device), y.long()\n",
    }
    assert found(texts) == ["DVF101:11"]
    assert found(texts, alone=True) == []


def test_a_device_of_another_file() -> None:
    texts = {
        "train.py": LOOP.format(imports="from config import DEVICE as where", moves="x = x.to(where)")
        .replace('device = torch.device("cuda" if torch.cuda.is_available() else "cpu")', "")
        .replace("to(device)", "to(where)"),
        "config.py": "import torch\n\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
    }
    assert "y = y.to(where)" in patched(texts)


def test_a_dataset_of_another_file_says_what_its_items_are() -> None:
    texts = {
        "train.py": LOOP.format(imports="from data import Pairs", moves="x = x.to(device)").replace(
            "in loader", "in torch.utils.data.DataLoader(Pairs())"
        ),
        "data.py": """
            import torch

            class Pairs(torch.utils.data.Dataset):
                def __getitem__(self, index):
                    return torch.zeros(4), torch.tensor(1)
        """,
    }
    assert found(texts) == ["DVF101:11"]


def test_what_meets_in_another_file_is_told_of_a_line_of_this_one() -> None:
    texts = {
        "train.py": "import torch\nfrom utils import both\nboth(torch.zeros(2), torch.zeros(2).to('cuda'))\n",
        "utils.py": "\n\n\n\n\nimport torch\n\ndef both(a, b):\n    for x in a:\n        x.cuda()\n    return a + b\n",
    }
    assert found(texts) == ["DVF104:3"]  # where it is given what meets there


def test_the_project_outlives_an_edit() -> None:
    files = InMemory({"/p/train.py": TRAIN.format(moved=""), "/p/models.py": NET})
    project = Project(files)
    first = Source("/p/train.py", files.read("/p/train.py") or b"")
    assert isinstance(rewrite(first, ALL, project=project), Changed)
    assert isinstance(rewrite(first, ALL, project=project), Changed)


def test_what_the_answer_rests_on() -> None:
    files = InMemory({"/p/train.py": TRAIN.format(moved=""), "/p/models.py": NET, "/p/other.py": NET})
    project = Project(files)
    check(Source("/p/train.py", files.read("/p/train.py") or b""), ALL, project)
    assert project.consulted("/p/train.py") == {"/p/models.py"}


def test_what_is_too_large_for_others_is_asked_itself_what_it_rests_on() -> None:
    main = "from torch.utils.data import DataLoader\nfrom train import fit\nfit(DataLoader(range(3)))\n"
    train = dedent(TRAIN.format(moved="")) + "#" * MOST_BYTES
    files = InMemory({"/p/main.py": main, "/p/train.py": train, "/p/models.py": NET})
    project = Project(files)
    for path in ("/p/main.py", "/p/train.py"):
        data = files.read(path)
        assert data is not None
        check(Source(path, data), ALL, project)
    assert project.consulted("/p/main.py") == {"/p/train.py"}
    assert project.consulted("/p/train.py") == {"/p/main.py", "/p/models.py"}


class Counting(InMemory):
    """Files that count how often each is read."""

    def __init__(self, texts: Mapping[str, str | bytes]) -> None:
        super().__init__(texts)
        self.reads: Counter[str] = Counter()

    def read(self, path: str) -> bytes | None:
        self.reads[path] += 1
        return super().read(path)


def _checked_in_turn(room: int, helper: str = "") -> tuple[list[CheckOutcome], Counter[str]]:
    """What is found in twelve scripts, each with a model of its own and one base for all, and what is read for it."""
    scripts = {f"/p/train{number}.py": TRAIN.format(moved="").replace("models", f"m{number}") for number in range(12)}
    models = {f"/p/m{number}.py": f"import base\n{dedent(NET).replace('nn.M', 'base.M')}" for number in range(12)}
    base = f"from torch import nn\nclass Module(nn.Module):\n    pass\n{helper}"
    files = Counting({**scripts, **models, "/p/base.py": base})
    project = Project(files, room)
    outcomes = [check(Source(path, dedent(text).encode()), ALL, project) for path, text in scripts.items()]
    return outcomes, files.reads


def test_what_is_forgotten_is_read_again() -> None:
    """Room for some scripts, for less than one, or for all: the findings are the same."""
    everything, _ = _checked_in_turn(1_000_000)
    some, reads = _checked_in_turn(4_000)
    nothing, _ = _checked_in_turn(10)
    assert everything == some == nothing
    assert all(isinstance(one, Checked) and one.findings for one in everything)
    assert reads["/p/base.py"] == 1  # asked for by every script: never forgotten
    assert reads["/p/m0.py"] == 1


def test_what_takes_most_of_the_room_is_kept_if_every_file_rests_on_it() -> None:
    _, reads = _checked_in_turn(6_000, helper="#" * 3_300)
    assert reads["/p/base.py"] == 1


INHERITED = (
    "class Task(Base):\n    pass\n\nTask(torch.zeros(2)).use(torch.zeros(2).cuda())\n",
    "class Task(Base):\n    def run(self):\n        return self.use(torch.zeros(2).cuda())\n",
    "class Task(Base):\n    def run(self, where):\n        x = torch.zeros(2)\n        return self.use(x).to(where)\n",
)


@pytest.mark.parametrize("text", INHERITED)
def test_methods_that_another_file_gives(text: str) -> None:
    texts = {
        "train.py": f"import torch\nfrom base import Base\n\n{text}for x in loader:\n    x.to('cuda')\n",
        "base.py": """
            class Base:
                def __init__(self, x):
                    self.x = x

                def use(self, y):
                    return self.x + y
        """,
    }
    assert [one for one in found(texts) if not one.startswith("DVF501")] == []


def test_a_device_that_the_base_of_another_file_keeps() -> None:
    texts = {
        "base.py": """
            import torch

            class Brain:
                def __init__(self, options):
                    for name, value in options.items():
                        setattr(self, name, value)

                def fit(self, batch):
                    return self.step(batch.to(self.device))
        """,
        "train.py": """
            import torch
            from base import Brain

            class Recognizer(Brain):
                def step(self, batch):
                    return self.net(batch, torch.zeros(2).to("cuda"))
        """,
    }
    assert "torch.zeros(2).to(self.device)" in patched(texts)


def test_a_framework_that_defines_its_own_bases() -> None:
    texts = {
        "ignite/__init__.py": "",
        "ignite/metrics/__init__.py": "from ignite.metrics.metric import Metric\n",
        "ignite/metrics/metric.py": "class Metric:\n    def __init__(self, device):\n        self._device = device\n",
        "ignite/metrics/mean.py": """
            import torch
            from ignite.metrics import Metric

            class Mean(Metric):
                def reset(self):
                    self._sum = torch.tensor(0.0, device=self._device)

                def update(self, output):
                    y_pred, y = output[0].detach(), output[1].detach()
                    self._sum += y_pred.sum()
        """,
    }
    assert found(texts, "ignite/metrics/mean.py") == ["DVF205:11"]


BUILT = """
    import torch
    from common import build, device
    from torch import nn
    criterion = nn.CrossEntropyLoss().to(device)
    model = build(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in torch.utils.data.DataLoader(data):
        loss = criterion(model(x), y)
        loss.backward()
"""
BUILDS = """
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def build(classes):
    net = nn.Linear(4, classes){moved}
    return net
"""


def test_a_model_that_another_file_has_moved() -> None:
    texts = {"train.py": dedent(BUILT), "common.py": BUILDS.format(moved=".to(device)")}
    assert found(texts) == ["DVF101:9", "DVF101:9"]


@pytest.mark.parametrize("moved", ["", ".to('cpu')", ".to(device).cpu()"])
def test_a_model_that_another_file_leaves_on_the_host(moved: str) -> None:
    assert found({"train.py": dedent(BUILT), "common.py": BUILDS.format(moved=moved)}) == []


def test_a_fix_elsewhere_hides_no_conflict_with_another_file() -> None:
    main = (
        "import torch\nfrom helpers import positions\n\n\ndef run(model, x, device):\n    model = model.to(device)\n"
        "    x = x.to(device)\n    p = positions(3)\n    return torch.relu(x) + p\n\n\ndef other(x, device):\n"
        "    z = torch.zeros(3)\n    z.to(device)\n    return z\n"
    )
    helpers = "import torch\n\n\ndef positions(n):\n    return torch.arange(n)\n"
    project = Project(InMemory({"/p/main.py": main, "/p/helpers.py": helpers}))
    outcome = check(Source("/p/main.py", main.encode()), Options(frozenset({"DVF103", "DVF104"})), project)
    assert isinstance(outcome, Checked)
    assert {one.code for one in outcome.findings} == {"DVF103", "DVF104"}


FED = """
    import torch
    from models import Net
    def train(loader, device):
        net = Net().to(device)
        for batch in loader:
            net(batch).sum().backward()
"""


@pytest.mark.parametrize(("read", "moved"), [('batch["x"]', False), ("batch", True)])
def test_what_a_module_of_another_file_reads_by_keys_is_a_mapping(read: str, *, moved: bool) -> None:
    models = NET.replace("def forward(self, x)", "def forward(self, batch)").replace("(x)", f"({read})")
    assert read in models
    texts = {"train.py": FED, "models.py": models}
    assert ("batch = batch.to(device" in patched(texts)) is moved
