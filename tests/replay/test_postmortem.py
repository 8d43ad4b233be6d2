"""Post-mortems: nothing of the user's runs, nothing gets lost on the way, and the words are right."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from devfix.replay.postmortem import (
    BatchValue,
    Form,
    Frame,
    Member,
    ModuleValue,
    Named,
    OptimizerValue,
    PostMortem,
    Step,
    TensorFacts,
    TensorValue,
    as_json,
    decode,
    lines,
    story,
)
from devfix.replay.probe import postmortem as examiner

Examine = Callable[[str], PostMortem]

FAIL = """
import torch
source = '''
def fail(*values):
    global armed
    armed = True
    raise RuntimeError("Expected all tensors to be on the same device")
'''
exec(compile(source, "library.py", "exec"))  # outside the tree
"""


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Run code that crashes, here and without a simulation, and examine the crash as on hardware."""
    monkeypatch.setattr(examiner, "SECONDS", 600.0)  # a slow machine tells as much as a fast one

    def run(code: str) -> PostMortem:
        script = tmp_path / "script.py"
        script.write_text(code, encoding="utf-8")
        try:
            exec(compile(code, str(script), "exec", dont_inherit=True), {"__name__": "script"})
        except Exception as error:
            found = decode(json.loads(json.dumps(examiner.examine(error, tmp_path))))
            assert found is not None
            return found
        raise AssertionError("the script did not crash")

    return run


TRAPS = (
    FAIL
    + """
touched = []
armed = False
def touch(name):
    if armed:
        touched.append(name)
class Meta(type):
    def __instancecheck__(cls, other): touch("__instancecheck__"); return False
    def __getattribute__(cls, name): touch(f"class {name}"); return super().__getattribute__(name)
class Trap(metaclass=Meta):
    __slots__ = ("inner", "__dict__")
    def __getattribute__(self, name): touch(name); return object.__getattribute__(self, name)
    def __getattr__(self, name): touch(name); return 1
    def __getitem__(self, key): touch("[]"); return 1
    def __len__(self): touch("len"); return 1
    def __bool__(self): touch("bool"); return True
    def __eq__(self, other): touch("=="); return True
    def __hash__(self): touch("hash"); return 1
    def __repr__(self): touch("repr"); return ""
    def __iter__(self): touch("iter"); return iter(())
    @property
    def place(self): touch("place"); return 1
class TrapDict(dict):
    def __getitem__(self, key): touch("dict[]"); return super().__getitem__(key)
    def get(self, key, default=None): touch("dict.get"); return super().get(key, default)
    def items(self): touch("items"); return super().items()
    def __iter__(self): touch("dict iter"); return super().__iter__()
    def __len__(self): touch("dict len"); return super().__len__()
class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        touch("__torch_function__")
        return super().__torch_function__(function, types, args, kwargs or {})
def main():
    trap, mapping, odd = Trap(), TrapDict(x=torch.ones(2)), torch.ones(2).as_subclass(Odd)
    trap.inner = torch.ones(3)
    fail(trap, trap.inner, trap.place, trap[0], trap.missing, mapping["x"], mapping, odd, odd.data)
try:
    main()
finally:
    report(touched)
"""
)


def test_no_code_of_the_users_runs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TRAPS, encoding="utf-8")
    touched: list[list[str]] = []
    with pytest.raises(RuntimeError) as caught:
        exec(compile(TRAPS, str(script), "exec"), {"__name__": "script", "report": touched.append})
    found = decode(examiner.examine(caught.value, tmp_path))
    assert touched == [[]]
    assert found is not None
    told = {value.expression: value for value in found.values}
    assert isinstance(told["trap.inner"], TensorValue)
    assert isinstance(told["mapping['x']"], TensorValue)
    assert isinstance(told["mapping"], BatchValue)
    assert isinstance(told["odd"], TensorValue)
    assert told["odd"].facts == TensorFacts("cpu", (2,), "float32")
    assert not {"trap.place", "trap[0]", "trap.missing"} & told.keys()


def test_huge_values_are_told_of_in_part(examine: Examine) -> None:
    postmortem = examine(
        FAIL
        + """
tensors = [torch.ones(1)] * 1_000_000
module = torch.nn.Module()
module._parameters.update({f"weight{number}": torch.nn.Parameter(torch.ones(0)) for number in range(30_000)})
module.self = module
nested = [[[[[[torch.ones(1)]]]]]]
nested.append(nested)
names = {f"name{number}": torch.ones(1) for number in range(1000)}
globals().update(names)
def deep(number):
    if number == 0:
        fail(tensors, module, nested)
    deep(number - 1)
deep(300)
"""
    )
    told = {value.expression: value for value in postmortem.values}
    assert isinstance(told["tensors"], BatchValue)
    assert len(told["tensors"].items) < 100
    assert isinstance(told["module"], ModuleValue)
    assert 1000 < told["module"].places["cpu"] <= 20_000
    assert len(postmortem.values) < 100
    assert len(postmortem.frames) < 20
    assert len(json.dumps(as_json(postmortem))) < 200_000


@pytest.mark.parametrize(
    ("statement", "code", "operation"),
    [
        ("x + y", "x + y", "+"),
        ("x @ y", "x @ y", "@"),
        ("x @= y", "x @= y", "@="),
        ("x < y", "x < y", "<"),
        ("torch.add(x, y)", "torch.add(x, y)", "torch.add"),
        ("z = 1, [x.view(-1).add(y)]", "x.view(-1).add(y)", "x.view(-1).add"),
        ("(x\n    .add(y))", "x\n    .add(y)", "x.add"),
        ("print(f'{x + y}')", "x + y", "+"),
    ],
)
def test_the_failing_expression_is_found(examine: Examine, statement: str, code: str, operation: str) -> None:
    postmortem = examine(f"import torch\nx, y = torch.ones(2), torch.ones(2, device='meta')\nä = 1; {statement}\n")
    assert (postmortem.code, postmortem.operation) == (code, operation)
    assert postmortem.line == 3
    assert {"x", "y"} <= {value.expression for value in postmortem.values if value.operand}
    culprits = {value.expression for value in postmortem.culprits}
    assert "y" in culprits
    assert culprits & {"x", "x.view(-1)"}


@pytest.mark.parametrize("statement", ["for i, (y, z) in x: z", "if x: z", "while x: z", "with x: z", "[1 for y in x]"])
def test_of_a_loop_or_a_condition_what_it_asks_is_found(examine: Examine, statement: str) -> None:
    """Before Python 3.13 the columns are those of all of it."""
    special = "__iter__ = __bool__ = __enter__ = __exit__ = fail"
    code = f"exec(compile('class Own:\\n    {special}', 'library.py', 'exec'))\nx = Own()\n"
    postmortem = examine(f"{FAIL}{code}{statement}\n")
    assert (postmortem.code, postmortem.column is not None) == ("x", True)


def test_without_columns_the_statement_counts(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devfix.replay.probe.failing.hasattr", lambda owner, name: False, raising=False)
    postmortem = examine(
        "import torch\nx, y = torch.ones(2), torch.ones(2, device='meta')\nz = torch.add(\n    x, y)\n"
    )
    assert (postmortem.line, postmortem.column, postmortem.code) == (3, None, "z = torch.add(")
    assert postmortem.operation == "torch.add"
    assert {value.expression for value in postmortem.culprits} == {"x", "y"}


def test_on_hardware_arguments_of_library_functions_are_read_from_their_frames(examine: Examine) -> None:
    postmortem = examine(
        """
import torch
from torch import nn
net, loss = nn.Linear(3, 3, device="meta"), nn.CrossEntropyLoss()
def train(batch):
    images, labels = batch
    return loss(net(images.to("meta")), labels)
train((torch.ones(2, 3), torch.zeros(2, dtype=torch.long)))
"""
    )
    culprits = {value.expression: value for value in postmortem.culprits}
    assert {"net(images.to('meta'))", "labels"} <= culprits.keys()
    made = culprits["net(images.to('meta'))"]
    assert isinstance(made, TensorValue)
    assert made.facts == TensorFacts("meta", (2, 3), "float32")
    assert story(postmortem) == (
        "`labels` (int64[2]) is on the host; `net(images.to('meta'))` is on the meta device; "
        "they meet in `loss` at script.py:7."
    )


def test_the_same_tensor_is_known_in_outer_frames(examine: Examine) -> None:
    postmortem = examine(
        """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2, device="meta")
    def forward(self, x):
        return self.fc(x)
def main():
    net, images = Net(), torch.ones(1, 2)
    net(images)
main()
"""
    )
    assert [frame.function for frame in postmortem.frames] == ["<module>", "main", "forward"]
    outer = {value.expression: value for value in postmortem.values if value.frame == 1}
    assert outer["images"].culprit
    assert outer["images"].alias == "x"
    assert outer["net"].alias == "self"


def test_what_values_are_is_told_also_where_they_have_no_place(examine: Examine) -> None:
    postmortem = examine(
        FAIL
        + """
class Meter:
    def __init__(self):
        self.kept = {"total": torch.ones(1)}
    def update(self, name, batch, size):
        fail(batch)
x = torch.ones(2)
Meter().update("loss", [{"x": x, "text": "a"}, {"x": x, "text": "b"}], x.shape)
"""
    )
    inner = {named.expression: named.form for named in postmortem.forms if named.frame == 1}
    tensor = Form("Tensor", moves=True)
    assert inner["name"] == Form("str")
    assert inner["size"] == Form("Size", parts=(Form("int"),))
    assert inner["batch"] == Form("list", parts=(Form("dict", is_dict=True, parts=(tensor, Form("str"))),))
    assert inner["self.kept"] == Form("dict", is_dict=True, parts=(tensor,))
    assert inner["self"] == Form("Meter")
    assert Named(0, "x", tensor) in postmortem.forms


def test_garbage_from_the_probe_is_left_out() -> None:
    assert decode(None) is None
    assert decode("x") is None
    assert decode({"file": "a.py"}) is None
    assert decode({"file": "a.py", "line": True}) is None
    tensor = {"expression": "x", "kind": "tensor", "place": "cpu", "shape": [1, "2"], "dtype": 7, "history": [3, {}]}
    values = [
        None,
        {},
        {"kind": "tensor"},
        {"expression": "y", "kind": "tensor"},
        {"expression": "z", "kind": []},
        tensor,
    ]
    odd = {
        "expression": "m",
        "kind": "module",
        "places": {"cpu": 1, "cuda:0": "2"},
        "odd": "none",
        "involved": [1, "w"],
    }
    forms = [{"frame": 0, "expression": "x"}, {"frame": "0", "expression": "x", "type": "str"}, [], None]
    record = {"file": "a.py", "line": 3, "column": "4", "frames": 7, "values": [*values, odd], "forms": forms}
    found = decode(record)
    assert found == PostMortem(
        message="",
        file="a.py",
        line=3,
        values=(
            TensorValue("x", facts=TensorFacts("cpu")),
            ModuleValue("m", places={"cpu": 1}, involved=("w",)),
        ),
    )


HOST = TensorFacts("cpu", (4,), "int64", (Step("cpu", "made by torch.zeros", "a.py", 2, "y = torch.zeros(4)"),))
DEVICE = TensorFacts("cuda:0", (4, 3), "float32", (Step("cuda:0", "moved by .to", "a.py", 3, "x = x.to(device)"),))


def crash(*values: object, **fields: object) -> PostMortem:
    known = {"message": "Expected all tensors …", "file": "a.py", "line": 9, "code": "f(x, y)", "operation": "f"}
    return PostMortem(**{**known, "frames": (Frame("a.py", 9, "<module>"),), **fields}, values=values)  # type: ignore[arg-type]


def operand(expression: str, facts: TensorFacts) -> TensorValue:
    return TensorValue(expression, operand=True, culprit=True, facts=facts)


def test_json_and_back() -> None:
    postmortem = crash(
        operand("x", DEVICE),
        ModuleValue("m", places={"cpu": 1, "cuda:0": 2}, odd=(Member("w", HOST),), involved=("w",)),
        BatchValue("b", type="dict", items=(Member("labels", HOST, "b['labels']"),)),
        OptimizerValue("o", type="Adam", places={"cpu": 1}, state_history=HOST.history),
    )
    batch = Form("list", parts=(Form("dict", is_dict=True, parts=(Form("Tensor", moves=True), Form("str"))),))
    postmortem = replace(postmortem, forms=(Named(0, "batch", batch), Named(0, "name", Form("str"))))
    assert decode(json.loads(json.dumps(as_json(postmortem)))) == postmortem


def test_without_a_difference_nothing_is_made_up() -> None:
    assert lines(crash()) == ["`f(x, y)` at a.py:9 failed: Expected all tensors …."]
    assert story(crash(message="It broke.")).endswith("failed: It broke.")
    assert "meet" not in story(crash(operand("x", DEVICE)))


def test_a_host_tensor_is_told_first_and_with_its_shape() -> None:
    assert story(crash(operand("x", DEVICE), operand("y", HOST))) == (
        "`y` (int64[4]) is on the host: made by `torch.zeros` at a.py:2 and never moved; "
        "`x` is on cuda:0 since `x = x.to(device)` at a.py:3; they meet in `f` at a.py:9."
    )


def test_a_long_line_is_quoted_with_its_end() -> None:
    code = "model = nn.Sequential(" + "nn.Linear(8, 8), " * 10 + "nn.Linear(8, 8)).to(device)"
    moved = TensorFacts("cuda:0", (1,), "float32", (Step("cuda:0", "moved by .to", "a.py", 3, code),))
    told = story(crash(operand("x", moved), operand("y", HOST)))
    assert "since `model = nn.Sequential(nn.Linear(8, … " in told
    assert " nn.Linear(8, 8)).to(device)` at a.py:3" in told
    assert len(told) < 300


def test_tensors_with_one_origin_share_a_clause() -> None:
    loaded = TensorFacts(
        "cpu", (4,), "int64", (Step("cpu", "it comes from the loader", "a.py", 5, "for x in loader:"),)
    )
    assert story(crash(operand("a", loaded), operand("b", loaded), operand("x", DEVICE))).startswith(
        "`a` (int64[4]) and `b` (int64[4]) are on the host: they come from the loader at a.py:5 and were never moved;"
    )


def test_a_module_in_two_places_names_the_odd_ones() -> None:
    made = (Step("cpu", "made by torch.empty", "a.py", 7, "net.head = nn.Linear(8, 3)"),)
    odd = tuple(Member(name, TensorFacts("cpu", (3,), "float32", made)) for name in ("head.weight", "head.bias"))
    net = ModuleValue(
        "net", operand=True, culprit=True, type="Net", places={"cuda:0": 12, "cpu": 2}, odd=odd, history=DEVICE.history
    )
    assert story(crash(net)) == (
        "12 of the 14 parameters and buffers of `net` (Net) are on cuda:0 since `x = x.to(device)` at a.py:3; "
        "`head.weight` and `head.bias` are on the host: made by `net.head = nn.Linear(8, 3)` at a.py:7 and never "
        "moved; "
        "they meet in `f` at a.py:9."
    )


def test_of_an_operator_that_is_a_word_the_whole_expression_is_told() -> None:
    told = story(crash(operand("row", DEVICE), operand("m", HOST), code="row in m", operation="in"))
    assert told.endswith("; they meet in `row in m` at a.py:9.")


def test_one_parameter_is_told_of_as_one() -> None:
    odd = (Member("bias", TensorFacts("cpu", (3,), "float32")),)
    net = ModuleValue("fc", operand=True, culprit=True, type="Linear", places={"cuda:0": 1, "cpu": 1}, odd=odd)
    assert story(crash(net)).startswith("1 of the 2 parameters and buffers of `fc` (Linear) is on cuda:0; `bias` is on")


def test_what_else_was_in_reach_is_a_table() -> None:
    batch = BatchValue("batch", type="dict", items=(Member("y", HOST, "batch['y']"), Member("x", DEVICE, "batch['x']")))
    rest = (batch, TensorValue("out", facts=DEVICE), TensorValue("again", alias="out", facts=DEVICE))
    assert lines(crash(operand("x", DEVICE), operand("y", HOST), *rest))[1:] == [
        "also in reach:",
        "  batch  dict           y: int64[4] host, x: float32[4, 3] cuda:0",
        "  out    float32[4, 3]  cuda:0",
    ]
    many = [TensorValue(f"t{number}", facts=DEVICE) for number in range(40)]
    assert lines(crash(*many))[-1] == "  and 28 more"
