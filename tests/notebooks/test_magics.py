"""Lines that IPython understands and Python does not."""

import re

import pytest
from devfix_codemods.engine import check
from devfix_codemods.notebooks.magics import masked, unmasked
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

from .conftest import notebook

TOKEN = "%% devfix "
PYTHON = [
    "x = 5\nx %= 2",
    "x = (7\n  % 2)",
    "s = '''\n%cd ..\n!ls\nwhat?\n'''",
    "x = a if b else c  # really?",
    "x != y",
    "print('100 %')\nprint(f'{x!r}')",
    "x = '%d' % 3",
    "def f():\n    return 1 \\\n    % 2",
    "await f()",
    "",
]


@pytest.mark.parametrize("text", PYTHON)
def test_python_is_left_alone(text: str) -> None:
    found = masked(text, TOKEN, 0)
    assert found is not None
    assert (found.text, found.hidden) == (text, ())


MAGICS = {
    "%matplotlib inline": "pass",
    "!pip install torch": "pass",
    "!!ls": "pass",
    "?model": "pass",
    "??model": "pass",
    "model?": "pass",
    "model.to??": "pass",
    "%timeit model(x)": "pass",
    "%time model(x)": "pass",
    "%time x, y = x.cuda(), 3": "x = y = __magic__()",
    "if x:\n    %time self.x = f(k=3)": "if x:\n    self.x = __magic__()",
    "%timeit y = model(x)": "pass",
    "%time x = (": "pass",
    "!echo it's (": "pass",
    '!echo """\nx = 1': "pass\nx = 1",
    "files = !ls": "files = __magic__()",
    "a, b = %time f()": "a, b = __magic__()",
    "self.x = %time f()": "self.x = __magic__()",
    "out['a b'] = !ls": "out['a b'] = __magic__()",
    'out["a"][i[0]], b = !ls': 'out["a"][i[0]], b = __magic__()',
    "*load*?": "pass",
    "pip install torch": "pass",
    "\nconda install -c pytorch pytorch\n": "\npass\n",
    "cd data": "pass",
    "if colab:\n    !pip install torch\nelse:\n    %cd ..": "if colab:\n    pass\nelse:\n    pass",
    "!pip install \\\n    torch \\\n    numpy\nx = 1": "pass\n\n\nx = 1",
    "%%time\nx = 1": "pass\nx = 1",
    "%%capture out\n%cd ..\nx = 1": "pass\npass\nx = 1",
    "x = 5\nx %= 2\n%cd ..\ny = (1\n  % 2)": "x = 5\nx %= 2\npass\ny = (1\n  % 2)",
    "s = '''\n%cd\n'''\n%cd": "s = '''\n%cd\n'''\npass",
    "%cd ..\r\nx = 1\r\n": "pass\r\nx = 1\r\n",
}


@pytest.mark.parametrize(("text", "python"), MAGICS.items(), ids=map(repr, MAGICS))
def test_what_stands_for_a_magic(text: str, python: str) -> None:
    found = masked(text, TOKEN, 0)
    assert found is not None
    assert re.sub(rf" *# {TOKEN}\d+", "", found.text) == python
    assert unmasked(found.text, TOKEN, found.hidden) == text


@pytest.mark.parametrize(
    "text",
    [
        "%%bash\nls",
        "%%html\n<b>",
        "%%writefile a.py\nx = 1",
        "\n%%timeit\nx",
        "%%sh",
        "  x = 1\n  y = 2",
        "  !ls",
        "  x = 1\n  !ls",
    ],
)
def test_a_cell_of_something_else(text: str) -> None:
    assert masked(text, TOKEN, 0) is None


@pytest.mark.parametrize(
    "text",
    [
        "x = (",
        "print 'x'",
        "%cd ..\nx = (",
        "for x in y\n    pass",
        "  x = (",
        "x = '\ud800'",
        "pip install torch\nx = 1",
        "pip x\n%cd ..",
        "let x",
    ],
)
def test_what_is_neither(text: str) -> None:
    with pytest.raises(SyntaxError):
        masked(text, TOKEN, 0)


def test_what_a_magic_moves_is_not_where_it_was() -> None:
    cells = ["import torch\nnet = torch.nn.Linear(2, 2).cuda()\nx = torch.zeros(3, 2)", "%time x = x.cuda()", "net(x)"]
    found = check(Source("a.ipynb", notebook(*cells)), Options(frozenset({"DVF104"})))
    assert isinstance(found, Checked)
    assert found.findings == ()
