"""Places at which a move would never run, would run on one path alone, or would move nothing."""

import pytest
from devfix_codemods.findings import Safety

FLAGGED = """
    class Trainer:
        def __init__(self, opt):
            self.model = Network(opt)
            if opt["cuda"]:
                self.model.to("cuda")
        def step(self, batch, x):
            {first}
            logits, _ = self.model(x)
            return self.criterion(logits, labels)
"""
BRANCHES = """if self.opt["cuda"]:
                labels = batch[9].to("cuda")
            else:
                labels = batch[9]"""


def test_what_never_runs(repairs) -> None:
    """In the `else` of a test, what is moved under that test."""
    added = repairs.added(FLAGGED.format(first=BRANCHES))
    assert not any('to("cuda")' in one for one in added)


STEP = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.generator = nn.GRU(3, 3).to(self.device)
        def latent(self, data):
            if torch.cuda.is_available():
                data = data.to(device=self.device)
        def losses(self, hidden, outputs, criterion):
            for i in range(outputs.shape[0]):
                found, hidden = self.generator(given, hidden)
                loss = criterion(found, outputs[i, :])
        def step(self, data, target, which, pad):
            criterion = nn.CrossEntropyLoss(ignore_index=pad)
            latent = self.latent(data)
            {made}
            states, _ = self.losses(both, target, criterion)
"""
JOINED = "both = torch.cat((latent, torch.zeros([1, 3], dtype=torch.float, device=self.device)), 2)"


def _moved(repairs, made: str) -> list[str]:
    lines = repairs.written(STEP.format(made=made), Safety.SUGGESTION).splitlines()
    return [one for one in lines if "target = target" in one]


def test_beside_what_one_branch_makes(repairs) -> None:
    moved = _moved(repairs, f"if which == 0:\n                {JOINED}")
    assert not any(one.startswith("            ") for one in moved)


def test_beside_what_all_paths_make(repairs) -> None:
    assert _moved(repairs, JOINED) == ["        target = target.to(self.device)"]


KEPT = """
    class Noise:
        def __init__(self):
            self.own = torch.Tensor([[0.4, 0.7], [-0.8, 0.1]])
        def __call__(self, x):
            made = torch.mm(torch.zeros_like(self.own), self.own)
            return {used}
"""


def test_a_value_to_its_own_device(repairs) -> None:
    assert repairs.added(KEPT.format(used="x + made.view(3, 1, 1)")) == []


@pytest.mark.parametrize("used", ["torch.matmul(x, made)", "torch.stack([x, made.view(2, 2)])"])
def test_a_value_to_the_device_of_another_one(repairs, used: str) -> None:
    assert any("x.device" in one for one in repairs.added(KEPT.format(used=used)))


STATES = """
    def upgrade(state, name, rows: torch.Tensor):
        key = "{{}}.version".format(name)
        if key in state:
            del state[key]
        {store}
        return rows + 1
"""


@pytest.mark.parametrize("store", ["state[key] = torch.Tensor([1])", 'state[f"{name}.x"] = torch.Tensor([1])'])
def test_a_dictionary_has_no_device(repairs, store: str) -> None:
    assert repairs.added(STATES.replace("{store}", store).replace("{{}}", "{}")) == []


def test_a_tensor_that_is_filled_has_one(repairs) -> None:
    program = """
        def fill(state: torch.Tensor, i):
            state[i] = torch.eye(3)
            return torch.matmul(state, torch.eye(3))
    """
    assert any("state.device" in one for one in repairs.added(program))


COUNTED = """
    class Sampler:
        def __init__(self, {count}):
            rows = torch.arange(1.0, 9.0).log_()
            self.log = (-rows.double() * 2 * {count}).expm1_()
"""


@pytest.mark.parametrize("count", ["n_samples", "num_tries"])
def test_a_count_has_no_device(repairs, count: str) -> None:
    assert not any(f"{count}.device" in one for one in repairs.added(COUNTED.format(count=count)))
