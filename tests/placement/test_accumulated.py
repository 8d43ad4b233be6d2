"""How sure conflicts are: two paths that share nothing weak, attributes that only grow, indices of unknown kind."""

import pytest

BESIDE = """
    def run(model, rows, device):
        mask = torch.ones(3, device=device)
        other = torch.ones(4, device=device)
        states = torch.zeros(3)
        {use}
        return mask, other
"""


def test_two_weak_paths_are_surer_than_one(placed) -> None:
    alone = placed(BESIDE.format(use="keep(states)")).of("torch.zeros(3)")
    both = placed(BESIDE.format(use="states = step(rows.to(device), states)")).of("torch.zeros(3)")
    assert alone.confidence == pytest.approx(0.5)
    assert alone.confidence < both.confidence < 0.9


def test_paths_with_the_same_weak_link_count_once(placed) -> None:
    use = "step(rows.to(device), torch.zeros(3))\n        step(torch.ones(9).to(device), states)"
    program = BESIDE.format(use=use).replace(", device=device", "")
    found = placed(program).of("torch.zeros(3)") if placed(program).births.count("torch.zeros(3)") == 1 else None
    assert found is None or found.confidence == pytest.approx(0.5)


def test_weak_paths_together_are_no_strong_one(placed) -> None:
    weak = "rows = rows.to(device)\n        states = step(rows, states) + rows.new_zeros(3)"
    assert placed(BESIDE.format(use=weak)).of("torch.zeros(3)").confidence <= 0.85
    assert placed(BESIDE.format(use="states = rows.to(device) + states")).of("torch.zeros(3)").confidence > 0.9


def test_what_callers_give_is_in_one_place(placed) -> None:
    program = (
        "def f(x: torch.Tensor, y: torch.Tensor):\n    rows = torch.ones(x.size(0))\n    return unread(rows, y), rows\n"
    )
    assert all(one.confidence < 0.6 for one in placed(program).conflicts)


GROWN = """
    class Picker:
        def __init__(self, score{given}):
            self.score = score
            self.seen = torch.tensor([])
        def begin(self):
            self.seen = {first}
        def see(self, outputs: torch.Tensor, targets: torch.Tensor):
            scores = self.score(outputs, targets)
            scores.backward()
            self.seen = torch.cat([self.seen, scores]).to(scores.dtype)
"""


def test_what_grows_on_the_host_in_a_class_that_is_told_a_device(placed) -> None:
    assert placed(GROWN.format(given=", device", first="torch.tensor([])")).births.count("torch.tensor([])") == 2


def test_what_grows_in_a_class_that_knows_no_device(placed) -> None:
    assert placed(GROWN.format(given="", first="torch.tensor([])")).births == []


PICKED = """
    class Offsets(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.table = torch.eye(n)
        def {method}(self, graph, i):
            return self.table[{index}]
"""


@pytest.mark.parametrize("index", ['graph.x["kind"]', "graph.kinds"])
def test_what_a_part_of_an_input_picks(placed, index: str) -> None:
    found = placed(PICKED.format(method="forward", index=index)).of("torch.eye(n)")
    assert found.confidence > 0.5


@pytest.mark.parametrize(("method", "index"), [("forward", "i"), ("forward", "self.row"), ("pick", "graph.kinds")])
def test_what_another_index_picks(placed, method: str, index: str) -> None:
    assert all(one.confidence < 0.6 for one in placed(PICKED.format(method=method, index=index)).conflicts)
