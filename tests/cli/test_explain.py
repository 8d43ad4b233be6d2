"""`devfix explain`: tracebacks as people paste them, and what is known from the source."""

from pathlib import Path

import pytest
from devfix.operations.tracebacks import read

from .conftest import Devfix

PROGRAM = """import torch
from torch import nn
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
criterion = nn.CrossEntropyLoss()
for x, y in DataLoader([]):
    x = x.to(device)
    loss = criterion(model(x), y)
"""
TRACEBACK = """Epoch 1
Traceback (most recent call last):
  File "/home/someone/project/train.py", line 10, in <module>
    loss = criterion(model(x), y)
           ^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl
    return forward_call(*args, **kwargs)
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! \
(when checking argument for argument target in method wrapper_CUDA_nll_loss_forward)
"""
MESSAGE = TRACEBACK.splitlines()[-1].removeprefix("RuntimeError: ")
SHUFFLED = """\
import torch
from torch.utils.data import DataLoader

torch.set_default_device("cuda")
data = torch.randn(8, 3)
loader = DataLoader(data, shuffle=True)
for x in loader:
    print(x.sum())
"""
DRAWN = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 7, in <module>
    for x in loader:
  File "/usr/lib/python3.12/site-packages/torch/utils/data/sampler.py", line 193, in __iter__
    yield from torch.randperm(n, generator=generator).tolist()
RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'
"""


@pytest.fixture
def train(tree: Path) -> Path:
    (tree / "train.py").write_text(PROGRAM)
    return tree / "train.py"


# Nothing to explain


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no traceback was found"),
        ("all is well\n", "no traceback was found"),
        (
            TRACEBACK.replace(MESSAGE, "CUDA out of memory."),
            "this is no device error: RuntimeError: CUDA out of memory.",
        ),
        ("KeyError: 'device'\n", "this is no device error: KeyError: 'device'"),
    ],
)
def test_other_text_is_no_device_error(devfix: Devfix, train: Path, text: str, reason: str) -> None:
    ran = devfix("explain", "-", stdin=text.encode())
    assert (ran.code, ran.out) == (2, "")
    assert reason in ran.err


def test_a_missing_file_is_wrong_usage(devfix: Devfix, tree: Path) -> None:
    assert devfix("explain", "nothing.log").code == 2


def test_nothing_is_claimed_where_the_files_are_not_here(devfix: Devfix, tree: Path) -> None:
    ran = devfix("explain", "-", stdin=TRACEBACK.encode())
    assert ran.code == 1
    assert "None of the files of this traceback is here" in ran.out
    assert "the target" in ran.out


def test_nothing_is_claimed_that_the_source_does_not_decide(devfix: Devfix, tree: Path) -> None:
    unread = PROGRAM.replace("nn.Linear(3, 2).to(device)", "build(config)").replace("x.to(device)", "prepare(x)")
    (tree / "train.py").write_text(unread)
    ran = devfix("explain", "-", stdin=TRACEBACK.encode())
    assert ran.code == 1
    assert "devfix repair train.py" in ran.out


def test_of_two_files_that_fit_as_well_none_is_taken(devfix: Devfix, tree: Path) -> None:
    for name in ("one", "two"):
        (tree / name).mkdir()
        (tree / name / "train.py").write_text(PROGRAM)
    ran = devfix("explain", "-", "--output-format", "json", stdin=TRACEBACK.encode())
    assert ran.code == 1
    assert ran.json["frames"] == []


def test_a_line_that_is_no_longer_there_is_not_explained(devfix: Devfix, tree: Path) -> None:
    (tree / "train.py").write_text(PROGRAM.replace("model(x), y)", "model(x), y.to(device))"))
    ran = devfix("explain", "-", stdin=TRACEBACK.encode())
    assert ran.code == 1
    assert "the file here differs" in ran.out


def test_a_finding_of_another_sort_is_not_told_for_an_error_elsewhere(devfix: Devfix, tree: Path) -> None:
    in_order = SHUFFLED.replace("shuffle=True", "shuffle=False")
    (tree / "train.py").write_text(f"{in_order}weights = torch.load('w.pt')\n")
    ran = devfix("explain", "-", "--output-format", "json", stdin=DRAWN.encode())
    assert ran.code == 1
    assert ran.json["findings"] == []


# What is known


def test_an_error_inside_of_torch_leads_to_the_rule_for_it(devfix: Devfix, tree: Path) -> None:
    (tree / "train.py").write_text(SHUFFLED)
    ran = devfix("explain", "-", "--output-format", "json", stdin=DRAWN.encode())
    assert ran.code == 0
    assert [(one["code"], one["line"]) for one in ran.json["findings"]] == [("DVF404", 6)]


def test_the_message_the_finding_and_the_places_are_told(devfix: Devfix, train: Path) -> None:
    ran = devfix("explain", "-", stdin=TRACEBACK.encode())
    assert ran.code == 0
    assert "The one that differs is `target` of `nll_loss_forward`: the target." in ran.out
    assert "train.py:10: DVF101 `y` stays on the host" in ran.out
    assert "devfix rewrite train.py" in ran.out
    assert "`y` is on the host" in ran.out


def test_what_another_file_says_is_known(devfix: Devfix, tree: Path) -> None:
    (tree / "setup_cuda.py").write_text('import torch\n\ntorch.set_default_device("cuda")\n')
    (tree / "train.py").write_text(SHUFFLED.replace('torch.set_default_device("cuda")', "import setup_cuda"))
    ran = devfix("explain", "-", stdin=DRAWN.encode())
    assert ran.code == 0
    assert "train.py:6: DVF404" in ran.out


CALLED = """import torch

from net import Net

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net()
for x, y in torch.utils.data.DataLoader([]):
    x = x.to(device)
    out = model(x)
    print(torch.nn.functional.mse_loss(out, y.to(device)))
for x, y in torch.utils.data.DataLoader([]):
    print(model(x.to(device)))
"""
INSIDE = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    print(model(x.to(device)))
  File "net.py", line 8, in forward
    return self.fc(x)
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
"""


def test_the_line_that_led_to_the_failure_is_told(devfix: Devfix, tree: Path) -> None:
    (tree / "net.py").write_text(
        "import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.fc(x)\n"
    )
    (tree / "train.py").write_text(CALLED)
    ran = devfix("explain", "-", stdin=INSIDE.encode())
    assert ran.code == 0
    assert "the parameters of `model` are on the host (from line 6)" in ran.out


def test_a_file_can_be_explained_and_told_as_json(devfix: Devfix, train: Path) -> None:
    Path("crash.log").write_text(TRACEBACK)
    ran = devfix("explain", "crash.log", "--output-format", "json")
    assert ran.code == 0
    assert ran.json["error"]["argument"] == "target"
    assert [frame["line"] for frame in ran.json["frames"]] == [10]
    assert [finding["code"] for finding in ran.json["findings"]] == ["DVF101"]


def test_the_longest_common_ending_of_the_path_wins(devfix: Devfix, tree: Path) -> None:
    for name in ("project", "other"):
        (tree / name).mkdir()
        (tree / name / "train.py").write_text(PROGRAM)
    ran = devfix("explain", "-", "--output-format", "json", stdin=TRACEBACK.encode())
    assert [frame["path"] for frame in ran.json["frames"]] == ["project/train.py"]


def test_a_line_that_has_moved_is_found_by_its_code(devfix: Devfix, tree: Path) -> None:
    (tree / "train.py").write_text("# a comment\n" + PROGRAM)
    ran = devfix("explain", "-", "--output-format", "json", stdin=TRACEBACK.encode())
    assert [(frame["line"], frame["differs"]) for frame in ran.json["frames"]] == [(11, True)]
    assert ran.code == 0


def test_a_windows_path_is_found(devfix: Devfix, train: Path) -> None:
    text = TRACEBACK.replace("/home/someone/project/train.py", "C:\\Users\\me\\train.py")
    assert devfix("explain", "-", stdin=text.encode()).code == 0


def test_which_side_of_a_convolution_is_on_the_host_is_told(devfix: Devfix, tree: Path) -> None:
    text = "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same\n"
    ran = devfix("explain", "-", stdin=text.encode())
    assert ran.code == 1
    assert "Here the weight is on the host." in ran.out


# Formats


def prefixed(prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in TRACEBACK.splitlines())


def timed() -> str:
    lines = TRACEBACK.splitlines()
    return "".join(f"2024-05-01 12:00:0{n},{n}27 ERROR worker-{n} | {line}\n" for n, line in enumerate(lines))


IPYTHON = f"""---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[7], line 3
      1 import train
----> 3 train.run()

File ~/project/train.py:10
      8 for x, y in DataLoader([]):
      9     x = x.to(device)
---> 10     loss = criterion(model(x), y)

RuntimeError: {MESSAGE}
"""
OLD_IPYTHON = f"""RuntimeError                              Traceback (most recent call last)
<ipython-input-5-f00> in <module>
      1 import train

~/project/train.py in run(loader)
      9     x = x.to(device)
---> 10     loss = criterion(model(x), y)
     11     loss.backward()

RuntimeError: {MESSAGE}
"""
PYTEST = f"""
    def run():
>       loss = criterion(model(x), y)
E       RuntimeError: {MESSAGE}

train.py:10: RuntimeError
=========== short test summary info ===========
FAILED test_train.py::test_run - RuntimeError: Expected all tensors...
"""
FORMATS = {
    "CRLF": TRACEBACK.replace("\n", "\r\n"),
    "rank": prefixed("[rank0]: "),
    "process": prefixed("(train pid=312) "),
    "bar": prefixed("    | "),
    "timestamps": timed(),
    "colours": "".join(f"\x1b[31m{line}\x1b[0m\n" for line in TRACEBACK.splitlines()),
    "cut at the start": TRACEBACK.partition("last):\n")[2],
    "cut in a frame": 'call_impl\n    return f(x)\n  File "/home/someone/project/train.py", line 10, in <module>\n'
    f"    loss = criterion(model(x), y)\nRuntimeError: {MESSAGE}\n",
    "IPython": IPYTHON,
    "old IPython": OLD_IPYTHON,
    "pytest": PYTEST,
    "chained": TRACEBACK
    + "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
    '  File "/home/someone/project/main.py", line 3, in main\n    raise SystemError("x")\nSystemError: failed\n',
    "an error before": 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: 3\n\n'
    "The above exception was the direct cause of the following exception:\n\n" + TRACEBACK,
}


@pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)
def test_formats_are_read(devfix: Devfix, train: Path, text: str) -> None:
    ran = devfix("explain", "-", "--output-format", "json", stdin=text.encode())
    assert ran.code == 0
    assert ran.json["error"]["argument"] == "target"
    assert [frame["line"] for frame in ran.json["frames"]] == [10]


def test_code_that_raises_is_no_error_of_its_own() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    ValueError: x\nTypeError: y\n'
    assert [(error.type, len(error.frames)) for error in read(text)] == [("TypeError", 1)]


def test_garbage_raises_nothing() -> None:
    for text in ("\x00\xff", "Traceback (most recent call last):", 'File "', "-> 3", "E   \n>  ", "\x1b["):
        read(text)


ERROR = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


@pytest.mark.parametrize("file", ["~nosuchuser/t.py", ".", f"/{'a' * 300}/t.py"])
def test_paths_that_cannot_be_looked_up_are_not_found(devfix: Devfix, tree: Path, file: str) -> None:
    (tree / "log.txt").write_text(
        f'Traceback (most recent call last):\n  File "{file}", line 1, in <module>\n{ERROR}\n'
    )
    ran = devfix("explain", "log.txt")
    assert "not found here" in ran.out
    assert ran.code != 2, ran.err


def test_the_name_of_this_folder_counts(devfix: Devfix, tree: Path) -> None:
    (tree / "sub").mkdir()
    for folder in (tree, tree / "sub"):
        (folder / "t.py").write_text("f(x)\n")
    place = f"/home/me/{tree.name}/t.py"
    text = f'Traceback (most recent call last):\n  File "{place}", line 1, in <module>\n    f(x)\n{ERROR}\n'
    (tree / "log.txt").write_text(text)
    assert "not found here" not in devfix("explain", "log.txt").out


def test_a_byte_order_mark_is_no_part_of_an_error(devfix: Devfix, tree: Path) -> None:
    (tree / "log.txt").write_text(f"\ufeff{ERROR}\n", "utf-8")
    assert "\ufeff" not in devfix("explain", "log.txt").out
