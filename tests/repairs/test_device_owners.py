"""What is asked for its device has one: no value that is None there, no module that may have no parameters."""

import pytest

NONE = """
    class Accuracy:
        def __call__(self, found: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor | None = None):
            found, labels, mask = self.detached(found, labels, mask)
            top = found.max(-1)[1].unsqueeze(-1)
            right = top.eq(labels.unsqueeze(-1)).float()
            rows = torch.arange(labels.numel(), device=labels.device).long()
            if {test}:
                right *= mask.view(-1, 1)
                total = mask.sum()
            else:
                total = torch.tensor(labels.numel())
            self.right += right.sum().item()
            self.total += total.item()
            return rows
"""
BASES = """
    import abc
    import typing
    from abc import ABC
    from typing import Generic, TypeVar
    T = TypeVar("T")
    class Combined(nn.Module, {base}):
        def forward(self, xs):
            return torch.cat(xs, dim=-1)
        def shape(self, shapes):
            return self([torch.empty(size=shape) for shape in shapes]).shape
"""


@pytest.mark.parametrize("test", ["mask is not None", "not (mask is None)", "mask is not None and mask.any()"])
def test_what_is_none_has_no_device(repairs, test: str) -> None:
    assert not [one for one in repairs.added(NONE.format(test=test)) if "labels.numel()" in one and "mask" in one]


@pytest.mark.parametrize("base", ["ABC", "abc.ABC", "Generic[T]", "typing.Generic[T]"])
def test_a_class_that_keeps_no_modules_has_no_parameters(repairs, base: str) -> None:
    assert not [one for one in repairs.added(BASES.format(base=base)) if "parameters()" in one]


def test_a_class_of_an_unread_base_may_have_parameters(repairs) -> None:
    program = BASES.replace("import abc", "from bases import Layer").replace("nn.Module, {base}", "Layer, nn.Module")
    assert [one for one in repairs.added(program) if "parameters()" in one]


SIZED = """
    def started(rows):
        whole = {whole}
        first = torch.zeros(whole.size()).long()
        first[:, 0] = 1
        return first, whole
"""


def test_a_list_of_tensors_has_no_device(repairs) -> None:
    assert not any("rows.device" in one for one in repairs.added(SIZED.format(whole="torch.cat(rows)")))


@pytest.mark.parametrize("whole", ["rows.float()", "rows * 2", "torch.relu(rows)", "rows[:, :4]"])
def test_what_is_treated_as_a_tensor_has_one(repairs, whole: str) -> None:
    assert any("device=" in one for one in repairs.added(SIZED.format(whole=whole)))


SETTINGS = """
    class Coder(nn.Module):
        def __init__(self, size, cfg):
            super().__init__()
            self.cfg = cfg
            self.net = nn.Linear(size, size)
            self.register_buffer("least", torch.ones(size) * {least})
        def forward(self, x):
            return self.net(x) - self.least * self.cfg.rate
"""


@pytest.mark.parametrize("least", ["self.cfg.least", "cfg.least"])
def test_settings_have_no_device(repairs, least: str) -> None:
    assert not any("cfg.device" in one for one in repairs.added(SETTINGS.format(least=least)))


CHOSEN = """
    class Score(nn.Module):
        def forward(self, x: torch.Tensor, chosen: {annotation} = None):
            if chosen is None:
                chosen = torch.rand(1) < 0.5
            return x if chosen else -x
"""


@pytest.mark.parametrize("annotation", ["typing.Optional[bool]", "bool | None", "typing.Optional[torch.Tensor]"])
def test_an_input_that_is_none_has_no_device(repairs, annotation: str) -> None:
    assert not any("chosen.device" in one for one in repairs.added(CHOSEN.format(annotation=annotation)))


def test_a_flag_of_the_caller_is_nowhere(repairs) -> None:
    assert repairs.added(CHOSEN.format(annotation="typing.Optional[bool]")) == []


NORMED = """
    class Agent:
        def __init__(self, model, mean):
            self.net, self.mean = model.Model(3), mean
        def normed(self, states):
            return states - torch.from_numpy(self.mean).to(states.device)
        def values(self, states):
            return self.net.forward(self.normed(states))
"""


def test_an_input_is_not_moved_for_its_module(repairs) -> None:
    assert not any(one.startswith("states.to(") for one in repairs.added(NORMED))
