"""Facts of factories: what sizes, displays, stores and readers say of the tensors that are made."""

import ast

import pytest
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node
from devfix_codemods.placement.graph import Birth


def told_of(node: Node) -> str:
    return ast.unparse(node.syntax) if isinstance(node.syntax, ast.expr) else ""


@pytest.mark.parametrize("size", ["torch.zeros(n)", "torch.arange(0, n)", "torch.ones(3, n)"])
def test_a_size_is_a_number(placed, size: str) -> None:
    found = placed(f"def f(n):\n    return {size} / (n - 1)\n")
    assert found.births == []


def test_a_bound_that_is_computed_of_a_tensor_is_one(placed) -> None:
    found = placed("def f(x: torch.Tensor):\n    n = x.max()\n    return torch.arange(n), n\n")
    (made,) = [one for one in found.analysis.module.nodes() if one.extra == () and told_of(one) == "x.max()"]
    assert found.analysis.kinds.of(made) is Kind.TENSOR


def test_what_is_joined_is_tensors(placed) -> None:
    program = "def f(a, b):\n    rows = torch.cat([a, b]).unique()\n    return rows + torch.arange(3)\n"
    assert placed(program).of("torch.arange(3)").links == ("operation", "operation", "parameter")


JOINED = """
    def main(loader, device: torch.device):
        net = nn.Linear(3, 3).to(device)
        for x, y in loader:
            {lines}
            loss = net(both).sum() + y.to(device).sum()
            loss.backward()
"""


def test_what_is_joined_before_it_is_moved_is_moved(placed) -> None:
    lines = "both, y = torch.cat([x, x]).to(device), y.to(device)"
    assert placed(JOINED.format(lines=lines)).births == []


def test_what_is_joined_and_not_moved(placed) -> None:
    assert "x" in placed(JOINED.format(lines="both, y = torch.cat([x, x]), y.to(device)")).births


FILLED = """
    def f(model, xs, device: torch.device):
        out = torch.zeros(3)
        xs = xs.to(device)
        for i in range(3):
            out[i] = model(xs[i]){moved}
        return {result}
"""


@pytest.mark.parametrize(
    ("moved", "result", "births"),
    [
        (".to(device)", "out", ["torch.zeros(3)"]),
        ("", "out", []),
        (".to('cpu')", "out", []),
        (".to(out.device)", "out", []),
        (".to(device)", "out.to(device)", []),
    ],
)
def test_what_is_filled_with_moved_parts(placed, moved: str, result: str, births: list[str]) -> None:
    assert placed(FILLED.format(moved=moved, result=result)).births == births


@pytest.mark.parametrize(("read", "births"), [("y.numpy()", []), ("y.cpu().numpy()", ["torch.zeros(3)"])])
def test_numpy_reads_what_is_made(placed, told, read: str, births: list[str]) -> None:
    found = placed(f"def f(x: torch.Tensor):\n    y = torch.zeros(3)\n    print(x.view(3) + y)\n    return {read}\n")
    assert [told(one.birth.node) for one in found.conflicts if one.birth.birth is Birth.FACTORY] == births


@pytest.mark.parametrize(
    ("mask", "births"),
    [("x.argmax(1).cpu() > 0", []), ("keep", ["torch.arange(x.size(0))"]), ("2", ["torch.arange(x.size(0))"])],
)
def test_what_a_mask_of_the_host_picks_from_fits_nothing_else(placed, mask: str, births: list[str]) -> None:
    program = f"""
        def names(x: torch.Tensor, keep):
            return torch.arange(x.size(0))[{mask}]
        names(torch.zeros(3, device="cuda"), 1)
    """
    assert placed(program).births == births


BESIDE_TOLD = """
    def main(device: torch.device):
        {lines}
        return torch.zeros(3, {device}), made
"""


@pytest.mark.parametrize(
    ("lines", "births"),
    [
        ("made = torch.ones(3)", ["torch.ones(3)"]),
        ("made = torch.utils.data.TensorDataset(torch.ones(3))", []),
        ("made = torch.utils.data.DataLoader(list(zip(torch.ones(3), range(3))))", []),
        ('made = torch.utils.data.DataLoader([{"x": x, "n": n} for x, n in zip(torch.ones(3), range(3))])', []),
    ],
)
def test_what_loaders_read_belongs_with_no_other_factory(placed, lines: str, births: list[str]) -> None:
    assert placed(BESIDE_TOLD.format(lines=lines, device="device=device")).births == births


def test_a_move_with_a_keyword_makes_nothing(placed) -> None:
    lines = "made = torch.ones(3)\n        x = load().to(device=device)"
    program = BESIDE_TOLD.format(lines=lines, device="dtype=x.dtype")
    assert placed(program).births == []


@pytest.mark.parametrize(
    ("lines", "births"),
    [
        ("rows = ROWS[:3].to(device)", []),
        ("rows = ROWS[:3]\n        rows = rows.to(device)", []),
        ("rows = ROWS[:3]", ["torch.tensor(rows[0])"]),
    ],
)
def test_what_is_made_of_a_row_is_where_that_is(placed, lines: str, births: list[str]) -> None:
    program = f"""
    from tables import ROWS
    def main(x, device):
        {lines}
        return x.to(device) * torch.tensor(rows[0])
    """
    assert placed(program).births == births
