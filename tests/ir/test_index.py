"""Values by operation and by use; and that a file is walked as often, however much there is to tell of it."""

import ast
import pickle
from collections.abc import Iterator

import pytest
from devfix_codemods import engine
from devfix_codemods.ir import Module, Node, Op, lower
from devfix_codemods.ir.nodes import forget
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

PROGRAM = "import torch\nx = torch.ones(3)\ndef f(y):\n    return torch.add(x, y) + y\n"
FUNCTION = """
def train_{0}(model, loader, device):
    model.to(device)
    for x, y in loader:
        x = x.to(device)
        loss = torch.nn.functional.cross_entropy(model(x), y) + torch.zeros(3)
        loss.backward()
"""


def test_values_are_found_by_operation_in_the_order_of_the_file() -> None:
    module = lower(ast.parse(PROGRAM))
    for op in (Op.CALL, Op.ATTR, Op.PARAM, Op.OPERATION, Op.COMPARE):
        assert list(module.of(op)) == [one for one in module.nodes() if one.op is op]


def test_users_have_a_value_as_often_as_they_use_it() -> None:
    module = lower(ast.parse("def f(x):\n    return x * x\n"))
    (parameter,), (product,) = module.of(Op.PARAM), module.of(Op.OPERATION)
    assert module.users[parameter] == [product, product]
    assert product not in module.users


def test_what_is_forgotten_is_found_no_more() -> None:
    module = lower(ast.parse(PROGRAM))
    assert module.of(Op.CALL)
    assert module.users
    forget(module)
    assert not module.of(Op.CALL)
    assert not module.users


def test_members_are_singletons_with_names() -> None:
    assert Op.CALL.name == "CALL"
    assert Op.CALL is not Op.ATTR
    assert pickle.loads(pickle.dumps(Op.CALL)) is Op.CALL


def walks(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often all values of a file of so many functions are walked, and how much is told of it."""
    seen, nodes = [], Module.nodes

    def counted(self: Module) -> Iterator[Node]:
        seen.append(self)
        return nodes(self)

    text = "import torch\n" + "".join(FUNCTION.format(one) for one in range(count))
    with monkeypatch.context() as patch:
        patch.setattr(Module, "nodes", counted)
        options = Options(select=frozenset(one.code for one in all_rules()))
        found = engine.check(Source("train.py", text.encode()), options)
    assert isinstance(found, Checked)
    return len(seen), len(found.findings)


def test_a_file_is_walked_as_often_whatever_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    few, more = walks(4, monkeypatch), walks(12, monkeypatch)
    assert more[1] == 3 * few[1] > 0
    assert more[0] == few[0]
