"""What stands beside values that are moved, and has no `.to`: containers, and distributions."""

import pytest

TRAINER = """
    from collections import OrderedDict, defaultdict
    class Trainer:
        def __init__(self, model, device, loss_of):
            self.device = device
            self.model = model.to(self.device)
            self.loss_of = loss_of
        def run(self, loader, read):
            for _ in range(3):
                kept = {kept}
                for data, _ in loader:
                    self.step(data, kept)
        def step(self, data, kept):
            data = data.to(self.device)
            loss = self.loss_of(data, self.model(data), self.model.training, kept)
            loss.backward()
"""


@pytest.mark.parametrize("kept", ["defaultdict(list)", "OrderedDict()", "{}", "[]", "dict(read())"])
def test_a_container_that_the_caller_makes(repairs, kept: str) -> None:
    assert repairs.added(TRAINER.format(kept=kept)) == []


def test_what_may_be_a_tensor_is_moved(repairs) -> None:
    assert repairs.added(TRAINER.format(kept="read()")) == ["kept = kept.to(self.device)"]


BESIDE = """
    from torch.distributions import kl_divergence
    def loss(output, target, prior):
        wanted = target.float().cuda()
        return torch.pow(wanted - {used}, 2).sum()
"""


@pytest.mark.parametrize(
    "used",
    [
        "output.loc",
        "output.log_prob(wanted)",
        "output.rsample()",
        "kl_divergence(output, prior)",
        'output[0]["mean"]',
        "torch.stack(output[0])",
    ],
)
def test_what_no_tensor_can_be_asked_for(repairs, used: str) -> None:
    assert repairs.added(BESIDE.format(used=used)) == []


@pytest.mark.parametrize("used", ["output", "output.mean(0)", "output[0]", "torch.stack([output, output])"])
def test_what_tensors_are_asked_for(repairs, used: str) -> None:
    assert repairs.added(BESIDE.format(used=used)) == ["output = output.cuda()"]


REBUILT = """
    class Sample:
        pass
    def rebuild(rows, keys):
        sample = Sample()
        for k in keys:
            {first}
            rows[k] = torch.from_numpy(rows[k])
        {last}
        return sample
"""


@pytest.mark.parametrize(
    ("first", "last", "is_container"),
    [
        ("pass", "sample.__dict__ = rows", True),
        ("rows[k].append(k)", "sample.x = rows", True),
        ("pass", "sample.x = rows", False),
    ],
)
def test_a_container_by_its_use_has_no_device(repairs, first: str, last: str, is_container: bool) -> None:
    assert (
        any("rows.device" in one for one in repairs.added(REBUILT.format(first=first, last=last))) is not is_container
    )


CALLED = """
    from tqdm import tqdm
    def similarity(model: nn.Module, x, target{default}):
        x = x.cuda()
        out = model(x, target)
        loss = {used}
        return loss.backward()
"""


@pytest.mark.parametrize(
    ("default", "used", "is_moved"),
    [("", "target(out)", False), ("=tqdm", "out.sum()", False), ("", "out.sum()", True)],
)
def test_a_function_that_is_given_is_not_moved(repairs, default: str, used: str, is_moved: bool) -> None:
    added = repairs.added(CALLED.format(default=default, used=used))
    assert any("target" in one for one in added) is is_moved, added


TRIMMED = """
    def trim(front, wave, lengths, most):
        rows = front(wave.squeeze(-1))
        out = torch.zeros([rows.shape[0], most], dtype=rows.dtype, device=rows.device)
        for i in range(rows.shape[0]):
            n = lengths[i] // 4
            start = torch.rand([1]) * (n - most)
            start = torch.floor(start[0]).long()
            out[i] = {used}
        return out
"""


@pytest.mark.parametrize(
    ("used", "is_made_there"),
    [("rows[i, start : most + start]", False), ("rows[i, start:]", False), ("rows[i] + start[None]", True)],
)
def test_bounds_of_slices_belong_on_no_device(repairs, used: str, is_made_there: bool) -> None:
    added = repairs.added(TRIMMED.format(used=used))
    assert any("torch.rand([1], device=" in one for one in added) is is_made_there, added


OF_A_LIST = """
    def joined(rows):
        labels, splits = [], [0]
        for row in rows:
            labels.append(row)
            splits.append(splits[-1] + row.size(0))
        return torch.cat(labels), {splits}
    def run(rows, names, give, device):
        label, splits = joined(rows)
        label = label.to(device)
        return give(label, splits)
"""


@pytest.mark.parametrize(
    ("splits", "is_moved"),
    [("splits[1:-1]", False), ("splits", False), ("torch.tensor(splits)[1:]", True), ("torch.cat(rows)", True)],
)
def test_a_slice_of_a_list_is_a_list(repairs, splits: str, is_moved: bool) -> None:
    added = repairs.added(OF_A_LIST.format(splits=splits))
    assert ("splits = splits.to(device)" in added) is is_moved, added


GIVEN_ON = """
    def fit(model, features, {name}, data):
        rows = torch.Tensor(np.array(data))
        return step(model, features, rows, {name})
    def step(model, features, rows, fit_by):
        return (features + rows), fit_by
"""


@pytest.mark.parametrize("name", ["fit_function", "on_end_callback", "loss_fn"])
def test_a_function_by_its_name_has_no_device(repairs, name: str) -> None:
    assert not any(f"{name}.device" in one for one in repairs.added(GIVEN_ON.format(name=name)))
    assert any("features.device" in one for one in repairs.added(GIVEN_ON.format(name=name)))
