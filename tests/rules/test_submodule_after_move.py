"""DVF201: parts attached after the move."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF201"

RUN = '\nif __name__ == "__main__":\n    main()\n'

SILENT = {
    "moved after": """
        import torch
        from torch import nn
        device = torch.device("cuda")
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2)
        model.to(device)
        model.train()
        out = model(x)
    """,
    "head moved": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2).to(device)
        model.fc = nn.Linear(3, 2, device=device)
        out = model(x)
    """,
    "submodule moved": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2)
        model.head.to(device)
        out = model(x)
    """,
    "parameterless": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.act = nn.ReLU()
        model.fc = nn.Identity()
        model.drop = nn.Dropout(0.2)
        model.pool = nn.Sequential(nn.ReLU(), nn.Flatten())
        model.head = nn.Sequential()
        model.loss = nn.CrossEntropyLoss()
        out = model(x)
    """,
    "moved by unknown": """
        import torch
        from torch import nn
        from util import prepare
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2)
        model = prepare(model, device)
        out = model(x)
    """,
    "moved by trainer in place": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2)
        trainer = Trainer(model, device=device)
        trainer.train()
    """,
    "moved in ddp": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.head = nn.Linear(3, 2)
        model = nn.DataParallel(model).cuda()
        out = model(x)
    """,
    "moved on cuda after": """
        import torch
        from torch import nn
        model = torchvision.models.resnet18().to("cuda")
        model.fc = nn.Linear(512, 10)
        model = model.cuda()
        out = model(x)
    """,
    "back to cpu": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        model.cpu()
        model.head = nn.Linear(3, 2)
        out = model(x)
    """,
    "to cpu in branch": """
        import torch
        from torch import nn
        model.to("cpu")
        model.train()
        model.head = nn.Linear(3, 2)
        out = model(x)
    """,
    "default device": """
        import torch
        from torch import nn
        torch.set_default_device("cuda")
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 2)
        out = model(x)
    """,
    "with device": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        with torch.device("cuda"):
            model.head = nn.Linear(3, 2)
        out = model(x)
    """,
    "saved only": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 3)
        torch.save(model.state_dict(), "x")
    """,
    "not used": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 3)
        print(model)
        n = sum(p.numel() for p in model.parameters())
    """,
    "other model": """
        import torch
        from torch import nn
        teacher.to("cuda")
        teacher.train()
        student.head = nn.Linear(3, 3)
        student.to("cuda")
        student.train()
        out = student(x) + teacher(x)
    """,
    "rebinding": """
        import torch
        from torch import nn
        model = timm.create_model("x").to("cuda")
        model = timm.create_model("y")
        model.head = nn.Linear(3, 3)
        model.to("cuda")
        model.train()
        out = model(x)
    """,
    "in init then moved by owner": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.backbone = resnet().to(device)
                self.backbone.fc = nn.Linear(3, 3)
                self.head = nn.Linear(3, 3)
            def forward(self, x):
                return self.head(self.backbone(x))
        net = Net("cuda")
        net.to("cuda")
        net.train()
        net(x)
    """,
    "init only": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.to(device)
                self.head = nn.Linear(3, 3)
                self.to(device)
            def forward(self, x):
                return self.head(x)
    """,
    "lightning": """
        import torch
        import pytorch_lightning as pl
        from torch import nn
        class M(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = resnet().cuda()
                self.net.fc = nn.Linear(3, 3)
            def forward(self, x):
                return self.net(x)
    """,
    "accelerate": """
        import torch
        from accelerate import Accelerator
        from torch import nn
        acc = Accelerator()
        model.to(acc.device)
        model.train()
        model.head = nn.Linear(3, 3)
        model, loader = acc.prepare(model, loader)
        model(x)
    """,
    "head.to at use": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 3)
        for m in model.children():
            m.to("cuda")
        out = model(x)
    """,
    "_apply": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 3)
        model._apply(lambda t: t.cuda())
        out = model(x)
    """,
    "head cuda list": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        model.head = nn.Linear(3, 3)
        [m.to("cuda") for m in (model,)]
        out = model(x)
    """,
    "loop moves": """
        import torch
        from torch import nn
        model.to(device)
        model.train()
        for i in range(3):
            model.blocks[i] = nn.Linear(3, 3).to(device)
            setattr(model, f"b{i}", nn.Linear(3, 3))
        out = model.blocks[0](x)
    """,
    "guarded": """
        import torch
        from torch import nn
        model = resnet()
        if pretrained_on_gpu:
            model.to("cuda")
            model.train()
        model.fc = nn.Linear(3, 3)
        if torch.cuda.is_available():
            model.cuda()
            model.train()
        out = model(x)
    """,
    "lora like helper": """
        import torch
        from torch import nn
        def replace(model, device):
            for name, module in model.named_modules():
                if isinstance(module, nn.Linear):
                    new = nn.Linear(3, 3)
                    setattr(model, name, new)
            model.to(device)
            model.train()
        model.to("cuda")
        model.train()
        replace(model, "cuda")
        out = model(x)
    """,
    "replaced with moved later by assignment": """
        import torch
        from torch import nn
        model.to("cuda")
        model.train()
        head = nn.Linear(3, 3)
        model.head = head
        head.to("cuda")
        out = model(x)
    """,
    "parent attr": """
        import torch
        from torch import nn
        class T:
            def __init__(self, model, device):
                self.model = model.to(device)
                self.head = nn.Linear(3, 3)
                self.head.to(device)
                self.model.head = self.head
            def run(self, x):
                return self.model(x)
    """,
    "meta": """
        import torch
        from torch import nn
        model = model.to("meta")
        model.head = nn.Linear(3, 3)
        model.to_empty(device="cuda")
        out = model(x)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(dedent(program) + RUN) == ()


HEAD = "import torch\nfrom torch import nn\nfrom models import build\n\n"

FIXES = {
    "a head after a statement": (
        (
            'device = "cuda"\nmodel = build()\nmodel.to(device)\nmodel.fc = nn.Linear(3, 2)\n'
            "model.train()\nout = model(x)\n"
        ),
        (
            'device = "cuda"\nmodel = build()\nmodel.to(device)\nmodel.fc = nn.Linear(3, 2)\nmodel.to(device)\n'
            "model.train()\nout = model(x)\n"
        ),
    ),
    "in the form of the earlier line": (
        "model = build()\nmodel = model.cuda()\nmodel.fc = nn.Linear(3, 2)\nmodel.train()\nout = model(x)\n",
        (
            "model = build()\nmodel = model.cuda()\nmodel.fc = nn.Linear(3, 2)\nmodel = model.cuda()\nmodel.train()\n"
            "out = model(x)\n"
        ),
    ),
    "after the last of several parts": (
        (
            'model = build()\nmodel.to("cuda")\nmodel.a = nn.GRU(3, 2)\nmodel.b = nn.GRU(3, 2)\nmodel.train()\n'
            "out = model(x)\n"
        ),
        (
            'model = build()\nmodel.to("cuda")\nmodel.a = nn.GRU(3, 2)\nmodel.b = nn.GRU(3, 2)\nmodel.to("cuda")\n'
            "model.train()\nout = model(x)\n"
        ),
    ),
    "an empty container that is filled by its name": (
        (
            'model = build()\nmodel.to("cuda")\nhead = nn.Sequential()\nhead.add_module("fc", nn.GRU(3, 2))\n'
            "model.head = head\nmodel.train()\nout = model(x)\n"
        ),
        (
            'model = build()\nmodel.to("cuda")\nhead = nn.Sequential()\nhead.add_module("fc", nn.GRU(3, 2))\n'
            'model.head = head\nmodel.to("cuda")\nmodel.train()\nout = model(x)\n'
        ),
    ),
    "a part of a part": (
        'model = build()\nmodel.to("cuda")\nmodel.a.fc = nn.GRU(3)\nmodel.train()\nout = model(x)\n',
        'model = build()\nmodel.to("cuda")\nmodel.a.fc = nn.GRU(3)\nmodel.to("cuda")\nmodel.train()\nout = model(x)\n',
    ),
    "an item": (
        'model = build()\nmodel.to("cuda")\nmodel.top[6] = nn.GRU(3)\nmodel.train()\nout = model(x)\n',
        (
            'model = build()\nmodel.to("cuda")\nmodel.top[6] = nn.GRU(3)\nmodel.to("cuda")\nmodel.train()\n'
            "out = model(x)\n"
        ),
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_moves_the_model_again(rule, before: str, after: str) -> None:
    assert rule.fixed(HEAD + before) == HEAD + after


def test_a_model_that_is_only_handed_on_may_be_moved_there(rule) -> None:
    program = HEAD + (
        "def make(device):\n    model = build()\n    model.to(device)\n    model.train()\n"
        "    model.fc = nn.Linear(3, 2)\n    return model\n"
    )
    after = rule.unchanged_unless_unsafe(program)
    assert "    model.fc = nn.Linear(3, 2)\n    model.to(device)\n    return model\n" in after


def test_what_was_moved_on_a_condition_is_moved_again_under_it(rule) -> None:
    program = HEAD + (
        "model = build()\nif torch.cuda.is_available():\n    model = model.cuda()\n"
        "model.fc = nn.Linear(3, 2)\nmodel.train()\nout = model(x)\n"
    )
    again = "model.fc = nn.Linear(3, 2)\nif torch.cuda.is_available():\n    model = model.cuda()\n"
    assert rule.fixed(program) == program.replace("model.fc = nn.Linear(3, 2)\n", again)


def test_the_finding_names_part_use_and_move(rule) -> None:
    program = HEAD + FIXES["a head after a statement"][0]
    finding = rule.finding(program)
    assert finding.message == "`nn.Linear(3, 2)` is put into a module that was moved to `device` before"
    assert [one.span.line for one in finding.trail] == [8, 10, 7]
    assert finding.fix.safety is Safety.SAFE
    assert finding.fix.title == "Move `model` to `device` again, with its new part"


def test_tabs_and_line_ends_stay(rule) -> None:
    program = (
        HEAD
        + (
            "def f(x):\n\tmodel = build()\n\tmodel.cuda()\n\tmodel.fc = nn.Linear(3, 2)  # größer\n\tmodel.train()\n"
            "\treturn model(x)\n"
        )
    ).replace("\n", "\r\n")
    after = rule.fixed(program.encode())
    assert after == program.replace("# größer\r\n", "# größer\r\n\tmodel.cuda()\r\n")


PART = """
    import torch
    from torch import nn
    from torchvision import models
    def train(loader, n):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = models.resnet18().to(device)
        model.head = nn.Linear(512, n)
        for x, y in loader:
            features = model.features(x.to(device))
            loss = nn.functional.cross_entropy(model.head(features.to(device)), y.to(device))
            loss.backward()
        return model
"""


def test_a_part_that_is_called_by_itself_is_moved_with_its_model(rule) -> None:
    assert rule.safeties(PART) == [Safety.SAFE]
    assert "model.head = nn.Linear(512, n)\n    model.to(device)\n" in rule.fixed(PART)


def test_one_repair_is_enough() -> None:
    outcome = check(Source("train.py", dedent(PART).encode()), Options(frozenset({"DVF201", "DVF202"})))
    assert isinstance(outcome, Checked)
    assert [one.code for one in outcome.findings] == ["DVF201"]
