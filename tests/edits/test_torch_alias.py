"""What fixes write in files that have another name for torch, or none."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods import engine, rules
from devfix_codemods.edits.operations import (
    AddImport,
    Argument,
    Edit,
    InsertStatement,
    RemoveStatement,
    ReplaceExpression,
    RewriteCall,
)
from devfix_codemods.edits.torch_alias import by_alias
from devfix_codemods.outcomes import Changed, Clean, Options
from devfix_codemods.source import Source, Span

CODES = frozenset(one.code for one in rules.own_rules())
SPAN = Span(1, 0, 1, 1)
WRITTEN = "device = torch.device('cuda')"
SAME = {
    "its own name": "import torch",
    "both names": "import torch\nimport torch as th",
    "the name by a part": "import torch.nn\nimport torch as th",
    "no name": "from torch import nn",
    "another package": "import numpy as torch_like",
    "a name in a function": "def f():\n    import torch as th",
}


@pytest.mark.parametrize("imports", SAME.values(), ids=SAME)
def test_what_fixes_write_stays_as_it_is(imports: str) -> None:
    edits = (InsertStatement(SPAN, "after", WRITTEN), AddImport("torch"))
    assert by_alias(ast.parse(imports), edits) == edits


UNTOUCHED: dict[str, Edit] = {
    "text": ReplaceExpression(SPAN, "pick('torch.float')"),
    "an attribute": ReplaceExpression(SPAN, "self.torch.zeros(1)"),
    "a longer name": ReplaceExpression(SPAN, "mytorch.zeros(1)"),
    "another import": AddImport("torch", "nn"),
    "a statement that goes": RemoveStatement(SPAN),
    "a method": RewriteCall(SPAN, method="to"),
}


@pytest.mark.parametrize("edit", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_no_name_of_torch(edit: Edit) -> None:
    assert by_alias(ast.parse("import torch as th"), (edit,)) == (edit,)


SPELLED: dict[str, tuple[Edit, tuple[Edit, ...]]] = {
    "a statement": (
        InsertStatement(SPAN, "after", WRITTEN),
        (InsertStatement(SPAN, "after", "device = th.device('cuda')"),),
    ),
    "an expression": (ReplaceExpression(SPAN, "f(torch.float)"), (ReplaceExpression(SPAN, "f(th.float)"),)),
    "a function": (RewriteCall(SPAN, "torch.amp.autocast"), (RewriteCall(SPAN, "th.amp.autocast"),)),
    "arguments": (
        RewriteCall(SPAN, None, (Argument(0), Argument("torch.float", "dtype"))),
        (RewriteCall(SPAN, None, (Argument(0), Argument("th.float", "dtype"))),),
    ),
    "its import": (AddImport("torch"), ()),
}


@pytest.mark.parametrize("name", SPELLED)
def test_in_the_words_of_a_file_with_another_name(name: str) -> None:
    edit, spelled = SPELLED[name]
    assert by_alias(ast.parse("import torch as th\nfrom torch import nn"), (edit,)) == spelled


PROGRAM = """
    import torch as th
    from model import Net

    net = Net().cuda()
    net.eval()
    with th.no_grad():
        for i in range(10):
            print(net(th.randn(5, 512).cuda()))
"""


def test_a_script_under_a_device_of_its_own_stays() -> None:
    program = dedent(PROGRAM).replace("\nnet =", "\ndevice = th.device('cpu')\nnet =").replace(".cuda()", ".to(device)")
    assert isinstance(_rewritten(program), Clean)


def test_a_script_that_names_cuda_gets_a_device_by_its_name_of_torch() -> None:
    done = _rewritten(dedent(PROGRAM))
    assert isinstance(done, Changed)
    assert b'device = th.device("cuda" if th.cuda.is_available() else "cpu")' in done.data
    assert b"torch." not in done.data


def _rewritten(program: str) -> object:
    return engine.rewrite(Source("train.py", program.encode()), Options(CODES, unsafe=True))
