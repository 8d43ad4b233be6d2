"""Mappings of tensors that an object gives, and that a model gets entry by entry."""

import pytest
from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

PROGRAM = """
class Batch(dict):
    def to(self, device):
        return Batch({{k: v.to(device) for k, v in self.items()}})

class Encoder:
    def __call__(self, texts):
        return {given}

def train(model, encoder, optimizer):
    for _ in range(2):
        batch = encoder(["one", "two"]){moved}
        loss = model({used}).mean()
        loss.backward()
        optimizer.step()

def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2){to}
    train(model, Encoder(), torch.optim.SGD(model.parameters(), lr=0.1))
"""


def program(given: str, used: str = "**batch", moved: str = "", to: str = ".to(device)") -> str:
    return PROGRAM.format(given=given, used=used, moved=moved, to=to)


TENSORS = "x=torch.ones(len(texts), 4), y=torch.ones(len(texts), 4)"


def test_the_entries_of_a_dictionary_follow_the_model(repairs: Repairs) -> None:
    (added,) = repairs.added(program(f"dict({TENSORS})"), Safety.UNSAFE)
    assert added == "batch = {k: v.to(next(model.parameters()).device) for k, v in batch.items()}"


def test_what_has_a_move_is_moved_as_a_whole(repairs: Repairs) -> None:
    (added,) = repairs.added(program(f"Batch({TENSORS})"), Safety.UNSAFE)
    assert added == 'batch = encoder(["one", "two"]).to(next(model.parameters()).device)'


def test_what_is_unpacked_where_it_is_given(repairs: Repairs) -> None:
    used = '**encoder(["one"])'
    (added,) = repairs.added(program(f"dict({TENSORS})", used), Safety.SUGGESTION)
    device = "next(model.parameters()).device"
    assert added == f'loss = model(**{{k: v.to({device}) for k, v in encoder(["one"]).items()}}).mean()'


@pytest.mark.parametrize(
    "correct",
    [
        program(f"Batch({TENSORS})", moved=".to(next(model.parameters()).device)"),
        program(f"Batch({TENSORS})", to=""),
        program("dict(texts=texts)"),
    ],
)
def test_what_is_moved_or_stays(repairs: Repairs, correct: str) -> None:
    assert repairs.findings(correct, suggestions=False) == ()


def test_entries_that_may_have_no_place_are_not_moved(repairs: Repairs) -> None:
    added = repairs.added(program("dict(x=torch.ones(len(texts), 4), texts=texts)"), Safety.UNSAFE)
    assert not any(".items()" in one for one in added)


@pytest.mark.parametrize(("q", "key", "value"), [("k", "k_", "v"), ("v", "k", "v_")])
def test_the_device_of_a_tensor_that_is_called_like_an_entry(repairs: Repairs, q: str, key: str, value: str) -> None:
    attends = """
    class Score(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 4)
        def forward(self, x, y):
            return F.mse_loss(self.net(x), y)
    def make():
        return {{"x": torch.randn(2, 4), "y": torch.randn(2, 4)}}
    score = Score().to("cuda")
    def attend({q}):
        batch = make()
        return score(**batch) + {q}.sum()
    attend(torch.zeros(1, device="cuda"))
    """
    (added,) = repairs.added(attends.format(q=q))
    assert added == f"batch = {{{key}: {value}.to({q}.device) for {key}, {value} in batch.items()}}"


def test_an_object_whose_move_gives_nothing_is_moved_in_place(repairs: Repairs) -> None:
    given = program(f"Batch({TENSORS})").replace("return Batch({k: v.to(device)", "self.update({k: v.to(device)")
    (added,) = repairs.added(given, Safety.UNSAFE)
    assert added == "batch.to(next(model.parameters()).device)"


@pytest.mark.parametrize(
    ("put", "moved"), [("batch['n'] = 3", False), ("batch['z'] = torch.ones(2, 4)", True), ("batch['x'].mean()", True)]
)
@pytest.mark.parametrize("where", ["given", "made"])
def test_entries_that_are_put_in_later(repairs: Repairs, put: str, moved: bool, where: str) -> None:
    program = f"""
    class Score(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 4)
        def forward(self, x, y, **more):
            return F.mse_loss(self.net(x), y)
    def make():
        batch = {{"x": torch.randn(2, 4), "y": torch.randn(2, 4)}}
        {put if where == "made" else "pass"}
        return batch
    def main(device):
        score = Score().to("cuda")
        batch = make()
        {put if where == "given" else "pass"}
        return score(**batch)
    """
    assert any(".items()" in one for one in repairs.added(program)) is moved


CROPS = """
def train(loader, model: nn.Module, assigned, device):
    model = model.to(device)
    criterion = nn.CrossEntropyLoss()
    for index, crops in loader:
        found, heads = model(crops)
        size = crops[0].size(0)
        criterion(heads[0], assigned[index].to(device)).backward()
"""


def test_what_a_model_makes_of_a_list_is_no_part_of_it(repairs: Repairs) -> None:
    assert not any("heads" in line for line in repairs.added(CROPS, Safety.SUGGESTION))
