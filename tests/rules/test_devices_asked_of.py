"""DVF501: what is asked for its device has one, and is where the value has to go."""

import pytest

CODE = "DVF501"

LOADED = """
    import torch
    from readers import Reader
    u, v = Reader("u").field(), Reader("v").field()
    rows = torch.stack([u, v])
    model = Net(3).cuda()
    x = rows.cuda()
    for _ in range(3):
        loss = (model(x) - {target}).mean()
        loss.backward()
"""


def test_what_a_value_was_made_of_is_no_place_to_go(rule) -> None:
    after = rule.unchanged_unless_unsafe(LOADED.format(target="rows.cuda()"))
    assert "u.device" not in after
    assert "x = rows.to(device)" in after


MADE = """
    import torch
    def f(x: torch.Tensor, y: torch.Tensor):
        mask = (x > 0).cuda()
        return mask * {other}
"""


@pytest.mark.parametrize("other", ["y", "(x + y)"])
def test_what_it_meets_is(rule, other: str) -> None:
    assert "mask = (x > 0).to(y.device)" in rule.fixed(MADE.format(other=other))


SUMMED = """
    import torch
    def train(model, loader, extra, criterion):
        total = {start}
        for x, y in loader:
            outputs = model(x)
            loss = criterion(outputs, y)
            one = next(extra)
            one = one.cuda()
            loss += model(one).mean()
            loss.backward()
            total += {counted}
        return total
"""


@pytest.mark.parametrize(
    ("start", "counted"),
    [("0.0", "loss.item() * len(x)"), ("0", "loss.data[0] * len(x)"), ("0", "loss"), ("0.0", "loss.detach()")],
)
def test_a_sum_that_starts_as_a_number_is_not_asked(rule, start: str, counted: str) -> None:
    assert "total.device" not in rule.fixed(SUMMED.format(start=start, counted=counted), unsafe=True)


CALLED = """
    import torch
    def metrics(model, loader, k):
        for user, item in loader:
            user = user.cuda()
            item = item.cuda()
            {asks}
            _, indices = torch.topk(model(user, item), k)
            print(torch.take(item, indices))
"""


def test_modules_have_parameters_and_no_device(rule) -> None:
    after = rule.unchanged_unless_unsafe(CALLED.format(asks="model.eval()"))
    assert "model.device" not in after
    assert "device = next(model.parameters()).device" in after


LATER = """
    import torch
    from torch import nn
    class Net({base}):
        def __init__(self, size):
            super().__init__()
            {kept}
            self.size = size
            {first}
        def forward(self, x):
            return self.run(x) * self.weights
        def run(self, x):
            return x
        def reset(self):
            self.weights = torch.randn(self.size).cuda()
        def begin(self):
            self.reset()
"""
PLAIN = {"base": "nn.Module", "kept": "self.layer = nn.Linear(3, size)", "first": "self.deep = 3"}


@pytest.mark.parametrize(
    "given",
    [
        {"first": "self.reset()"},
        {"first": "self.begin()"},
        {"kept": "self.size = 3"},
        {"kept": "self.act = nn.ReLU()"},
        {"kept": "self.rows = [1, 2]"},
    ],
)
def test_no_parameters_to_follow(rule, given: dict[str, str]) -> None:
    program = LATER.format(**(PLAIN | given))
    assert all("parameters" not in one.fix.title for one in rule.findings(program) if one.fix is not None)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kept": "self.layers = make(size)"},
        {"kept": "self.layers = [make(one) for one in range(size)]"},
    ],
)
def test_parameters_to_follow(rule, given: dict[str, str]) -> None:
    program = LATER.format(**(PLAIN | given))
    after = rule.unchanged_unless_unsafe(program)
    assert "torch.randn(self.size).to(next(self.parameters()).device)" in after


def test_a_layer_to_follow_where_the_base_may_be_no_module(rule) -> None:
    after = rule.unchanged_unless_unsafe(LATER.format(**(PLAIN | {"base": "Base"})))
    assert "torch.randn(self.size).to(next(self.layer.parameters()).device)" in after


COUNTED = """
    import torch
    import models
    {name} = {cards}
    batch = 3 * 2
    model = models.build(3).cuda()
"""


@pytest.mark.parametrize("cards", ["torch.cuda.device_count()", "len(devices)"])
def test_a_number_of_cards_is_none(rule, cards: str) -> None:
    for one in rule.findings(COUNTED.format(name="n_device", cards=cards)):
        assert one.fix is None or "n_device" not in one.fix.title


@pytest.mark.parametrize("cards", ["torch.device(options.device)", "options.device"])
def test_a_device_is(rule, cards: str) -> None:
    assert "models.build(3).to(device)" in rule.fixed(COUNTED.format(name="device", cards=cards), unsafe=True)
