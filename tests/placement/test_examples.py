"""What is made or moved elsewhere in a file shows where a value belongs: on other paths, beside it, in its class."""

from collections import Counter

import pytest
from devfix_codemods.ir import Node
from devfix_codemods.placement.partial_moves import PartialMoves

OTHER_RETURN = """
    import settings
    class Store:
        def rows(self, names):
            if not names:
                return torch.tensor([], device=settings.device)
            found = self.each(names)
            return {rest}
"""


@pytest.mark.parametrize("rest", ["torch.cat(found) if found else torch.tensor([])", "torch.tensor([])"])
def test_what_is_returned_on_another_path(placed, rest: str) -> None:
    found = placed(OTHER_RETURN.format(rest=rest))
    assert found.of("torch.tensor([])").confidence > 0.6


@pytest.mark.parametrize("rest", ["torch.cat(found)", "torch.tensor([], device=settings.device)", "None"])
def test_another_path_that_makes_nothing(placed, rest: str) -> None:
    assert placed(OTHER_RETURN.format(rest=rest)).births == []


FLAGGED = """
    class Net(nn.Module):
        def begun(self, n, use_cuda):
            gpus = counted(self.options)
            if {test}:
                x = torch.zeros(n).to(self.device)
            else:
                x = torch.zeros(n)
            return x.sum()
"""


@pytest.mark.parametrize("test", ["use_cuda", "gpus", "self.options.gpu >= 0", "n > 3 and use_cuda"])
def test_another_path_that_is_meant_for_the_host(placed, test: str) -> None:
    assert placed(FLAGGED.format(test=test)).births == []


def test_another_path_that_asks_for_something_else(placed) -> None:
    assert placed(FLAGGED.format(test="n > 3")).births == ["torch.zeros(n)"]


READ = """
    def pad(x, n):
        if torch.is_tensor(x):
            return x.index_select(dim=0, index=torch.arange(n))
        return np.pad(x, n)
"""


def test_what_numpy_reads_on_another_path_is_no_reason_to_stay(placed) -> None:
    found = placed(READ)
    made = found.of("torch.arange(n)")
    assert [one.end.node.extra for one in found.analysis.ends(made.birth)] == ["x"]


MADE = """
    class Count:
        def reset(self):
            self.hits = torch.tensor(0.0, device=self.place)
            self.misses = {made}
            self.rows = torch.tensor(0.0, device=self.place)
"""


def test_attributes_that_are_made_alike(placed) -> None:
    found = placed(MADE.format(made="torch.tensor(0.0)"))
    assert "twin-two" in found.of("torch.tensor(0.0)").links


@pytest.mark.parametrize("made", ["torch.tensor(1)", "torch.ones(3)", "0.0"])
def test_attributes_that_are_made_otherwise(placed, made: str) -> None:
    assert all("twin-two" not in one.links for one in placed(MADE.format(made=made)).conflicts)


SPOT = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.a = torch.eye(n)
            self.b = torch.eye(2).cuda()
            self.c = torch.eye(3).cuda()
            {more}
        def forward(self, x):
            return self.a[x], self.b[x], self.c[x]
"""


def test_factories_that_are_moved_on_the_spot(placed) -> None:
    found = placed(SPOT.format(more="self.d = torch.eye(4).cuda()"))
    ways = found.analysis.ends(found.of("torch.eye(n)").birth)
    assert any("factories-many" in one.links for one in ways)


def test_two_are_too_few(placed) -> None:
    found = placed(SPOT.format(more="self.d = 4"))
    assert all(not link.startswith("factories") for one in found.conflicts for link in one.links)


CHOSEN = """
    from nets import *
    def main(options, loader, device):
        if options.pretrained:
            net = Net(options.path).to(device)
        else:
            net = Net(options.path){moved}
        {later}
        for x in loader:
            net(x.to(device)).sum().backward()
"""


@pytest.mark.parametrize("later", ["net.train()", "if options.sync:\n            net = synced(net).to(device)"])
def test_a_model_that_one_path_moves(placed, later: str) -> None:
    found = placed(CHOSEN.format(moved="", later=later))
    assert [one.birth.node.line for one in found.conflicts if one.confidence > 0.6] == [11]


@pytest.mark.parametrize(
    ("moved", "later"),
    [
        (".to(device)", "net.train()"),
        ("", "net = net.to(device)"),
        ("", "if torch.cuda.is_available():\n            net.to(device)"),
    ],
)
def test_a_model_that_all_paths_move(placed, moved: str, later: str) -> None:
    assert placed(CHOSEN.format(moved=moved, later=later)).births == []


FIELDS = """
    from dataclasses import dataclass
    @dataclass
    class Batch:
        rows: torch.Tensor
        columns: torch.Tensor
        names: list
        weights: {kind}
        def to(self, device):
            self.rows = self.rows.to(device)
            self.columns = self.columns.to(device)
            {more}
"""


@pytest.mark.parametrize(
    ("kind", "more", "births"),
    [
        ("torch.Tensor", "return self", ["weights"]),
        ("torch.Tensor", "self.weights = self.weights.to(device)", []),
        ("float", "return self", []),
    ],
)
def test_declared_attributes_beside_those_that_are_moved(placed, kind: str, more: str, births: list[str]) -> None:
    assert placed(FIELDS.format(kind=kind, more=more)).births == births


KEPT = """
    class Storage:
        def __init__(self, n, long):
            self.rows, self.masks = torch.zeros(n), torch.ones(n)
            self.actions = {made}
            if long:
                self.actions = self.actions.{again}
        def to(self, device):
            self.rows = self.rows.to(device)
            self.masks = self.masks.to(device)
"""


@pytest.mark.parametrize(
    ("made", "again", "left"),
    [("torch.zeros(n)", "long()", True), ("np.zeros(n)", "astype(int)", False), ("load(n)", "long()", False)],
)
def test_attributes_that_are_made_on_several_paths(placed, made: str, again: str, left: bool) -> None:
    assert ("actions" in placed(KEPT.format(made=made, again=again)).births) == left


LABELS = """
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.right, self.wrong = torch.ones(1), torch.zeros(1)
        def forward(self, out):
            fake = self.wrong.expand_as(out["fake"]).to(out["fake"].device)
            real = self.right.{call}
            return measured(out["fake"], fake) + measured(out["real"], real)
"""


def test_attributes_that_are_shown_alike(placed) -> None:
    found = placed(LABELS.format(call='expand_as(out["real"])'))
    assert "self.right.expand_as(out['real'])" in found.births


@pytest.mark.parametrize("call", ["sum()", 'expand_as(out["real"]).to(out["real"].device)'])
def test_attributes_that_are_shown_otherwise(placed, call: str) -> None:
    assert all("self.right.expand_as" not in one for one in placed(LABELS.format(call=call)).births)


FOLLOWED = """
    class Net(nn.Module):
        def forward(self, x, time, noise):
            y = self.first(x)
            time = time.type_as({by})
            noise = noise.to({by}.device)
            return self.second(y, time, noise)
"""


@pytest.mark.parametrize("by", ["x", "y"])
def test_what_others_follow_is_not_left_behind(placed, by: str) -> None:
    assert "x" not in placed(FOLLOWED.format(by=by)).births


ENCODED = """
    class Embedder:
        def rows(self, ids):
            first = torch.tensor(ids["input_ids"]).to(self.model.device)
            second = torch.tensor(ids["attention_mask"]){moved}
            return first, second
"""


@pytest.mark.parametrize(("moved", "told"), [("", True), (".to(self.model.device)", False)])
def test_whether_a_twin_has_dimensions_does_not_matter(placed, moved: str, told: bool) -> None:
    found = placed(ENCODED.format(moved=moved)).conflicts
    assert [one.links for one in found if "maybe-scalar" not in one.links] == ([("twin-one",)] if told else [])


PAIR = """
        {name} = tokenizer(texts[{at}], return_tensors="pt")
        model(**{name}.to(model.device))
        other_{name} = tokenizer(texts[{at}], return_tensors="pt")
        model(**other_{name})
"""


def test_who_uses_an_encoding_is_found_out_once(placed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[Node] = Counter()
    honest = PartialMoves._users

    def counted(moves: PartialMoves, value: Node) -> set[object]:
        asked[value] += 1
        return honest(moves, value)

    monkeypatch.setattr(PartialMoves, "_users", counted)
    pairs = "".join(PAIR.format(name=f"x{at}", at=at) for at in range(6))
    assert len(placed(f"\n    def rows(model, tokenizer, texts):{pairs}").births) == 6
    assert set(asked.values()) == {1}


PADDED = """
    from sound import pad
    def run(model, sound: torch.Tensor, dtype):
        first = pad(sound, 3).to(model.device).to(dtype)
        heard(first)
        second = pad(sound[3:], 3){moved}
        return model.decode(second.unsqueeze(0))
"""


@pytest.mark.parametrize(("moved", "births"), [("", ["pad(sound[3:], 3)"]), (".to(model.device)", [])])
def test_results_of_one_function_are_of_one_kind(placed, moved: str, births: list[str]) -> None:
    assert placed(PADDED.format(moved=moved)).births == births


SAMPLED = """
    from torch.utils.data import DataLoader
    def run(labels, net: nn.Module):
        n, device = labels.shape[0], labels.device
        rows = {rows}
        return net({given}, labels.to(device))
"""


@pytest.mark.parametrize(
    ("rows", "given", "births"),
    [
        ("torch.arange(labels.shape[0])", "rows", ["torch.arange(labels.shape[0])"]),
        ("DataLoader(torch.arange(labels.shape[0]), batch_size=n)", "labels", []),
    ],
)
def test_what_loaders_draw_from_fits_nothing(placed, rows: str, given: str, births: list[str]) -> None:
    assert placed(SAMPLED.format(rows=rows, given=given)).births == births


PARAMETERS = """
    def step(net: nn.Module, x, y, device):
        x = x.float().to(device)
        {line}
        return F.mse_loss(net(x), y)
"""


@pytest.mark.parametrize("line", ["y = y.to(device).float()", "y = y.view(3, -1)"])
def test_what_a_parameter_shares_with_one_that_is_moved(placed, line: str) -> None:
    """Only to stand among the parameters says little of one."""
    assert all(one.confidence < 0.5 for one in placed(PARAMETERS.format(line=line)).conflicts)


@pytest.mark.parametrize("line", ["y = y.float()", "net.eval(); y = y.float()"])
def test_a_parameter_that_is_converted_as_one_that_is_moved(placed, line: str) -> None:
    assert placed(PARAMETERS.format(line=line)).of("y").confidence > 0.8
