"""DVF401: loads that leave the place to the file."""

from pathlib import Path
from textwrap import dedent

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF401"

SILENT = {
    "a model with a place on a branch that a device's name tells": """
        import torch
        def fill(path, args):
            if args.where == "cuda":
                model = torch.load(path)
            else:
                model = torch.load(path, map_location="cpu")
            return model
    """,
    "what is merged with states that stay where they were saved": """
        import torch
        from tools import merge
        def soup(model, paths):
            for i, path in enumerate(paths):
                if i == 0:
                    whole = torch.load(path)
                else:
                    state = torch.load(path)
                    whole = merge([whole, state], [i, 1])
                    model.load_state_dict(whole)
            return model
    """,
    "a place by keyword, by position, by somebody else": """
        import torch
        def load(path, **options):
            a = torch.load(path, map_location="cpu")
            b = torch.load(path, None)
            c = torch.load(path, **options)
            model.load_state_dict(a)
    """,
    "a place that options get later": """
        import torch
        def load(model, path, use_gpu):
            options = {}
            if not use_gpu:
                options["map_location"] = "cpu"
            model.load_state_dict(torch.load(path, **options))
    """,
    "other loaders": """
        import json, pickle
        import numpy as np
        import torch
        from safetensors.torch import load
        model.load_state_dict(load(open("w", "rb").read()))
        model.load_state_dict(pickle.load(open("w", "rb")))
        weights = np.load("w.npy")
        options = json.load(open("o"))
    """,
    "a function of that name": """
        import torch
        def load(path):
            return path
        model.load_state_dict(load("w.pt"))
    """,
    "the file saves it from the host": """
        import os
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def features(model, batches):
            found = torch.cat([model(one.to(device)) for one in batches])
            torch.save(found.detach().cpu(), os.path.join("out", "features.pt"))
            return found
        def main(model, batches):
            path = os.path.join("out", "features.pt")
            found = torch.load(path) if os.path.exists(path) else features(model, batches)
            return found
    """,
    "on a branch that asks for the machine": """
        import torch
        def load(path, use_cuda):
            if torch.cuda.is_available():
                state = torch.load(path)
            else:
                state = torch.load(path, map_location="cpu")
            other = torch.load(path) if use_cuda else torch.load(path, map_location="cpu")
            model.load_state_dict(state)
            model.load_state_dict(other)
    """,
    "tried with a place and without one": """
        import torch
        def load(model, path):
            try:
                state = torch.load(path)
            except RuntimeError:
                state = torch.load(path, map_location="cpu")
            model.load_state_dict(state)
        def load_elsewhere(model, path):
            try:
                model.load_state_dict(torch.load(path, map_location="cpu"))
            except:
                model.load_state_dict(torch.load(path))
    """,
    "options that may say a place": """
        import torch
        def fill(model, path, place):
            options = {"map_location": place} if place else {}
            model.load_state_dict(torch.load(path, **options))
    """,
    "saved before, through the same name of a file": """
        import torch
        def best(model, path):
            with open(path, "wb") as f:
                torch.save(model, f)
            with open(path, "rb") as f:
                model = torch.load(f)
            return model
    """,
    "a model with a place on the other branch": """
        import torch
        def fill(path, quick):
            if quick:
                model = torch.load(path)
            else:
                model = torch.load(path, map_location="cpu")
            return model
    """,
    "numbers": """
        import torch
        def resume(folder):
            scheduler.load_state_dict(torch.load(folder / "scheduler.pt"))
            self.lr_scheduler.load_state_dict(torch.load(folder / "lr.pt"))
            scaler.load_state_dict(torch.load(folder / "scaler.pt"))
    """,
    "states of random generators stay on the host": """
        import torch
        def restore(path, device):
            states = torch.load(path)
            torch.set_rng_state(states["rng_state"])
            rng_state = torch.load(path)
            torch.set_rng_state(rng_state)
    """,
    "what was saved into memory a moment ago": """
        import io, torch
        def copy(value, device):
            memory = io.BytesIO()
            torch.save(value, memory)
            memory.seek(0)
            return torch.load(memory)
        def receive(buffer, device):
            return torch.load(buffer)
    """,
    "data of a dataset": """
        import torch
        from torch_geometric.data import InMemoryDataset
        class Molecules(InMemoryDataset):
            def __init__(self, device):
                self.device = device
                self.data, self.slices = torch.load(self.processed_paths[0])
    """,
    "what lies beside a checkpoint": """
        import torch
        def load_checkpoint(folder):
            metadata = torch.load(folder / "meta.pt")
            return metadata
    """,
    "values of which nothing is known": """
        import torch
        def read(path):
            return torch.load(path)
        class Curve:
            def load(self, path):
                data = torch.load(path)
                self.losses = data["losses"]
                self.epoch = data["epoch"]
    """,
    "only plain entries": """
        import torch
        def epoch_of(path):
            return torch.load(path)["epoch"]
    """,
    "the class itself keeps the state": """
        import torch
        class Sampler:
            def load_state_dict(self, state):
                self.state = state
            def loads(self, path):
                self.load_state_dict(torch.load(path))
    """,
    "a model of transformers may be on no device yet": """
        import torch
        from transformers import PreTrainedModel
        class Talker(PreTrainedModel):
            def load_speakers(self, path):
                self.speakers = torch.load(path)
    """,
    "entries of a caller's object": """
        import torch
        def load_metadata(path, state):
            metadata = torch.load(path)
            for key in metadata:
                state[key] = metadata.pop(key)
    """,
}


DEFAULTS = {
    "only compared": """
        def patch(model, folder, device="cuda"):
            place = "auto" if device == "cuda" else None
            for name, parameter in model.named_parameters():
                data = torch.load(folder / name)
                parameter.data.add_(unpack(data["rows"], data["values"]).to(parameter.device))
    """,
    "a map of devices": """
        def build(folder, device: str):
            net = Net.from_pretrained(folder, device_map=device if device != "cpu" else None)
            return net, unpack(torch.load(folder / "rows"))
    """,
    "used where CUDA is": """
        def run(net, folder, device=torch.device("cuda")):
            rows = torch.load(folder / "rows")
            if torch.cuda.is_available():
                net = net.to(device)
            return net, unpack(rows)
    """,
    "kept": """
        class Rows:
            def __init__(self, device="cuda:0"):
                self.device = device
            def read(self, folder):
                self.rows = torch.load(folder / "rows")
    """,
}


@pytest.mark.parametrize("program", DEFAULTS.values(), ids=DEFAULTS)
def test_cuda_by_default_that_nothing_needs_is_no_place(rule, program: str) -> None:
    assert rule.findings("import torch\nfrom tools import Net, unpack\n" + dedent(program)) == ()


@pytest.mark.parametrize("move", ["net.to(device)", "net.to(torch.device(device))", "Net(device=device)"])
def test_cuda_by_default_that_is_needed_anyway_is_one(rule, move: str) -> None:
    program = f"""
        import torch
        from tools import Net, unpack
        def run(net, folder, device="cuda"):
            place = device
            net = {move.replace("device(device)", "device(place)")}
            return net, unpack(torch.load(folder / "rows"))
    """
    assert rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program):
    assert rule.findings(program) == ()


@pytest.mark.parametrize("path", ["tests/test_model.py", "pkg/testing/util.py", "test_load.py", "conftest.py"])
def test_tests_are_left_alone(path):
    source = Source(path, b"import torch\nmodel.load_state_dict(torch.load('w.pt'))\n")
    assert check(source, Options(frozenset({CODE}))) == Checked(())


SAFE = {
    "on the spot": (
        "model.load_state_dict(torch.load(path))",
        'model.load_state_dict(torch.load(path, map_location="cpu"))',
    ),
    "the file's quotes": (
        "model.load_state_dict(torch.load('w.pt')['state_dict'])",
        "model.load_state_dict(torch.load('w.pt', map_location='cpu')['state_dict'])",
    ),
    "after the other keywords": (
        """
        state = torch.load(path, weights_only=True)
        self.net.load_state_dict(state, strict=False)
        """,
        """
        state = torch.load(path, weights_only=True, map_location="cpu")
        self.net.load_state_dict(state, strict=False)
        """,
    ),
    "with entries that hold no tensors": (
        """
        checkpoint = torch.load(path)
        print(f"epoch {checkpoint['epoch']}")
        start = checkpoint["epoch"] + 1
        model = Net(**checkpoint["args"])
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        """,
        """
        checkpoint = torch.load(path, map_location="cpu")
        print(f"epoch {checkpoint['epoch']}")
        start = checkpoint["epoch"] + 1
        model = Net(**checkpoint["args"])
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        """,
    ),
    "keys renamed in a loop": (
        """
        state = torch.load(path)
        if "state_dict" in state:
            state = state["state_dict"]
        renamed = {}
        for key, value in state.items():
            renamed[key[7:] if key.startswith("module.") else key] = value
        model.load_state_dict(renamed)
        """,
        """
        state = torch.load(path, map_location="cpu")
        if "state_dict" in state:
            state = state["state_dict"]
        renamed = {}
        for key, value in state.items():
            renamed[key[7:] if key.startswith("module.") else key] = value
        model.load_state_dict(renamed)
        """,
    ),
    "chosen by shape": (
        """
        own = model.state_dict()
        given = torch.load(path)
        given = {k: v for k, v in given.items() if k in own and v.shape == own[k].shape}
        own.update(given)
        model.load_state_dict(own)
        """,
        """
        own = model.state_dict()
        given = torch.load(path, map_location="cpu")
        given = {k: v for k, v in given.items() if k in own and v.shape == own[k].shape}
        own.update(given)
        model.load_state_dict(own)
        """,
    ),
    "with options that say no place": (
        """
        options = {"weights_only": True} if torch.__version__ >= "1.13" else {}
        model.load_state_dict(torch.load(path, **options))
        """,
        """
        options = {"weights_only": True} if torch.__version__ >= "1.13" else {}
        model.load_state_dict(torch.load(path, **options, map_location="cpu"))
        """,
    ),
    "the same file, with a place, elsewhere": (
        """
        def fill(model, other, path):
            if model is not None:
                model.load_state_dict(torch.load(path))
            if other is not None:
                other.load_state_dict(torch.load(path, map_location="cpu"))
        """,
        """
        def fill(model, other, path):
            if model is not None:
                model.load_state_dict(torch.load(path, map_location="cpu"))
            if other is not None:
                other.load_state_dict(torch.load(path, map_location="cpu"))
        """,
    ),
    "a number beside the tensors": (
        """
        steps = 0
        if path is not None:
            state, steps = torch.load(path)
            model.load_state_dict(state)
        """,
        """
        steps = 0
        if path is not None:
            state, steps = torch.load(path, map_location="cpu")
            model.load_state_dict(state)
        """,
    ),
    "moved to a card by its number": (
        "x = torch.load(path).to(args.gpu)",
        'x = torch.load(path, map_location="cpu").to(args.gpu)',
    ),
    "only the options are read": (
        'options = torch.load(path)["hyper_parameters"]',
        'options = torch.load(path, map_location="cpu")["hyper_parameters"]',
    ),
    "moved on the spot": (
        'device = torch.device("cuda")\nx = torch.load(path).to(device)',
        'device = torch.device("cuda")\nx = torch.load(path, map_location=device).to(device)',
    ),
    "moved to something that is no name": (
        "x = torch.load(path).to(places[0])\n",
        'x = torch.load(path, map_location="cpu").to(places[0])\n',
    ),
}


@pytest.mark.parametrize(
    ("use", "safety"),
    [
        ("return net(x.cuda())", Safety.UNSAFE),
        ("return [net(one.cuda()) for one in x], net.eval()", Safety.UNSAFE),
        ("return list(net.parameters())", Safety.UNSAFE),
        ("return net + x.cuda()", Safety.SAFE),
        ("return net", Safety.SAFE),
    ],
)
def test_a_model_may_keep_tensors_that_no_move_takes_along(rule, use: str, safety: Safety) -> None:
    program = f"import torch\ndef f(path, x):\n    net = torch.load(path).cuda()\n    {use}\n"
    assert rule.safeties(program) == [safety]


@pytest.mark.parametrize(("program", "repaired"), SAFE.values(), ids=SAFE)
def test_where_the_place_cannot_matter(rule, program, repaired):
    before, after = (_file(text) for text in (program, repaired))
    assert rule.safeties(before) == [Safety.SAFE]
    assert rule.fixed(before) == after


def _file(text):
    return f"import torch\n{dedent(text)}"


@pytest.mark.parametrize(
    ("loader", "call"),
    [
        ("import torch as th", "th.load(path"),
        ("from torch import load", "load(path"),
        ("import torch.utils.model_zoo as model_zoo", "model_zoo.load_url(url, progress=False"),
        ("from torch.hub import load_state_dict_from_url", "load_state_dict_from_url(url"),
        ("import torch", "torch.hub.load_state_dict_from_url(url, folder"),
        ("import torch", "torch.serialization.load(path"),
        ("from torchvision.models.utils import load_state_dict_from_url", "load_state_dict_from_url(url"),
    ],
)
def test_all_that_loads(rule, loader, call):
    program = f"{loader}\nmodel.load_state_dict({call}))\n"
    assert rule.fixed(program) == program.replace("))", ', map_location="cpu"))')


def test_through_functions_of_the_file(rule):
    program = """
        import torch
        def strip(state):
            return {k.replace("module.", ""): v for k, v in state.items()}
        def restore(model, weights):
            model.load_state_dict(weights)
        def load(model, path):
            state = torch.load(path)
            restore(model, strip(state))
    """
    assert rule.safeties(program) == [Safety.SAFE]


def test_a_parameter_that_was_never_used(rule):
    program = """
        import torch
        def load(path, map_location=None):
            return torch.load(path)
    """
    assert rule.safeties(program) == [Safety.SAFE]
    assert "torch.load(path, map_location=map_location)" in rule.fixed(program)


def test_a_parameter_that_another_load_uses(rule):
    program = """
        import torch
        def load(path, map_location=None):
            try:
                return torch.load(path, map_location=map_location)
            except OSError:
                return torch.load(path + ".bak")
    """
    assert 'path + ".bak", map_location=map_location' in rule.unchanged_unless_unsafe(program)


UNSAFE = {
    "a model with a place on a branch that a text tells": (
        """
        import torch
        def fill(weights_path, args):
            if args.data == "birds":
                model = torch.load(weights_path)
            elif "old" in args.name:
                model = torch.load(weights_path, map_location="cpu")
            if args.use_cuda:
                model.cuda()
            run(model)
        """,
        'model = torch.load(weights_path, map_location="cpu")\n    elif',
    ),
    "assigned, not copied": (
        "def load(self, path):\n    self.load_state_dict(torch.load(path), assign=True)",
        'map_location="cpu"',
    ),
    "an average keeps what it is given": ("ema.load_state_dict(torch.load(path))", 'map_location="cpu"'),
    "parts are used otherwise": (
        "state = torch.load(path)\nmodel.load_state_dict(state['model'])\nreturned = other(state['memory'])",
        "map_location='cpu'",
    ),
    "compared with what is loaded to the host as well": (
        """
        def same(path, checkpoint):
            saved = torch.load(checkpoint)
            other = torch.load(path, map_location="cpu")
            return all(torch.equal(saved[key], other[key]) for key in saved)
        """,
        'torch.load(checkpoint, map_location="cpu")',
    ),
    "compared with a module that is built here, on the host": (
        """
        def same(checkpoint):
            model = Net()
            saved = torch.load(checkpoint)
            own = model.state_dict()
            return all((own[key] == saved[key]).all() for key in own)
        """,
        'map_location="cpu"',
    ),
    "joined with its own parts, and what is made on the host": (
        """
        def resize(checkpoint, size):
            state = torch.load(checkpoint)
            table = state["positions"]
            grid = torch.nn.functional.interpolate(table[1:], size)
            state["positions"] = torch.cat([table[:1], grid, torch.zeros(3)])
            return state
        """,
        'map_location="cpu"',
    ),
    "a function that says what it loads": ("def load_checkpoint(path):\n    return torch.load(path)", 'location="cpu"'),
    "a path that says so": ("def read(ckpt_path):\n    return torch.load(ckpt_path)", 'location="cpu"'),
    "an index of a device is none": (
        """
        def verify(path, model, index: int | None = None):
            device = index if index else 0
            target = torch.device(f"cuda:{device}")
            loaded = torch.jit.load(path)
            compare(model.to(target), loaded, device=device)
        """,
        "map_location=target",
    ),
    "a device that the function does not use, and tensors that are made on the host": (
        """
        class Speaker:
            def __init__(self, device):
                self.device = torch.device(device)
            def move(self, x):
                return x.to(self.device)
            def sample(self, path):
                mixture = torch.load(path)
                means, spreads = mixture["means"], mixture["spreads"]
                x = torch.empty(0)
                for k in range(8):
                    x = torch.cat((x, torch.normal(means[k], spreads[k])))
                return x
        """,
        'map_location="cpu"',
    ),
    "an optimizer that is kept as it is loaded, with its state": (
        """
        def resume(path, device):
            checkpoint = torch.load(path)
            model, optimizer = checkpoint["model"], checkpoint["optimizer"]
            model = model.to(device)
            train(model, optimizer)
        def train(model, optimizer):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
        """,
        "map_location=device",
    ),
    "the state of an optimizer, which is copied into it": (
        """
        def resume(path, device):
            checkpoint = torch.load(path)
            model = checkpoint["model"].to(device)
            optimizer = make(model.parameters())
            optimizer.load_state_dict(checkpoint["optimizer"])
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
        """,
        'map_location="cpu"',
    ),
    "a device at hand": ("def load(path, device):\n    return torch.load(path)", "map_location=device"),
    "a class that knows its device": (
        """
        class Index:
            def __init__(self, device):
                self.device = device
            def load(self, path):
                self.table = torch.load(path)
        """,
        "map_location=self.device",
    ),
    "only written into another checkpoint": (
        """
        class Loop:
            def __init__(self, device):
                self.device = device
            def save(self, path, best_path):
                best = torch.load(best_path) if best_path is not None else None
                torch.save({"model": self.model.state_dict(), "random": torch.get_rng_state(), "best": best}, path)
        """,
        'map_location="cpu"',
    ),
    "the worker of a loader": (
        """
        from torch.utils.data import Dataset
        class Features(Dataset):
            def __getitem__(self, i):
                return torch.load(self.paths[i])
        """,
        'map_location="cpu"',
    ),
    "a whole model where nothing has a device": (
        "policy, mean = torch.load(path)\naction = policy(torch.zeros(4) - mean)",
        'map_location="cpu"',
    ),
}


@pytest.mark.parametrize(("program", "wanted"), UNSAFE.values(), ids=UNSAFE)
def test_a_choice(rule, program, wanted):
    assert wanted in rule.unchanged_unless_unsafe(_file(program))


@pytest.mark.parametrize(("hook", "edited"), [("setup", False), ("on_train_start", True)])
def test_before_lightning_has_moved_a_module_its_device_is_the_host(rule, hook: str, edited: bool) -> None:
    program = f"""
        import torch
        import pytorch_lightning as pl
        class Swav(pl.LightningModule):
            def {hook}(self, stage=None):
                self.queue = torch.load(self.path)["queue"]
            def training_step(self, batch, index):
                return torch.mm(self.queue, self.prototypes(batch.to(self.device)))
    """
    assert any(rule.safeties(program)) is edited


@pytest.mark.parametrize(("hook", "edited"), [("setup", False), ("__init__", False), ("on_train_start", True)])
def test_nor_is_it_elsewhere_in_what_only_its_early_hooks_call(rule, hook: str, edited: bool) -> None:
    program = f"""
        import torch
        import pytorch_lightning as pl
        class Swav(pl.LightningModule):
            def setup(self, stage=None):
                self.prepare()
            def {hook}(self, stage=None):
                self.prepare()
            def prepare(self):
                self.load_queue()
            def load_queue(self):
                self.queue = torch.load(self.path)["queue"]
            def training_step(self, batch, index):
                return torch.mm(self.queue, self.prototypes(batch.to(self.device)))
    """
    assert any(rule.safeties(program)) is edited


def test_advice_for_a_whole_model(rule):
    finding = rule.finding("""
        import torch
        model = torch.load(path)
        print(model(batch.cuda()))
    """)
    assert finding.fix is None
    assert finding.advice == "pass `map_location=`: say where the model should live"


@pytest.mark.parametrize(
    "use",
    ["state['steps']", "state.items()", "state.eval", "print(state)", "state = state[0]\n    state.eval()"],
)
def test_what_is_loaded_and_no_model(rule, use: str) -> None:
    assert (
        rule.findings(f"import torch\ndef f(path):\n    state = torch.load(path)\n    {use}\n    return state\n") == ()
    )


@pytest.mark.parametrize("name", ["load_index", "load_model_options", "models_of"])
def test_what_gives_no_model(rule, name: str) -> None:
    assert rule.findings(f"import torch\ndef {name}(path):\n    return torch.load(path)\n") == ()


@pytest.mark.parametrize(
    "function",
    [
        "f(path):\n    whole = torch.load(path)\n    whole.eval()\n    return whole",
        "f(path, x):\n    whole = torch.load(path)\n    return whole(x)",
        "f(path):\n    whole = torch.load(path)\n    return list(whole.children())",
        "f(path):\n    world_module = torch.load(path)\n    return scan(world_module)",
        "load_model(path):\n    return torch.load(path)",
    ],
)
def test_advice_for_a_whole_model_by_its_use(rule, function: str) -> None:
    finding = rule.finding(f"import torch\ndef {function}\n\ncuda = torch.cuda.is_available()\n")
    assert finding.fix is None
    assert finding.advice == "pass `map_location=`: say where the model should live"


def test_advice_for_a_whole_model_that_others_run(rule):
    finding = rule.finding("""
        import torch
        def load(folder, layer=None):
            model = torch.load(folder / "model.pt")
            if layer is not None:
                model = Cut(model, layer)
            return model
    """)
    assert finding.fix is None
    assert finding.advice == "pass `map_location=`: say where the model should live"


@pytest.mark.parametrize(
    "use",
    [
        "agent = torch.load(path).player()\n    watch(agent, env)",
        "model = torch.load(path)\n    return score(model=model, rows=rows)",
    ],
)
def test_advice_for_a_whole_model_that_other_code_is_given(rule, use: str) -> None:
    finding = rule.finding(f"import torch\ndef f(path, env, rows):\n    {use}\n")
    assert finding.fix is None
    assert finding.advice == "pass `map_location=`: say where the model should live"


@pytest.mark.parametrize(
    "use", ["print(model, list(model.children()))", "torch.jit.freeze(model.eval())", "print(model(torch.zeros(3)))"]
)
def test_a_whole_model_that_stays_here_goes_to_the_host(rule, use: str) -> None:
    program = f"import torch\ndef f(path):\n    model = torch.load(path)\n    {use}\n"
    assert 'torch.load(path, map_location="cpu")' in rule.unchanged_unless_unsafe(program)


def test_advice_where_a_tensor_of_the_checkpoint_is_kept(rule):
    finding = rule.finding("""
        import torch
        def resume(path, gpu):
            checkpoint = torch.load(path)
            best_accuracy = checkpoint["best_accuracy"]
            if gpu is not None:
                best_accuracy = best_accuracy.to(gpu)
            model.load_state_dict(checkpoint["state_dict"])
            return best_accuracy
    """)
    assert finding.fix is None


def test_advice_where_the_model_keeps_a_part(rule):
    finding = rule.finding("""
        import torch
        def restore(path):
            checkpoint = torch.load(path)
            model = build(checkpoint["config"]).to(checkpoint["config"]["place"])
            model.load_state_dict(checkpoint["state_dict"])
            model.load_cached(checkpoint.get("cached"))
            return model
    """)
    assert finding.fix is None


MET = {
    "one by one": """
        current = model.state_dict()
        for key in current:
            assert torch.equal(current[key], saved[key])
    """,
    "in pairs": """
        for (key, value), (_, other) in zip(model.state_dict().items(), saved.items()):
            assert (value == other).all()
    """,
    "a difference": """
        base = model.state_dict()
        changes = {key: base[key] - saved[key] for key in base}
    """,
    "added in place": """
        for name, parameter in model.named_parameters():
            parameter.data += saved[name]
    """,
    "a check of what was copied": """
        model.load_state_dict(saved)
        assert all(torch.allclose(value, saved[key]) for key, value in model.state_dict().items())
    """,
    "in a function": """
        def same(one, other):
            return all(one[key].equal(other[key]) for key in one)
        assert same(model.state_dict(), saved)
    """,
    "with a tensor of the model": """
        saved["embed"] = torch.cat([saved["embed"], model.embed])
        model.load_state_dict(saved)
    """,
}


@pytest.mark.parametrize("uses", MET.values(), ids=MET)
def test_what_meets_the_tensors_of_a_model_must_be_where_that_is(rule, uses: str) -> None:
    load = "import torch\nfrom nets import model\nsaved = torch.load(checkpoint)\n"
    finding = rule.finding(load + dedent(uses))
    assert finding.fix is None
    assert finding.advice == "pass `map_location=`: it meets another tensor, and must be where that is"


def test_the_options_of_a_load_stay(rule):
    assert "weights_only" not in rule.fixed("import torch\nmodel.load_state_dict(torch.load(p))\n")


def test_what_is_copied_to_the_host_is_loaded_there(rule):
    program = """
        import torch
        class Agent:
            def __init__(self, device):
                self.device = device
            def restore(self, path):
                state = torch.load(path)["actor"]
                state = {key: value.detach().cpu() for key, value in state.items()}
                self.shards.put(self.actor, state)
    """
    assert 'torch.load(path, map_location="cpu")' in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize(
    ("read", "place"),
    [
        ("torch.utils.data.DataLoader(Chains(rows))", '"cpu"'),
        ("torch.utils.data.DataLoader(rows, pin_memory=True)", '"cpu"'),
        ("Chains(rows)", "device"),
        ("Chains(rows), torch.utils.data.DataLoader(Chains(path))", "device"),
    ],
)
def test_what_loaders_read_stays_on_the_host(rule, read: str, place: str) -> None:
    program = f"""
        import torch
        from data import Chains
        def build(path, device):
            rows = {{}}
            known = torch.load(path)
            for key in names:
                rows[key] = known[key]
            return {read}
    """
    assert f"torch.load(path, map_location={place})" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("kind", ["self.dtype", "torch.float16", "dtype"])
def test_a_type_is_no_place(rule, kind: str) -> None:
    program = f"""
        import torch
        class Bags:
            def __init__(self, dtype):
                self.dtype = dtype
            def load(self, path, dtype):
                return torch.load(path).to({kind})
    """
    assert "map_location" not in str(rule.findings(program))


def test_what_is_mapped_into_memory_stays_there(rule):
    program = """
        import torch
        from nets import Net
        def build(path, device):
            state = torch.load(path, mmap=True)
            model = Net()
            model.load_state_dict(state, assign=True)
            return model.to(device=device)
    """
    assert 'torch.load(path, mmap=True, map_location="cpu")' in rule.unchanged_unless_unsafe(program)


def test_what_becomes_attributes_goes_to_the_device_of_the_object(rule):
    program = """
        import torch
        class Memory:
            def __init__(self, device):
                self.device = device
            def load(self, path, rows):
                data = torch.load(path)
                for name in rows:
                    setattr(self, name, data[name])
                self.rows = torch.tensor(rows)
    """
    assert "torch.load(path, map_location=self.device)" in rule.fixed(program, unsafe=True)


def test_nor_is_what_moves_one_of_them_a_reason_for_the_host(rule) -> None:
    program = """
        import torch
        class Suite:
            def __init__(self, device):
                self.device = device
            def load(self, path):
                data = torch.load(path)
                for key, value in data.items():
                    setattr(self, key, value)
                self.net = data["net"].to(self.device)
                return self.net
    """
    assert "torch.load(path, map_location=self.device)" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("load", ["torch.jit.load(path)", "torch.load(path)"])
def test_an_object_that_a_class_makes_of_a_file_is_only_told(rule, load: str) -> None:
    program = f"""
        import torch
        class Segmenter:
            @classmethod
            def from_checkpoint(cls, path):
                try:
                    return cls.load(path)
                except ValueError:
                    return {load}
    """
    assert rule.finding(program).fix is None


def test_a_scripted_model_that_a_function_returns_is_only_told(rule) -> None:
    program = "import torch\ndef load_checkpoint(path):\n    return torch.jit.load(path)\n"
    assert rule.finding(program).fix is None
    assert "map_location" in rule.fixed(program.replace("jit.", ""), unsafe=True)


@pytest.mark.parametrize("use", ["OrderedIterator(dataset=shard, device=self.device)", "DataLoader(shard, 4)"])
def test_a_data_set_stays_on_the_host(rule, use):
    program = f"""
        import torch
        from torch.utils.data import DataLoader
        from iterators import OrderedIterator
        class Shards:
            def __init__(self, device):
                self.device = device
            def batches(self, path):
                shard = torch.load(path)
                for batch in {use}:
                    yield batch.to(self.device)
    """
    assert 'torch.load(path, map_location="cpu")' in rule.unchanged_unless_unsafe(program)


def test_what_one_of_two_saves_leaves_on_the_device_is_no_matter_of_the_host(rule):
    program = """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def keep(found, again):
            torch.save(found.cpu(), "features.pt")
            torch.save(again, "features.pt")
        def main(model):
            found = torch.load("features.pt")
            return model(found)
    """
    assert "map_location=device" in rule.unchanged_unless_unsafe(program)


def test_another_file_that_is_tried_with_a_place_is_no_decision(rule):
    program = """
        import torch
        def load(model, path, other):
            try:
                model.load_state_dict(torch.load(path))
            except FileNotFoundError:
                model.load_state_dict(torch.load(other, map_location="cpu"))
    """
    assert 'torch.load(path, map_location="cpu")' in rule.fixed(program)


EXPORTS = """
import torch
{imported}
def run(path, device: torch.device):
    model = torch.jit.load(path)
    export("out", model=model){more}
"""

EXPORT = """
import os
def export(folder, model):
    model.save(os.path.join(folder, "model.pt"))
    model.eval()
    {move}
    return model
"""


def choice(folder: Path, export: str, more: str = "") -> str:
    """The title of the fix for a load whose value a file beside it exports."""
    (folder / "exports.py").write_text(export)
    program = EXPORTS.format(imported="from exports import export", more=more)
    source, project = Source(str(folder / "run.py"), program.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({CODE})), project)
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    return finding.fix.title


def test_what_is_saved_before_it_is_moved_is_loaded_to_the_host(rule, tmp_path: Path) -> None:
    export = EXPORT.format(move="model.to('cuda')\n    model(torch.zeros(3).cuda())")
    assert 'Load to `"cpu"`' in choice(tmp_path, export)
    assert 'Load to `"cpu"`' in choice(tmp_path, export, "\n    return model(path)")
    assert 'map_location="cpu"' in rule.unchanged_unless_unsafe(EXPORTS.format(imported=export, more=""))


def test_what_is_saved_and_nothing_else_is_loaded_to_the_host(tmp_path: Path) -> None:
    export = "import torch\ndef export(folder, model):\n    torch.save(model, folder)\n"
    assert 'Load to `"cpu"`' in choice(tmp_path, export)
    assert "Load to `device`" in choice(tmp_path, export, "\n    return model(path)")


def test_what_is_used_where_it_was_loaded_goes_to_the_device(tmp_path: Path) -> None:
    moved = EXPORT.format(move="model.to('cuda')")
    assert "Load to `device`" in choice(tmp_path, EXPORT.format(move="model(0)"))
    assert "Load to `device`" in choice(tmp_path, moved.replace("model.save", "model.warm"))


LEFT_OPEN = """
    import torch
    class Trainer:
        def __init__(self, model, device=None):
            self.model = model
            {kept}
        {more}
        def to(self, device):
            self.device = torch.device(device)
            self.model.to(self.device)
        def restore(self, path):
            {before}
            self.criterion = torch.load(path)
"""


def left_open(kept: str, more: str = "", before: str = "pass") -> str:
    return LEFT_OPEN.format(kept=kept, more=more, before=before)


@pytest.mark.parametrize(
    ("kept", "more"),
    [
        ("self.device = None", ""),
        ("self.device: torch.device | None = None", ""),
        ("pass", "device = None"),
        ("self.device = 'cuda' if torch.cuda.is_available() else None", ""),
        ("self._device = None", "@property\n        def device(self):\n            return self._device"),
    ],
)
def test_a_device_that_is_none_until_it_is_set_is_no_place(rule, kept: str, more: str) -> None:
    assert all("self." not in (one.fix.title if one.fix else "") for one in rule.findings(left_open(kept, more)))


@pytest.mark.parametrize(
    ("kept", "before"),
    [
        ("self.device = device", "pass"),
        ("self.device = device or 'cuda'", "pass"),
        ("self.device = None", "self.device = torch.device('cuda')"),
    ],
)
def test_a_device_that_callers_choose_or_that_is_set_by_then_is_one(rule, kept: str, before: str) -> None:
    fixed = rule.unchanged_unless_unsafe(left_open(kept, before=before))
    assert "torch.load(path, map_location=self.device)" in fixed


@pytest.mark.parametrize("given", ["self._device = None", "self._device = torch.device('cuda')"])
def test_what_a_base_of_another_file_leaves_open(tmp_path: Path, given: str) -> None:
    mixin = f"""
import torch
class DeviceMixin:
    def __init__(self):
        {given}
    def to(self, device):
        self._device = torch.device(device)
"""
    (tmp_path / "mixins.py").write_text(mixin)
    program = """
from mixins import DeviceMixin
import torch
class Trainer(DeviceMixin):
    def run(self, x):
        return self.model(x.to(self._device))
    def restore(self, path):
        self.criterion = torch.load(path)
"""
    source, project = Source(str(tmp_path / "run.py"), program.encode()), Project(DiskFiles(str(tmp_path)))
    outcome = check(source, Options(frozenset({CODE})), project)
    assert isinstance(outcome, Checked)
    offered = [one.fix.title for one in outcome.findings if one.fix is not None]
    assert any("self._device" in one for one in offered) == ("None" not in given)


@pytest.mark.parametrize(
    ("bound", "offered"),
    [
        ("device = None\n    if torch.cuda.is_available():\n        device = torch.device('cuda')", False),
        ("device = 'cuda' if torch.cuda.is_available() else None", False),
        ("device = None\n    device = torch.device('cuda')", True),
        ("device = None\n    if device is None:\n        device = 'cuda'", True),
    ],
)
def test_nor_is_a_name_that_may_still_be_none(rule, bound: str, offered: bool) -> None:
    program = f"import torch\ndef load(path):\n    {bound}\n    net = torch.load(path)\n    return net\n"
    titles = [one.fix.title for one in rule.findings(program) if one.fix is not None]
    assert any("`device`" in one for one in titles) == offered


@pytest.mark.parametrize("default", ["device=None", "device: torch.device | None = None"])
def test_a_parameter_that_callers_may_leave_out_is_one(rule, default: str) -> None:
    program = f"import torch\ndef load(path, {default}):\n    net = torch.load(path)\n    return net\n"
    assert "map_location=device" in rule.unchanged_unless_unsafe(program)


TWO = """
    import torch
    def restore(folder, build, spare=None):
        first = None
        {first}
        parts = torch.load(folder / "parts.bin")
        return build(first, **parts)
"""


@pytest.mark.parametrize(
    "first",
    [
        'first = torch.load(folder / "a.bin", map_location=None)',
        'first = torch.load(folder / "a.bin", map_location=lambda storage, where: found)',
        "first = [torch.load(one, map_location=place) for one, place in folder]",
        'first = torch.load(folder / "a.bin", map_location="cpu" if spare else "cuda") if spare else folder',
        'if spare:\n            first = torch.load(folder / "a.bin", map_location="cpu")',
        'if torch.cuda.is_available():\n            first = torch.load(folder / "a.bin", map_location="cuda")',
        'first = torch.load("a", map_location="cpu"); second = torch.load("b", map_location="cuda")',
        'def other():\n            return torch.load(folder / "a.bin", map_location="cpu")',
    ],
)
def test_other_loads_that_say_nothing_of_this_one(rule, first: str) -> None:
    assert not [one for one in rule.findings(TWO.format(first=first)) if one.fix is not None]


@pytest.mark.parametrize(
    ("first", "place"),
    [
        ('first = torch.load(folder / "a.bin", map_location=torch.device("cpu"))', 'torch.device("cpu")'),
        ('first = torch.load(folder / "a.bin", "cpu", weights_only=True)', '"cpu"'),
        (
            'if ASK: first = torch.load("a")\n        else: first = torch.load("a", map_location="cpu")',
            'None if torch.cuda.is_available() else "cpu"',
        ),
        (
            'first = torch.load("a") if torch.cuda.is_available() else torch.load("a", map_location="cpu")',
            'None if torch.cuda.is_available() else "cpu"',
        ),
    ],
)
def test_the_place_that_the_other_load_says(rule, first: str, place: str) -> None:
    program = TWO.format(first=first).replace("ASK", "torch.cuda.is_available()")
    after = rule.unchanged_unless_unsafe(program)
    assert f'parts = torch.load(folder / "parts.bin", map_location={place})' in after


RESUMED = """
import torch


class Trainer:
    def __init__(self, net, optimizer{parameter}):
        self.network, self.optimizer = net, optimizer
        {kept}

    def resume(self, path):
        ckpt = torch.load(path)
        {lines}
"""

NETWORKS = {
    "returned among others": "model = ckpt['model']\n        self.optimizer.load_state_dict(ckpt['opt'])\n"
    "        return model, ckpt['epoch']",
    "returned alone": "net = ckpt['net']\n        self.optimizer.load_state_dict(ckpt['opt'])\n        return net",
    "filled and returned": "model = ckpt['model']\n        model.load_state_dict(ckpt['state'])\n        return model",
    "kept": "self.optimizer.load_state_dict(ckpt['opt'])\n        self.network = ckpt['net']",
    "kept by a name": "self.optimizer.load_state_dict(ckpt['opt'])\n        actor = ckpt['actor']\n"
    "        self.network = actor",
}
STATES = {
    "copied": "model = ckpt['model']\n        self.network.load_state_dict(model)",
    "a state is returned": "model_state = ckpt['model']\n        self.network.load_state_dict(model_state)\n"
    "        return model_state",
    "its options": "self.network.load_state_dict(ckpt['model'])\n        return ckpt['model_name']",
    "looked through": "model = ckpt['model']\n        self.optimizer.load_state_dict(ckpt['opt'])\n"
    "        model = {key: value for key, value in model.items()}\n        return model",
    "moved": "model = ckpt['model']\n        self.optimizer.load_state_dict(ckpt['opt'])\n"
    "        model.to(self.where)\n        return model",
}


@pytest.mark.parametrize("lines", NETWORKS.values(), ids=NETWORKS)
def test_a_network_that_is_kept_as_it_is_goes_to_no_host(rule, lines: str) -> None:
    bare = RESUMED.format(parameter="", kept="pass", lines=lines)
    assert rule.safeties(bare) == [None]
    placed = RESUMED.format(parameter=", device", kept="self.device = torch.device(device)", lines=lines)
    assert "torch.load(path, map_location=self.device)" in rule.unchanged_unless_unsafe(placed)


@pytest.mark.parametrize("lines", STATES.values(), ids=STATES)
def test_what_is_copied_or_moved_may_be_loaded_to_the_host(rule, lines: str) -> None:
    program = RESUMED.format(parameter=", where", kept="self.where = where", lines=lines)
    assert "map_location='cpu'" in rule.fixed(program, unsafe=True)


META = """
import torch


class Layer(torch.nn.Module):
    def __init__(self, device: torch.device):
        super().__init__()
        self.device = device
        self.size = torch.ones(3, device=device)

    def build(self):
        return None if {test} else torch.nn.Linear(3, 3, device=self.device)

    def set_extra_state(self, path):
        state = torch.load(path)
        self.size = state["rows"]
"""


@pytest.mark.parametrize(
    "test", ['self.device.type == "meta"', 'self.device == torch.device("meta")', '"meta" in str(self.device)']
)
def test_a_device_that_may_be_meta_is_no_place(rule, test: str) -> None:
    assert not any(rule.safeties(META.format(test=test)))


@pytest.mark.parametrize("test", ['self.device.type == "mps"', 'self.size.device.type == "meta"'])
def test_one_that_is_not_asked_for_is(rule, test: str) -> None:
    assert "map_location=self.device" in rule.fixed(META.format(test=test), unsafe=True)


EXPLAINER = """
import torch
class Explainer:
    def __init__(self, device="cuda"):
        self.device = device
    def load(self, path):
        data = torch.load(path)
        self.matrix = data["matrix"]{moved}
        self.noise = torch.zeros(3).to(self.device)
        self.table = data["table"]
"""


@pytest.mark.parametrize(("moved", "place"), [(".to(self.device)", '"cpu"'), ("", "self.device")])
def test_what_the_code_moves_itself_is_all_that_belongs_on_a_device(rule, moved: str, place: str) -> None:
    assert f"map_location={place})" in rule.fixed(EXPLAINER.format(moved=moved), unsafe=True)


PARTS = """
import torch
def weights(paths, device):
    found = {{}}
    for path in paths:
        state = torch.load(path)
        {move}
    return found
"""


@pytest.mark.parametrize(
    ("move", "place"),
    [
        ("for key in state:\n            found[key] = state[key].to(device)", '"cpu"'),
        ("found |= {key: one.to(device) for key, one in state.items()}", "device"),
        ("found[path] = state.to(device)", "device"),
    ],
)
def test_what_is_moved_part_by_part_is_loaded_to_the_host(rule, move: str, place: str) -> None:
    assert f"torch.load(path, map_location={place})" in rule.fixed(PARTS.format(move=move))


WHOLE = """
import torch
class Estimator(Base):
    def build(self, path):
        model = Net(device=self.device)
        if path is not None:
            model = torch.load(path)
        {line}
        return model
"""


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("model.to(self.device)", "self.device"),
        ("model.to(self.other)", '"cpu"'),
        ("model = model['net'].to(self.device)", "'cpu'"),
    ],
)
def test_a_module_is_loaded_to_where_it_is_moved(rule, line: str, place: str) -> None:
    """Tensors that it keeps beside its buffers do not move with it."""
    after = rule.unchanged_unless_unsafe(WHOLE.format(line=line))
    assert f"torch.load(path, map_location={place})" in after


HELD = """
import torch
class Prototypes:
    @classmethod
    def load(cls, path):
        saved = torch.load(path)
        one = cls(**saved["settings"])
        one.model.load_state_dict(saved["model"])
        {line}
        return one
"""


@pytest.mark.parametrize(
    ("line", "safeties"),
    [
        ("one.support = saved['support']", [None]),
        ("support = saved.get('support'); one.support = support", [None]),
        ("one.epoch = saved['epoch']", [Safety.SAFE]),
        ("one.model.load_state_dict(saved['support'])", [Safety.SAFE]),
    ],
)
def test_what_an_object_keeps_goes_to_no_host(rule, line: str, safeties: list[Safety | None]) -> None:
    assert rule.safeties(HELD.format(line=line)) == safeties


EXPORTED = """
import torch
def export(module, path, best):
    module.load_state_dict(torch.load(best, map_location="cpu"))
    program = torch.{loader}(path)
    return compiled(program, inputs=[torch.zeros(3)])
"""


@pytest.mark.parametrize(("loader", "shared"), [("jit.load", False), ("load", True)])
def test_a_program_is_loaded_to_no_place_of_a_state(rule, loader: str, shared: bool) -> None:
    after = rule.findings(EXPORTED.format(loader=loader))
    assert any("say this place" in (one.fix.title if one.fix else "") for one in after) is shared


WRAPPED = """
import torch
from nets import Net, score
{wrapper}
def run(path, device, x):
    model = Net().to(device)
    {use}
"""

READS = """
def load_file(path, map_location=None):
    return torch.load(path, map_location=map_location)
"""
FILLS = """
def load_into(model, path, *, strict=True, map_location=None):
    state = torch.load(path, map_location)
    model.load_state_dict(state["model"], strict=strict)
    return state["epoch"]
"""
AGAIN = (
    READS
    + """
class Store:
    def get(self, path, device=None):
        return load_file(path, map_location=device)
store = Store()
"""
)


@pytest.mark.parametrize(
    ("wrapper", "use", "after", "safety"),
    [
        (READS, "model.load_state_dict(load_file(path))", 'load_file(path, map_location="cpu")', Safety.SAFE),
        (READS, "model.load_state_dict(load_file(path)['net'])", "load_file(path, map_location='cpu')", Safety.SAFE),
        (READS, "return score(load_file(path), x)", "load_file(path, map_location=device)", Safety.UNSAFE),
        (FILLS, "start = load_into(model, path)", 'load_into(model, path, map_location="cpu")', Safety.SAFE),
        (FILLS, "load_into(model, path, strict=False)", 'strict=False, map_location="cpu")', Safety.SAFE),
        (AGAIN, "model.load_state_dict(store.get(path))", 'store.get(path, device="cpu")', Safety.SAFE),
    ],
)
def test_a_wrapper_is_told_the_place_that_it_hands_on(rule, wrapper, use, after, safety) -> None:
    program = WRAPPED.format(wrapper=wrapper, use=use)
    assert rule.safeties(program) == [safety]
    assert after in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize(
    ("wrapper", "use"),
    [
        (READS, "model.load_state_dict(load_file(path, device))"),
        (READS, "model.load_state_dict(load_file(path, map_location='cpu'))"),
        (READS, "model.load_state_dict(load_file(*path))"),
        (READS.replace("map_location=None", "map_location='cpu'"), "model.load_state_dict(load_file(path))"),
        (READS.replace("map_location=map_location", "map_location='cpu'"), "model.load_state_dict(load_file(path))"),
        (READS.replace("torch.load", "score"), "model.load_state_dict(load_file(path))"),
        (FILLS, "load_into(model, path, map_location=device)"),
        (AGAIN, "model.load_state_dict(store.get(path, device))"),
        (AGAIN.replace("return load", "place(device); return load"), "model.load_state_dict(store.get(path))"),
    ],
)
def test_one_that_is_told_or_says_it_itself_is_not(rule, wrapper: str, use: str) -> None:
    assert rule.findings(WRAPPED.format(wrapper=wrapper, use=use)) == ()


@pytest.mark.parametrize(
    ("wrapper", "use", "after"),
    [
        (READS, "model.load_state_dict(load_file(path))", "load_file(path, "),
        (FILLS, "load_into(model, path)", "load_into(model, path, "),
    ],
)
def test_wrappers_of_other_files(tmp_path: Path, wrapper: str, use: str, after: str) -> None:
    (tmp_path / "files.py").write_text("import torch\n" + wrapper)
    program = WRAPPED.format(wrapper=f"from files import {after.partition('(')[0]}", use=use)
    source, project = Source(str(tmp_path / "run.py"), program.encode()), Project(DiskFiles(str(tmp_path)))
    outcome = rewrite(source, Options(frozenset({CODE})), project=project)
    assert isinstance(outcome, Changed)
    assert f'{after}map_location="cpu")' in outcome.data.decode()


LIGHTNING = """
import torch
from systems import Tagger, show
def run(path, device, x):
    tagger = Tagger.load_from_checkpoint(path{place})
    {use}
"""


@pytest.mark.parametrize("use", ["return tagger(x)", "tagger.eval()\n    return tagger(x.to(device))"])
def test_a_module_of_lightning_is_loaded_to_where_it_is_run(rule, use: str) -> None:
    after = rule.unchanged_unless_unsafe(LIGHTNING.format(place="", use=use))
    assert "load_from_checkpoint(path, map_location=device)" in after


@pytest.mark.parametrize(
    ("place", "use"),
    [
        (", map_location=device", "return tagger(x)"),
        (", device", "return tagger(x)"),
        ("", "tagger.to(device)\n    return tagger(x)"),
        ("", "return tagger.cuda()(x)"),
        ("", "return show(tagger)"),
    ],
)
def test_nor_where_a_trainer_or_the_program_moves_it(rule, place: str, use: str) -> None:
    assert rule.findings(LIGHTNING.format(place=place, use=use)) == ()


def test_a_wrapper_that_is_given_nothing(rule) -> None:
    wrapper = "def load_file(map_location=None):\n    return torch.load('a.pt', map_location=map_location)"
    program = WRAPPED.format(wrapper=wrapper, use="model.load_state_dict(load_file())")
    assert 'load_file(map_location="cpu")' in rule.fixed(program).replace("'", '"')


def test_a_wrapper_is_one_whoever_calls_it(rule) -> None:
    chain = "def load_{0}(path, map_location=None):\n    return {1}(path, map_location=map_location)\n"
    loaders = [*(f"load_{number}" for number in range(1, 6)), "torch.load"]
    wrapper = "".join(chain.format(number, loader) for number, loader in enumerate(loaders))
    for name in ("load_2", "load_3", "load_4", "load_5"):
        program = WRAPPED.format(wrapper=wrapper, use=f"model.load_state_dict({name}(path))")
        assert len(rule.findings(program)) == 1, name


TESTED = """
import torch
def read(path, device=None, fast=False):
    if {test}:
        state = torch.load(path)
    else:
        state = torch.load(path)
    return state
"""


@pytest.mark.parametrize("test", ["fast", "torch.cuda.is_available() and fast", "torch.cuda.is_available() is fast"])
def test_a_test_that_does_not_say_where(rule, test: str) -> None:
    assert all(one.fix is None or "branch" not in one.fix.title for one in rule.findings(TESTED.format(test=test)))


@pytest.mark.parametrize(
    ("test", "line", "place"),
    [
        ("torch.cuda.is_available()", 6, '"cpu"'),
        ("not torch.cuda.is_available()", 4, '"cpu"'),
        ("device is None", 6, "device"),
        ("device is not None", 4, "device"),
    ],
)
def test_the_branch_without_cuda_or_with_a_device(rule, test: str, line: int, place: str) -> None:
    program = TESTED.format(test=test)
    lines = program.splitlines(keepends=True)
    lines[line] = lines[line].replace("(path)", f"(path, map_location={place})")
    assert rule.fixed(program, unsafe=place == "device") == "".join(lines)


FLAGGED = """
import torch
def read(path, net, {flag}):
    {test}
        net.cuda()
        net.load_state_dict(torch.load(path)["net"], torch.load(path))
    else:
        other = merge(torch.load(path))
    return net, other
"""


@pytest.mark.parametrize("test", ["if mode == 'fast':", "try:"])
def test_a_branch_that_asks_for_no_device(rule, test: str) -> None:
    found = rule.findings(
        FLAGGED.format(flag="mode", test=test).replace("else:", "except OSError:" if "try" in test else "else:")
    )
    assert all(one.fix is None or "branch" not in one.fix.title for one in found)


@pytest.mark.parametrize(("flag", "test"), [("use_cuda", "if use_cuda:"), ("args", "if args.gpu:")])
def test_a_flag_that_does_not_hold(rule, flag: str, test: str) -> None:
    program = FLAGGED.format(flag=flag, test=test)
    assert 'other = merge(torch.load(path, map_location="cpu"))' in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize(
    ("asked", "safety"),
    [("args.cuda()", Safety.UNSAFE), ("args.to(device)", Safety.UNSAFE), ("args.cuda", Safety.SAFE)],
)
def test_a_flag_of_options_is_no_move(rule, asked: str, safety: Safety) -> None:
    program = f"""
        import torch
        class Net(torch.nn.Module):
            @classmethod
            def load(cls, path, device):
                params = torch.load(path)
                args = params["args"]
                net = cls(args)
                net.load_state_dict(params["state_dict"])
                if {asked}:
                    net = net.cuda()
                return net
    """
    assert rule.safeties(program) == [safety]


KEPT_MODEL = """
import torch
from models import build
class Kept:
    def __init__(self, tensors):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.tensors = [one.to(self.device) for one in tensors]
    {decorator}
    def load({first}, path):
        return build(torch.load(path))
"""


def test_the_class_has_not_what_is_set_of_its_objects(rule) -> None:
    assert "cls.device" not in str(rule.findings(KEPT_MODEL.format(decorator="@classmethod", first="cls")))


def test_the_object_has_it(rule) -> None:
    program = KEPT_MODEL.format(decorator="", first="self")
    assert "torch.load(path, map_location=self.device)" in rule.fixed(program, unsafe=True)


RESTORED = """
import torch
from models import Net
def restored(path):
    net = Net(3).cuda()
    state = torch.load(path)
    net.load_state_dict(state{how})
    return net
"""


@pytest.mark.parametrize("how", [", False, True", ", assign=True"])
def test_what_is_assigned_is_not_copied(rule, how: str) -> None:
    assert Safety.SAFE not in rule.safeties(RESTORED.format(how=how))


@pytest.mark.parametrize("how", ["", ", False", ", strict=False"])
def test_what_is_copied_may_be_loaded_anywhere(rule, how: str) -> None:
    assert rule.safeties(RESTORED.format(how=how)) == [Safety.SAFE]


RESOLVED = """
import torch
class Trainer:
    def __init__(self, net, path, device={default}):
        if device == {compared}:
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        else:
            self.device = torch.device(device)
        self.model = net.to(self.device)
        self.state = torch.load(path)
        self.model.load_state_dict(self.state["net"])
"""


@pytest.mark.parametrize(
    ("default", "compared", "wanted"),
    [
        ('"auto"', '"auto"', "self.device"),
        ('"cuda"', '"best"', "self.device"),
        ('"cpu"', '"cpu"', "device"),
        ('"cuda:0"', '"mps"', "device"),
    ],
)
def test_what_may_be_a_word_for_a_device_is_none(rule, default: str, compared: str, wanted: str) -> None:
    program = RESOLVED.format(default=default, compared=compared)
    assert f"torch.load(path, map_location={wanted})" in rule.fixed(program, unsafe=True)
