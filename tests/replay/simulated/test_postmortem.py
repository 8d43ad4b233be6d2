"""Crashes on the simulated accelerator, and what is told of them."""

import pytest
from devfix.replay.postmortem import BatchValue, ModuleValue, OptimizerValue, PostMortem, TensorValue, decode, story

from .conftest import Result, Simulate


def examined(result: Result) -> PostMortem:
    postmortem = decode(result.postmortem)
    assert postmortem is not None, result.printed
    return postmortem


TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.fc(x).relu())

def train(model, loader, optimizer, device):
    for data, target in loader:
        data = data.to(device)
        optimizer.zero_grad()
        logits = model(data)
        loss = nn.functional.cross_entropy(logits, target)
        loss.backward()
        optimizer.step()

device = torch.device("cuda")
model = Net()
model.to(device)
pairs = TensorDataset(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
train(model, DataLoader(pairs, batch_size=4), torch.optim.Adam(model.parameters()), device)
"""


def test_a_batch_that_was_never_moved(simulate: Simulate) -> None:
    postmortem = examined(simulate(TRAINING))
    assert story(postmortem) == (
        "`target` (int64[4]) is on the host: it comes from the loader at script.py:15 and was never moved; "
        "`logits` is on cuda:0 since `model.to(device)` at script.py:25; "
        "they meet in `nn.functional.cross_entropy` at script.py:19."
    )
    assert (postmortem.line, postmortem.column, postmortem.end_line) == (19, 15, 19)
    assert postmortem.code == "nn.functional.cross_entropy(logits, target)"
    assert postmortem.function == "train"
    assert [frame.line for frame in postmortem.frames] == [27, 19]
    assert {value.expression for value in postmortem.culprits} == {"target", "logits"}
    reached = {value.expression: value for value in postmortem.values}
    assert isinstance(reached["model"], ModuleValue)
    assert reached["model"].places == {"cuda:0": 4}
    assert isinstance(reached["optimizer"], OptimizerValue)
    assert isinstance(reached["data"], TensorValue)
    steps = [(step.place, step.line) for step in reached["data"].facts.history]
    assert steps == [("cpu", 26), ("cpu", 15), ("cuda:0", 16)]


def test_a_layer_that_came_after_the_move(simulate: Simulate) -> None:
    late = TRAINING.replace("model.to(device)", "model.to(device); model.head = nn.Linear(8, 3)").replace(
        "data = data", "data, target = data.to(device), target.to(device)  #"
    )
    postmortem = examined(simulate(late))
    assert story(postmortem).startswith(
        "`self.head` (Linear, in `model`) is on the host: made by `model.to(device); model.head ="
    )
    assert "they meet in `self.head` at script.py:12" in story(postmortem)
    model = next(value for value in postmortem.values if value.expression == "self")
    assert isinstance(model, ModuleValue)
    assert model.places == {"cuda:0": 2, "cpu": 2}
    assert [member.name for member in model.odd] == ["head.weight", "head.bias"]
    outer = next(value for value in postmortem.values if value.expression == "model")
    assert (outer.alias, outer.frame, outer.culprit) == ("self", 1, True)


def test_a_tensor_that_is_no_buffer(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.scale = torch.full((4,), 2.0)
                    self.fc = torch.nn.Linear(4, 4)
                def forward(self, x):
                    return self.fc(x) * self.scale
            net = Net().to("cuda")
            net(torch.randn(2, 4, device="cuda"))
            """)
    )
    assert story(postmortem) == (
        "`self.scale` (float32[4], in `net`) is on the host: made by `torch.full` at script.py:5 and never moved; "
        '`self.fc(x)` is on cuda:0 since `net = Net().to("cuda")` at script.py:9; '
        "they meet in `self.fc(x) * self.scale` at script.py:8."
    )


def test_both_hidden_states_of_an_lstm(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            rnn = torch.nn.LSTM(8, 8).cuda()
            hidden = (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))
            rnn(torch.randn(5, 2, 8).cuda(), hidden)
            """)
    )
    told = story(postmortem)
    assert "`hidden[0]` (float32[1, 2, 8]) and `hidden[1]` (float32[1, 2, 8]) are on the host" in told
    assert "they meet in `rnn` at script.py:4" in told


def test_an_item_of_a_batch_passed_by_keywords(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            class Model(torch.nn.Embedding):
                def forward(self, input_ids, labels):
                    return super().forward(input_ids)
            model = Model(5, 3).cuda()
            batch = {"input_ids": torch.zeros(2, 3, dtype=torch.long), "labels": torch.ones(2).cuda()}
            model(**batch)
            """)
    )
    batch = next(value for value in postmortem.values if value.expression == "batch")
    assert isinstance(batch, BatchValue)
    assert batch.culprit
    assert batch.involved == ("input_ids",)
    assert [(item.name, item.expression, item.facts.place) for item in batch.items] == [
        ("input_ids", "batch['input_ids']", "cpu"),
        ("labels", "batch['labels']", "cuda:0"),
    ]
    assert "`input_ids` (int64[2, 3]) is on the host" in story(postmortem)


def test_what_numpy_cannot_have(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            a, b = torch.ones(3, device="cuda"), torch.ones(3)
            try:
                a + b
            except RuntimeError:
                pass
            total = a * 2
            total.numpy()
            """)
    )
    assert [value.expression for value in postmortem.culprits if value.operand] == ["total"]
    assert story(postmortem).endswith("`total.numpy` at script.py:8 needs it on the host: numpy knows no other place.")


def test_the_state_of_an_optimizer(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            model = torch.nn.Linear(3, 3)
            optimizer = torch.optim.Adam(model.parameters())
            model(torch.randn(2, 3)).sum().backward()
            optimizer.step()
            model.cuda()
            optimizer.zero_grad()
            model(torch.randn(2, 3).cuda()).sum().backward()
            optimizer.step()
            """)
    )
    assert story(postmortem) == (
        "the parameters of `optimizer` (Adam) are on cuda:0 since `model.cuda()` at script.py:6, "
        "its state is on the host: made by `optimizer.step()` at script.py:5 and never moved; "
        "they meet in `optimizer.step` at script.py:9."
    )


def test_a_generator_of_another_device(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            generator = torch.Generator()
            torch.randn(3, generator=generator, device="cuda")
            """)
    )
    assert story(postmortem) == (
        "`generator` is a generator on the host; "
        "`torch.randn` at script.py:3 draws on cuda, with a generator of that device only."
    )


def test_intermediate_results_are_told_by_their_source(simulate: Simulate) -> None:
    postmortem = examined(
        simulate("""
            import torch
            from torch import nn
            loss = nn.CrossEntropyLoss()
            net = nn.Linear(3, 3).cuda()
            loss(net(torch.ones(2, 3, device="cuda")), torch.zeros(2, dtype=torch.long))
            """)
    )
    told = [value.expression for value in postmortem.culprits]
    assert "net(torch.ones(2, 3, device='cuda'))" in told
    assert "torch.zeros(2, dtype=torch.long)" in told


@pytest.mark.parametrize("call", ["torch.sub(net(x), y)", "net(x).sub(y)", "torch.mul(input=net(x), other=y)"])
def test_also_those_of_operations_that_torch_hands_on(simulate: Simulate, call: str) -> None:
    result = simulate(f"""
        import torch
        net, x, y = torch.nn.Linear(3, 2).cuda(), torch.ones(4, 3).cuda(), torch.ones(4, 2)
        {call}
        """)
    places = {one.expression: one.facts.place for one in examined(result).culprits if isinstance(one, TensorValue)}
    assert places == {"net(x)": "cuda:0", "y": "cpu"}


LIBRARY = """
import torch
source = '''
def difference(pred, target, weight=None):
    return ((pred - target) ** 2).mean()
class Losses:
    @staticmethod
    def static(pred, target, weight=None):
        return difference(pred, target)
    def method(self, pred, target):
        return difference(pred, target)
    def weighted(self, pred, target, weight=None):
        return difference(pred, target)
    any_method = lambda *args: difference(*args[1:])
def wrapped(*args, **kwargs):
    return difference(*args, **kwargs)
losses = Losses()
'''
exec(compile(source, "library.py", "exec"))  # outside the tree
net, x, y = torch.nn.Linear(3, 2).cuda(), torch.ones(4, 3).cuda(), torch.ones(4, 2)
"""


@pytest.mark.parametrize(
    "call",
    [
        "difference(net(x), y)",
        "Losses.static(net(x), y)",
        "losses.static(net(x), y)",
        "losses.method(net(x), y)",
        "losses.weighted(net(x), y)",
        "Losses.weighted(losses, net(x), y)",
        "losses.any_method(net(x), y)",
        "wrapped(net(x), target=y)",
    ],
)
def test_defaults_of_a_library_function_are_no_arguments(simulate: Simulate, call: str) -> None:
    found = examined(simulate(f"{LIBRARY}{call}\n")).culprits
    places = {one.expression: one.facts.place for one in found if isinstance(one, TensorValue)}
    assert places == {"net(x)": "cuda:0", "y": "cpu"}


def test_two_devices(simulate: Simulate) -> None:
    result = simulate(
        "import torch\na = torch.ones(2, device='cuda:0')\nb = torch.ones(2, device='cuda:1')\na + b\n", devices=2
    )
    assert {value.expression for value in examined(result).culprits} == {"a", "b"}
    assert "on cuda:1" in story(examined(result))


def test_an_error_about_no_device_has_no_postmortem(simulate: Simulate) -> None:
    assert simulate("import torch\ntorch.ones(2) + torch.ones(3)\n").postmortem is None


def test_a_crash_in_a_worker_has_no_postmortem(simulate: Simulate) -> None:
    result = simulate("""
        import torch
        from torch.utils.data import DataLoader
        def collate(samples):
            return torch.stack(samples).cuda() + 1
        torch.zeros(1).cuda()
        for batch in DataLoader([torch.ones(1)] * 4, batch_size=2, num_workers=1, collate_fn=collate):
            pass
        """)
    assert "Cannot re-initialize CUDA in forked subprocess" in result.message
    assert result.postmortem is None


METRIC = """
import torch

# A library's metric, whose code is not in the tree.
exec(compile('''
class Metric:
    def __init__(self):
        self.total = torch.zeros(3)

    def update(self, value):
        try:
            self.total += value
        except RuntimeError as error:
            raise RuntimeError("Encountered different devices in metric calculation") from error
''', "/library/metric.py", "exec"))

metric = Metric()
logits = torch.ones(3, device="cuda")
metric.update(logits)
"""


def test_an_error_that_a_library_caught_and_raised_as_its_own(simulate: Simulate) -> None:
    postmortem = examined(simulate(METRIC))
    assert postmortem.message == "Encountered different devices in metric calculation"
    assert postmortem.line == 18
    assert story(postmortem) == (
        "`metric.total` (float32[3]) is on the host: made by `metric = Metric()` at script.py:16 and never moved; "
        "`logits` is on cuda:0: made by `torch.ones` at script.py:17; they meet in `metric.update` at script.py:18."
    )
