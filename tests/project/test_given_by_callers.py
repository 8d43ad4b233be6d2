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


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import steps", "steps.{}"),
        ("from steps import fit as train", "train(kiwi=DataLoader(rows), plum=plum, fig=fig, gpu=gpu)"),
        ("from functools import partial", "run = partial(fit, DataLoader(rows))\n    run(plum, fig, gpu)"),
        (
            "from functools import partial",
            "run = partial(fit, plum=plum, kiwi=DataLoader(rows))\n    run(fig=fig, gpu=gpu)",
        ),
        ("def main(kiwi):\n        fit(kiwi, plum, fig, gpu)", "main(DataLoader(rows))"),
        ("feeds = {}", "feeds['a'] = 1\n    kiwi = DataLoader(rows)\n    kiwi.dataset\n    fit(kiwi, plum, fig, gpu)"),
    ],
)
def test_a_loader_in_other_words(imports: str, call: str) -> None:
    texts = project(LOADER)
    script = f"{HEAD}\n    {imports}\n    {call.replace('{}', LOADER)}\n"
    assert found({**texts, "main.py": script}, "steps.py") == ["DVF101:23"]


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


STEP = """
    def fit(kiwi, plum, fig, loss_of):
        for x, y in kiwi:
            loss = loss_of(plum(x), y)
            loss.backward()
            fig.step()
"""
WITHOUT_DEVICE = "fit(DataLoader(rows), plum, fig, nn.CrossEntropyLoss())"


def test_a_device_that_the_caller_keeps_for_itself() -> None:
    texts = project(WITHOUT_DEVICE, STEP)
    assert found(texts, "steps.py") == ["DVF101:24", "DVF101:24"]
    assert "next(plum.parameters()).device" in patched(texts, "steps.py")


def test_silent_where_the_caller_moves_nothing() -> None:
    texts = project(WITHOUT_DEVICE, STEP)
    assert found({**texts, "main.py": texts["main.py"].replace("Net().to(gpu)", "Net()")}, "steps.py") == []


DRAWS = """
    def fit(kiwi, plum, fig, gpu, lemon):
        for x, y in kiwi:
            {moves}
            loss = plum(x + torch.randn(2, 4, generator=lemon, device={device})).pow(2).mean()
            loss.backward()
            fig.step()
"""
GENERATOR = (
    "lemon = torch.Generator({where})\n    lemon.manual_seed(1)\n    fit(DataLoader(rows), plum, fig, gpu, lemon)"
)


@pytest.mark.parametrize(
    ("device", "where", "is_found"),
    [
        ("gpu", "", True),
        ("gpu", "gpu", False),
        ("gpu", "device=gpu", False),
        ("x.device", "", False),
        ("None", "", False),
    ],
)
def test_a_generator_that_another_file_draws_from(device: str, where: str, is_found: bool) -> None:
    texts = project(GENERATOR.format(where=where), DRAWS.replace("{device}", device), MOVED)
    assert found(texts, "main.py") == (["DVF404:14"] if is_found else [])
    assert found(texts, "steps.py") == []
    assert ("torch.Generator(device=gpu)" in patched(texts, "main.py")) is (is_found or where == "device=gpu")


WEIGHED = """
    def fit(kiwi, plum, fig, gpu, loss_of, flag):
        for x, y in kiwi:
            x, y = x.to(gpu), y.to(gpu)
            loss = loss_of(plum(x), y)
            loss.backward()
            fig.step()
"""


def test_a_device_that_only_the_caller_has_a_name_for() -> None:
    """No word speaks of a device: that the function of the other file takes it for one is all that says so."""
    call = "fit(DataLoader(rows), plum, fig, gpu, nn.CrossEntropyLoss(weight=torch.ones(2)), True)"
    texts = project(call, WEIGHED)
    assert found(texts, "main.py") == ["DVF106:12"]
    assert "weight=torch.ones(2, device=gpu)" in patched(texts, "main.py")
    right = {**texts, "main.py": texts["main.py"].replace("torch.ones(2)", "torch.ones(2, device=gpu)")}
    assert found(right, "main.py") == []


def test_a_module_that_is_never_moved_in_a_file_without_devices() -> None:
    main = """
    import torch
    from steps import Net, fit

    plum = Net()
    fit(data, plum, torch.optim.SGD(plum.parameters(), 0.1), {last})
"""
    function = """
    def fit(kiwi, plum, fig, {last}):
        for x, y in kiwi:
            loss = plum(x{move}).pow(2).mean()
            loss.backward()
            fig.step()
"""
    texts = {"main.py": main.format(last=1), "steps.py": STEPS + function.format(last="n", move=".cuda()")}
    assert found(texts, "main.py") == ["DVF202:6"]
    texts = {**texts, "steps.py": STEPS + function.format(last="n", move="")}
    assert found(texts, "main.py") == []


OBJECTS = """
    class Words:
        def __call__(self, texts):
            return torch.ones(len(texts), 4)

    def fit(words, plum, gpu):
        out = plum(words(["one", "two"]){move})
        out.mean().backward()
"""


def test_an_object_of_a_class_beside_the_function() -> None:
    script = HEAD.replace("import Box", "import Words, Box") + "\n    fit(Words(), plum, gpu)\n"
    texts = {"main.py": script, "steps.py": STEPS + OBJECTS.format(move="")}
    assert found(texts, "steps.py") == ["DVF104:27"]
    assert found({**texts, "steps.py": STEPS + OBJECTS.format(move=".to(gpu)")}, "steps.py") == []
    other = "from steps import fit\nfrom elsewhere import Other\nfit(Other(), plum, gpu)\n"
    assert found({**texts, "other.py": other}, "steps.py") == []


AVERAGE = """
    def fit(kiwi, plum, fig, kept, flag):
        for x, y in kiwi:
            if flag:
                x = x.cuda()
            loss = plum(x).pow(2).mean()
            for shadow, live in zip(kept, plum.parameters()):
                shadow.mul_(0.9).add_(live.detach(), alpha=0.1)
            loss.backward()
            fig.step()
"""
KEPT = """
    flag = torch.cuda.is_available()
    plum = Net()
    {before}
    if flag:
        plum.cuda()
    {behind}
    fit(DataLoader(rows), plum, fig, kept, flag)
"""
COPIES = "kept = [one.detach().clone() for one in plum.parameters()]"


def test_a_list_of_what_another_file_meets_under_a_flag() -> None:
    texts = project("pass", AVERAGE)
    wrong = {**texts, "main.py": HEAD + KEPT.format(before=COPIES, behind="pass")}
    assert 'if flag:\n    kept = [one.to("cuda") for one in kept]\n' in patched(wrong, "main.py")
    right = {**texts, "main.py": HEAD + KEPT.format(before="pass", behind=COPIES)}
    assert patched(right, "main.py").count("kept = ") == 1


def test_what_callers_say_outlives_another_fix_of_the_same_file() -> None:
    """The text that the first fix has made is still the file that the callers mean."""
    lines = ("x = x.to(gpu)", "z = torch.ones(2, 4)", "z.to(gpu)", "x = x + z")
    texts = project(LOADER, moves="\n            ".join(lines))
    written = patched(texts, "steps.py")
    assert "z = z.to(gpu)" in written
    assert "y = y.to(gpu)" in written
