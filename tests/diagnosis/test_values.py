"""Repairs by what values are: nothing that the live values show to be senseless, then what each kind of value needs."""

from collections.abc import Callable

import pytest
from devfix_codemods.diagnosis import Form, Kind, Operand, Stop

from .conftest import GPU, Crash, module, tensor

Build = Callable[..., Crash]

TENSOR = Form("Tensor", moves=True)
TEXT = Form("str")
TARGET = Form("dict", is_dict=True, parts=(TENSOR,))

EMA = """
import torch

class EMA:
    def load(self, path):
        self.shadow = torch.load(path, map_location="cpu")

    def update(self, model):
        for name, weight in model.named_parameters():
            self.shadow[name].mul_(0.9).add_(weight)

def train(model, ema):
    ema.update(model)
"""
UPDATE = "self.shadow[name].mul_(0.9).add_(weight)"


def shadow(*history: Stop) -> Operand:
    return tensor("self.shadow[name]", "cpu", *history)


# What is not moved


@pytest.mark.parametrize("form", [TEXT, Form("int"), Form("EMA"), Form("dict", is_dict=True, parts=(TEXT,))])
def test_what_has_no_place_is_not_moved(crash: Build, form: Form) -> None:
    build = crash("""
        def train(model, scale, device):
            factor = scale(model)
            out = model(factor)
            return out * factor
        """)
    operands = (tensor("out", GPU), tensor("factor"))
    known = build.at("out * factor", *operands, live={(0, "factor"): form, (0, "scale"): form, (0, "model"): form})
    assert known.results() == ["return out * factor.to(out.device)"]
    assert "factor = scale(model).to(device)" in build.at("out * factor", *operands).results()


def test_names_of_weights_are_not_moved(crash: Build) -> None:
    live = {(1, "name"): TEXT, (1, "weight"): TENSOR, (0, "ema"): Form("EMA"), (1, "self"): Form("EMA")}
    case = crash(EMA).at(
        UPDATE, shadow(), tensor("weight", GPU), through=[("train.py", "ema.update(model)")], live=live
    )
    results = case.results()
    assert results
    assert not any("name.to(" in one or "ema.to(" in one or "path.to(" in one for one in results)


def test_a_copy_does_not_get_what_is_written_in_place(crash: Build) -> None:
    results = crash(EMA).at(UPDATE, shadow(), tensor("weight", GPU)).results()
    assert not any(".to(weight.device).mul_" in one for one in results)
    build = crash("""
        import torch

        def update(teacher, student, device):
            for kept, new in zip(teacher, student):
                kept.mul_(0.9).add_(new)
        """)
    results = build.at("kept.mul_(0.9).add_(new)", tensor("kept"), tensor("new", GPU)).results()
    assert not any("kept = kept.to(" in one or "kept.to(" in one for one in results)


def test_what_is_only_read_in_place_is_moved(crash: Build) -> None:
    build = crash("""
        def update(teacher, student, device):
            for kept, new in zip(teacher, student):
                kept.mul_(0.9).add_(new)
        """)
    results = build.at("kept.mul_(0.9).add_(new)", tensor("kept", GPU), tensor("new")).results()
    assert "kept.mul_(0.9).add_(new.to(kept.device))" in results


def test_what_is_moved_in_its_line_is_not_moved_again(crash: Build) -> None:
    build = crash("""
        import torch

        class Buffer:
            def __init__(self, device):
                self.device = device

            def sample(self, rows, actions):
                return (
                    torch.stack(rows).to(self.device),
                    torch.tensor(actions),
                    torch.from_numpy(rows).float().to(self.device),
                )

        def learn(buffer, values, rows):
            states, actions, following = buffer.sample(rows, [1, 2])
            return values.gather(1, actions)
        """)
    history = Stop("cpu", "made by torch.tensor", "train.py", build.line("torch.tensor(actions)"))
    case = build.at("values.gather(1, actions)", tensor("values", GPU), tensor("actions", "cpu", history))
    results = case.results()
    assert "torch.tensor(actions, device=self.device)," in results
    assert not any(".to(self.device).to(" in one for one in results)


def test_a_sequence_that_is_taken_apart_is_not_moved_as_one(crash: Build) -> None:
    build = crash("""
        def forward(model, encode, device):
            x, size = encode(model)
            return model(x)
        """)
    results = build.at("model(x)", tensor("x"), tensor("w", GPU)).results()
    assert "x = x.to(device)" in results
    assert not any("encode(model).to(" in one for one in results)


def test_a_load_that_says_where_to_is_left_alone(crash: Build) -> None:
    results = crash(EMA).at(UPDATE, shadow(), tensor("weight", GPU)).results()
    assert not any("torch.load" in one for one in results)


# What is moved, and how


def test_a_state_is_loaded_to_the_device(crash: Build) -> None:
    build = crash(EMA.replace("path)", "path, device)").replace(', map_location="cpu"', ""))
    history = Stop("cpu", "loaded by torch.load", "train.py", build.line("self.shadow = "))
    case = build.at(UPDATE, shadow(history), tensor("weight", GPU), live={(0, "self.shadow"): TARGET})
    assert case.results()[0] == "self.shadow = torch.load(path, map_location=device)"


def test_a_state_that_an_object_keeps_is_kept_on_the_device(crash: Build) -> None:
    case = crash(EMA).at(UPDATE, shadow(), tensor("weight", GPU), live={(0, "self.shadow"): TARGET})
    assert case.results() == ["self.shadow[name] = self.shadow[name].to(weight.device)"]


@pytest.mark.parametrize(
    ("form", "code"),
    [
        (TARGET, "{k: v.to(device, non_blocking=True) for k, v in batch.items()}"),
        (Form("list", parts=(TENSOR,)), "[v.to(device, non_blocking=True) for v in batch]"),
        (Form("tuple", parts=(TENSOR,)), "tuple(v.to(device, non_blocking=True) for v in batch)"),
        (
            Form("list", parts=(TARGET,)),
            "[{name: value.to(device, non_blocking=True) for name, value in v.items()} for v in batch]",
        ),
        (
            Form("list", parts=(TENSOR, TEXT)),
            '[v.to(device, non_blocking=True) if hasattr(v, "to") else v for v in batch]',
        ),
        (Form("BatchEncoding", moves=True, is_dict=True, parts=(TENSOR,)), "batch.to(device, non_blocking=True)"),
    ],
)
def test_a_batch_is_moved_by_its_elements(crash: Build, form: Form, code: str) -> None:
    build = crash("""
        def train(model, loader, device):
            for batch in loader:
                loss = model(batch)
        """)
    history = (Stop("cpu", "it comes from the loader", "train.py", build.line("for batch")),)
    batch = Operand("batch", Kind.BATCH, "cpu", history=history, type=form.type)
    case = build.at("model(batch)", batch, tensor("w", GPU), live={(0, "batch"): form})
    assert case.results()[0] == f"batch = {code}"


def test_the_names_of_a_comprehension_hide_no_device(crash: Build) -> None:
    build = crash("""
        def train(model, loader, v):
            for batch in loader:
                loss = model(batch, v)
        """)
    batch = Operand("batch", Kind.BATCH, "cpu", type="list")
    live = {(0, "batch"): Form("list", parts=(TENSOR,))}
    case = build.at("model(batch, v)", batch, tensor("v", GPU), live=live)
    assert case.results()[0] == "batch = [v_.to(v.device, non_blocking=True) for v_ in batch]"


def test_targets_are_moved_in_the_training_loop_as_their_siblings_are(crash: Build) -> None:
    build = crash("""
        def losses(boxes, targets):
            for number, target in enumerate(targets):
                distance = boxes[number] - target["boxes"]

        def train(model, loader, device):
            for images, targets in loader:
                images = [image.to(device) for image in images]
                losses(model(images), targets)
        """)
    live = {(0, "targets"): Form("list", parts=(TARGET,)), (1, "target"): TARGET}
    case = build.at(
        'boxes[number] - target["boxes"]',
        tensor("boxes", GPU),
        tensor('target["boxes"]', "cpu", Stop("cpu", "it comes from the loader", "train.py", build.line("for images"))),
        through=[("train.py", "losses(model(images), targets)")],
        live=live,
    )
    first = case.results()[0]
    assert first == "targets = [{name: value.to(device) for name, value in v.items()} for v in targets]"


def test_factories_that_meet_in_a_function_go_together(crash: Build) -> None:
    build = crash("""
        import torch

        def anchors(height, width, device):
            rows = torch.arange(height) / height
            columns = torch.arange(width) / width
            return torch.stack(torch.meshgrid(rows, columns), dim=-1)

        def forward(boxes, device):
            centres = anchors(4, 4, device)
            return boxes + centres
        """)
    history = Stop("cpu", "made by torch.arange", "train.py", build.line("rows ="))
    results = build.at("boxes + centres", tensor("boxes", GPU), tensor("centres", "cpu", history)).results()
    assert (
        results.index(
            "rows = torch.arange(height, device=device) / height\ncolumns = torch.arange(width, device=device) / width"
        )
        == 1
    )


def test_what_a_function_returns_is_moved_beside_what_else_it_returns(crash: Build) -> None:
    build = crash("""
        import torch

        def load(nodes):
            x = torch.rand(nodes, 3)
            labels = torch.randint(0, 2, (nodes,))
            index = torch.arange(nodes)
            return x, labels, index

        use_cuda = torch.cuda.is_available()
        x, labels, index = load(8)
        model = torch.nn.Linear(3, 2)
        if use_cuda:
            model.cuda()
            x = x.cuda()
            index = index.cuda()
        loss = torch.nn.functional.cross_entropy(model(x)[index], labels[index])
        """)
    history = Stop("cpu", "made by torch.randint", "train.py", build.line("labels ="))
    operands = (tensor("labels", "cpu", history), tensor("index", GPU))
    case = build.at("labels[index]", *operands, message="indices should be either on cpu or on the same device")
    (_, edits), *_ = case.repairs[0].edits
    assert edits[0].anchor.line >= build.line("x, labels, index")  # type: ignore[union-attr]


def test_the_model_is_moved_up_and_not_twice(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        def restore(state, device):
            model = nn.Linear(2, 2)
            optimizer = torch.optim.Adam(model.parameters())
            optimizer.load_state_dict(state)
            model.to(device)
            optimizer.step()
        """)
    operand = Operand("optimizer", Kind.OPTIMIZER, "cpu", frame=0)
    case = build.at("optimizer.step()", operand, module("model", GPU))
    (repair, *_), (file, edits) = case.repairs, case.repairs[0].edits[0]
    assert "before `optimizer` is built" in repair.title
    assert file == "train.py"
    assert len(edits) == 2


def test_a_value_with_a_long_past(crash: Build) -> None:
    lines = "".join("    x = torch.relu(x)\n" for _ in range(500))
    build = crash(f"import torch\n\n\ndef main(net, device):\n    x = torch.ones(4, 3)\n{lines}    net(x)\n")
    case = build.at("net(x)", tensor("x"), module("net", GPU))
    assert "Make `torch.ones(…)` at line 5 on the device" in [one.title for one in case.repairs]
