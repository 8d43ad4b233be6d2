"""Repairs of tensors and batches: where nothing may be offered, then what is offered first."""

from collections.abc import Callable

import pytest
from devfix_codemods.diagnosis import Stop

from .conftest import GPU, Crash, tensor

Build = Callable[..., Crash]

LOOP = """
import torch

def train(model, loader, criterion, device):
    for x, y in loader:
        x = x.to(device)
        out = model(x)
        loss = criterion(out, y)
"""


# Nothing, or nothing there


def test_nothing_is_offered_for_files_that_are_not_the_users(crash: Build) -> None:
    path = "lib/site-packages/vendor/train.py"
    case = crash({path: LOOP}).at("criterion(out, y)", tensor("out", GPU), tensor("y"), file=path)
    assert case.repairs == ()


def test_nothing_is_offered_for_files_that_are_not_given(crash: Build) -> None:
    build = crash({"train.py": LOOP, "other.py": "import torch\n"})
    case = build.at("criterion(out, y)", tensor("out", GPU), tensor("y"))
    del build.sources["train.py"]
    assert case.repairs == ()


def test_no_name_is_used_that_some_path_leaves_unbound(crash: Build) -> None:
    build = crash("""
        import torch

        def train(model, fast):
            if fast:
                device = torch.device("cuda")
            mask = torch.ones(3)
            out = model(mask)
            return out * mask
        """)
    history = Stop("cpu", "made by torch.ones", "train.py", build.line("mask ="))
    case = build.at("out * mask", tensor("out", GPU), tensor("mask", "cpu", history))
    assert case.results() == ["return out * mask.to(out.device)"]


def test_a_name_that_is_bound_on_all_paths_is_used(crash: Build) -> None:
    build = crash("""
        import torch

        def train(model, fast):
            if fast:
                device = torch.device("cuda")
            else:
                device = torch.device("cuda:0")
            mask = torch.ones(3)
            out = model(mask)
            return out * mask
        """)
    history = Stop("cpu", "made by torch.ones", "train.py", build.line("mask ="))
    case = build.at("out * mask", tensor("out", GPU), tensor("mask", "cpu", history))
    assert case.results()[0] == "mask = torch.ones(3, device=device)"


@pytest.mark.parametrize(
    ("above", "inside"),
    [
        ("", "device = out.device"),
        ("del device", "pass"),
        ("if other:\n    del device", "pass"),
        ("try:\n    run()\nexcept OSError as device:\n    pass", "pass"),
    ],
)
def test_a_name_of_the_module_that_the_function_does_not_see_is_not_used(crash: Build, above: str, inside: str) -> None:
    build = crash(
        f"""import torch
device = torch.device("cuda")
{above}
def train(model):
    mask = torch.ones(3)
    out = model(mask)
    total = out * mask
    {inside}
    return total
"""
    )
    history = Stop("cpu", "made by torch.ones", "train.py", build.line("mask ="))
    case = build.at("out * mask", tensor("out", GPU), tensor("mask", "cpu", history))
    assert case.results() == ["total = out * mask.to(out.device)"]


def test_what_the_program_put_on_the_host_is_not_taken_back(crash: Build) -> None:
    build = crash("""
        import torch

        def evaluate(model, loader, device):
            for x, y in loader:
                y = y.to(device)
                out = model(x.to(device)).cpu()
                hits = out == y
        """)
    moved = Stop("cpu", "moved by .cpu", "train.py", build.line("out ="))
    case = build.at("out == y", tensor("out", "cpu", moved), tensor("y", GPU))
    assert case.results() == ["hits = out == y.cpu()"]


def test_nothing_is_moved_in_a_dataset_or_a_collate_function(crash: Build) -> None:
    build = crash("""
        import torch

        class Items(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return torch.ones(3)

        def collate(items):
            return torch.stack(items)

        def train(model, device):
            data = Items()
            for index in range(3):
                x = data[index]
                out = model(x)
        """)
    history = Stop("cpu", "made by torch.ones", "train.py", build.line("return torch.ones"))
    case = build.at("model(x)", tensor("x", "cpu", history), tensor("w", GPU))
    assert case.results()
    assert not any("torch.ones" in result or "stack" in result for result in case.results())


def test_the_name_of_a_host_device_is_no_device(crash: Build) -> None:
    build = crash("""
        import torch
        device = torch.device("cpu")

        def mix(model, x):
            mask = torch.ones(3)
            out = model(x)
            return out * mask
        """)
    case = build.at("out * mask", tensor("out", GPU), tensor("mask"))
    assert all("(device" not in result and "=device" not in result for result in case.results())


def test_what_is_added_comes_to_the_target_that_cannot_be_moved(crash: Build) -> None:
    build = crash("""
        import torch

        def add(total, x):
            total += x
        """)
    case = build.at("total += x", tensor("x", GPU), tensor("total"))
    assert case.results() == ["total += x.to(total.device)"]


def test_the_device_of_init_is_used_only_below_its_assignment(crash: Build) -> None:
    build = crash("""
        import torch

        class Runner:
            def __init__(self, device):
                self.scale = torch.ones(3)
                self.device = device

            def run(self, x):
                return x * self.scale
        """)
    case = build.at("x * self.scale", tensor("x", GPU), tensor("self.scale"))
    assert "self.scale = torch.ones(3, device=device)" in case.results()
    assert not any("device=self.device" in result for result in case.results())


# What is offered


def test_a_label_is_moved_beside_its_sibling_in_its_style(crash: Build) -> None:
    build = crash(LOOP.replace("x.to(device)", "x.to(device, non_blocking=True)"))
    history = Stop("cpu", "it comes from the loader", "train.py", build.line("for x"))
    case = build.at("criterion(out, y)", tensor("out", GPU), tensor("y", "cpu", history))
    assert case.results()[0] == "y = y.to(device, non_blocking=True)"
    assert case.results()[-1] == "loss = criterion(out, y.to(out.device))"


def test_a_batch_is_moved_in_the_loop_of_the_frame_outside(crash: Build) -> None:
    build = crash(
        {
            "train.py": """
            from model import step

            def train(net, loader, device):
                for images, labels in loader:
                    step(net, images, labels)
            """,
            "model.py": """
            def step(net, x, y):
                return net(x)
            """,
        }
    )
    history = Stop("cpu", "it comes from the loader", "train.py", build.line("for images"))
    case = build.at(
        "net(x)",
        tensor("x", "cpu", history),
        tensor("net.weight", GPU),
        through=[("train.py", "step(net, images, labels)")],
        file="model.py",
    )
    assert case.results()[0] == "images = images.to(device, non_blocking=True)"


def test_an_item_of_a_mapping_is_moved_by_its_key(crash: Build) -> None:
    build = crash("""
        def train(model, loader, device):
            for batch in loader:
                out = model(batch["image"])
        """)
    history = Stop("cpu", "it comes from the loader", "train.py", build.line("for batch"))
    case = build.at('model(batch["image"])', tensor('batch["image"]', "cpu", history), tensor("w", GPU))
    assert case.results()[0] == "batch['image'] = batch['image'].to(device, non_blocking=True)"


def test_a_factory_gets_its_device_where_it_is_called(crash: Build) -> None:
    build = crash(
        {
            "train.py": """
            import torch
            import masks

            def run(model, x):
                out = model(x)
                return out * masks.causal(4, x)
            """,
            "masks.py": """
            import torch

            def causal(n, like):
                size = like.view(-1)
                return torch.ones(n, n).tril()
            """,
        }
    )
    history = Stop("cpu", "made by torch.ones", "masks.py", build.line("return", "masks.py"))
    case = build.at("out * masks.causal(4, x)", tensor("out", GPU), tensor("masks.causal(4, x)", "cpu", history))
    assert case.results()[0] == "return torch.ones(n, n, device=like.device).tril()"


def test_a_constructor_without_device_is_moved_instead(crash: Build) -> None:
    build = crash("""
        import torch

        def run(model, array, device):
            x = torch.from_numpy(array)
            return model(x)
        """)
    history = Stop("cpu", "made by torch.from_numpy", "train.py", build.line("x ="))
    case = build.at("model(x)", tensor("x", "cpu", history), tensor("w", GPU))
    assert case.results()[0] == "x = torch.from_numpy(array).to(device)"


def test_the_birth_of_a_computed_value_is_found(crash: Build) -> None:
    build = crash("""
        import torch

        def run(model, x, device):
            steps = torch.arange(4)
            angles = steps.float() * 0.1
            return model(x) + angles.sin()
        """)
    history = Stop("cpu", "made by torch.arange", "train.py", build.line("steps ="))
    case = build.at("model(x) + angles.sin()", tensor("model(x)", GPU), tensor("angles.sin()", "cpu", history))
    assert case.results()[0] == "steps = torch.arange(4, device=device)"


def test_without_a_history_the_source_is_followed(crash: Build) -> None:
    build = crash("""
        import torch

        def run(model, x, device):
            steps = torch.arange(4)
            angles = steps.float() * 0.1
            return model(x) + angles
        """)
    case = build.at("model(x) + angles", tensor("model(x)", GPU), tensor("angles"))
    assert case.results()[0] == "steps = torch.arange(4, device=device)"


def test_an_attribute_of_a_module_becomes_a_buffer_as_its_rule_does_or_is_moved(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(3)

            def forward(self, x):
                return x * self.scale
        """)
    history = Stop("cpu", "made by torch.ones", "train.py", build.line("self.scale"))
    case = build.at("x * self.scale", tensor("x", GPU), tensor("self.scale", "cpu", history))
    assert case.results()[0] == 'self.register_buffer("scale", torch.ones(3), persistent=False)'
    assert "return x * self.scale.to(x.device)" in case.results()


def test_a_hidden_state_follows_its_input(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                hidden = torch.zeros(1, x.size(0), 8)
                return self.rnn(x, hidden)
        """)
    history = Stop("cpu", "made by torch.zeros", "train.py", build.line("hidden ="))
    message = (
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu"
    )
    case = build.at("self.rnn(x, hidden)", tensor("x", GPU), tensor("hidden", "cpu", history), message=message)
    assert case.results()[0] == "hidden = torch.zeros(1, x.size(0), 8, device=x.device)"


def test_a_script_that_only_says_cuda_gets_cuda(crash: Build) -> None:
    build = crash("""
        import torch
        model = torch.nn.Linear(3, 3).cuda()
        x = torch.ones(3)
        model(x)
        """)
    case = build.at("model(x)", tensor("x"), tensor("w", GPU))
    assert case.results()[0] == 'x = torch.ones(3, device="cuda")'


def test_nothing_is_inserted_where_a_framework_places_values(crash: Build) -> None:
    build = crash("import lightning\n" + LOOP)
    case = build.at("criterion(out, y)", tensor("out", GPU), tensor("y"))
    assert case.repairs == ()


def test_an_item_is_moved_where_it_is_taken_out_of_its_batch(crash: Build) -> None:
    build = crash("""
        def train(model, loader, criterion, device):
            for step, batch in enumerate(loader):
                inputs = batch[0].to(device)
                targets = batch[1]
                out = model(inputs)
                loss = criterion(out, targets)
        """)
    history = Stop("cpu", "it comes from the loader", "train.py", build.line("for step"))
    case = build.at("criterion(out, targets)", tensor("out", GPU), tensor("targets", "cpu", history))
    assert case.results()[0] == "targets = batch[1].to(device)"


def test_a_guarded_sibling_is_joined_inside_its_guard(crash: Build) -> None:
    build = crash("""
        import torch

        def train(model, loader, criterion):
            for x, y in loader:
                if torch.cuda.is_available():
                    x = x.cuda()
                loss = criterion(model(x), y)
        """)
    history = Stop("cpu", "it comes from the loader", "train.py", build.line("for x"))
    case = build.at("criterion(model(x), y)", tensor("model(x)", GPU), tensor("y", "cpu", history))
    assert case.results()[0] == "y = y.cuda()"
    (file, edits), *_ = case.repairs[0].edits
    assert edits[0].anchor.line == build.line("x = x.cuda()")  # type: ignore[union-attr]
    assert file == "train.py"


def test_a_field_of_a_batch_object_is_moved_beside_the_loop(crash: Build) -> None:
    build = crash("""
        import torch
        from torch.utils.data import DataLoader

        def train(model, device):
            data = [(torch.randn(4), 1) for _ in range(3)]
            for batch in DataLoader(data):
                out = model(batch.x)
        """)
    history = (
        Stop("cpu", "made by torch.randn", "train.py", build.line("data =")),
        Stop("cpu", "it comes from the loader", "train.py", build.line("for batch")),
    )
    case = build.at("model(batch.x)", tensor("batch.x", "cpu", *history), tensor("w", GPU))
    assert case.results() == [
        "batch.x = batch.x.to(device, non_blocking=True)",
        "out = model(batch.x.to(device))",
    ]


def test_two_states_that_one_line_makes_go_together(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def start(self, size):
                return torch.zeros(1, size, 8), torch.zeros(1, size, 8)

            def forward(self, x):
                return self.rnn(x, self.start(x.shape[0]))
        """)
    history = Stop("cpu", "made by torch.zeros", "train.py", build.line("return torch.zeros"))
    message = (
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu"
    )
    code = "self.rnn(x, self.start(x.shape[0]))"
    state = tensor("self.start(x.shape[0])", "cpu", history)
    case = build.at(code, tensor("x", GPU), state, message=message)
    device = "device=next(self.parameters()).device"
    assert case.results()[0] == f"return torch.zeros(1, size, 8, {device}), torch.zeros(1, size, 8, {device})"
    assert not any("shape" in result and ".to(" not in result for result in case.results())


def test_either_value_of_a_choice_is_followed(crash: Build) -> None:
    build = crash("""
        import torch

        def run(model, x, device, fast):
            if fast:
                mask = torch.ones(3)
            else:
                mask = torch.zeros(3)
            return model(x) * mask
        """)
    results = build.at("model(x) * mask", tensor("model(x)", GPU), tensor("mask")).results()
    assert "mask = torch.ones(3, device=device)" in results
    assert "mask = torch.zeros(3, device=device)" in results


def test_what_a_name_meant_before_is_not_followed(crash: Build) -> None:
    build = crash("""
        import torch

        def run(model, x, device, given):
            mask = torch.ones(3)
            print(mask.sum())
            mask = given
            return model(x) * mask
        """)
    results = build.at("model(x) * mask", tensor("model(x)", GPU), tensor("mask")).results()
    assert results
    assert not any("torch.ones" in one for one in results)
