"""Hints that few programs give, each with one that gives none."""

import pytest
from devfix_codemods.catalogue import Kind


@pytest.mark.parametrize(
    ("kind", "births"),
    [
        ("torch.FloatTensor", ["x.type(torch.FloatTensor)"]),
        ("'torch.FloatTensor'", ["x.type('torch.FloatTensor')"]),
        ("x.dtype", []),
    ],
)
def test_types_of_tensors_on_the_host(placed, kind: str, births: list[str]) -> None:
    program = f"def main(x):\n    net = nn.Linear(3, 3).cuda()\n    return net(x.type({kind}))\n"
    assert placed(program).births == births


ENCODED = """
    from transformers import AutoTokenizer
    class Loss(nn.Module):
        def __init__(self, judge, tokenizer):
            super().__init__()
            self.judge, self.tokenizer = judge, tokenizer
        def predict(self, pairs):
            tokens = self.tokenizer(pairs, return_tensors="pt"){moved}
            return self.judge({given})[0]
"""


@pytest.mark.parametrize(
    ("moved", "given", "told"),
    [("", "**tokens", True), (".to(self.judge.device)", "**tokens", False), ("", "tokens", False)],
)
def test_what_gets_the_parts_of_an_encoding_is_a_model(placed, moved: str, given: str, told: bool) -> None:
    found = placed(ENCODED.format(moved=moved, given=given)).conflicts
    assert any(one.confidence > 0.6 for one in found) == told


RESULTS = """
    from audio import cut
    def detect(model, sound):
        return model.detect(cut(sound, 3).unsqueeze(0))
    def decode(model, sound, device):
        part = cut(sound, 3){moved}.unsqueeze(0)
        return model.decode(part)
"""


@pytest.mark.parametrize(("moved", "births"), [(".to(device)", ["cut(sound, 3)"]), ("", [])])
def test_results_of_one_function(placed, moved: str, births: list[str]) -> None:
    assert placed(RESULTS.format(moved=moved)).births == births


MADE = """
    def run(policy, envs, n, device):
        masks = torch.zeros(n, 1, device=device)
        {name} = torch.zeros(n, 4)
        return policy.act(masks, {given})
"""


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [("hidden", "hidden", True), ("lengths", "lengths", False), ("hidden", "hidden.cpu()", False)],
)
def test_a_tensor_that_is_made_for_a_call(placed, name: str, given: str, told: bool) -> None:
    found = placed(MADE.format(name=name, given=given)).conflicts
    assert any("made-for-call" in one.links for one in found) == told


KEPT = """
    class Net(nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.table = torch.from_numpy(rows)
        def forward(self, x):
            return {used}
"""


@pytest.mark.parametrize(
    ("used", "link"), [("torch.matmul(self.table, read(x).abs())", "-met"), ("self.table.tolist()", "")]
)
def test_an_attribute_that_meets_other_tensors(placed, used: str, link: str) -> None:
    links = placed(KEPT.format(used=used)).of("torch.from_numpy(rows)").links
    assert f"plain-attribute{link}" in links


READ = """
    def evaluate(net, x, device, whole):
        out = net.to(device)(x.to(device))
        if whole:
            return out.cpu().numpy()
        error = out{copied}.numpy()
        return error + {read}.numpy()
"""


def test_both_branches_copy_so_that_neither_is_on_the_host(placed) -> None:
    assert placed(READ.format(copied=".cpu()", read="(out * 2)")).births == ["out * 2"]


def test_the_other_branch_copies_nothing(placed) -> None:
    assert placed(READ.format(copied="", read="(out * 2)")).births == []


DRAWN = """
    class SummaryWriter:
        def write_points(self, points, valid):
            valid = valid.detach(){copied}.numpy()
            return points.detach().numpy(), valid
"""


@pytest.mark.parametrize(("copied", "births"), [(".cpu()", ["points.detach()"]), ("", [])])
def test_who_copies_for_numpy_has_tensors_elsewhere(placed, copied: str, births: list[str]) -> None:
    assert placed(DRAWN.format(copied=copied)).births == births


WRITTEN = """
    def masks(net, x, device):
        out = net.to(device)(x.to(device))
        found = out.detach().numpy()
        found[found > 0.5] = 1
        return {given}
"""


@pytest.mark.parametrize(("given", "births"), [("found", ["out.detach()"]), ("out", [])])
def test_an_array_that_is_written_to_for_itself(placed, given: str, births: list[str]) -> None:
    assert placed(WRITTEN.format(given=given)).births == births


FITTED = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Linear(3, 3)
        def forward(self, x):
            s = self.scale(x)
            return s, torch.zeros({size})
"""


@pytest.mark.parametrize(("size", "fits"), [("list(s.shape)[:-1] + [3]", True), ("list(sizes)[:-1] + [3]", False)])
def test_sizes_through_lists(placed, size: str, fits: bool) -> None:
    assert any("fits" in one.links for one in placed(FITTED.format(size=size)).conflicts) == fits


@pytest.mark.parametrize(
    ("entropy", "kind"), [("torch.log(p + 1e-6)", True), ("torch.sum(p.view(-1))", True), ("torch.sum(read(p))", False)]
)
def test_what_a_tensor_is_made_of_is_one(placed, entropy: str, kind: bool) -> None:
    found = placed(f"def f(p):\n    return {entropy}\n").analysis
    (p,) = [one for one in found.module.nodes() if one.extra == "p"]
    assert (found.kinds.of(p) is Kind.TENSOR) == kind
