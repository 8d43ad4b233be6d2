"""DVF501: a device that a call leaves out and that is CUDA by default, types by their names, and options."""

import pytest

CODE = "DVF501"

HEAD = """
import torch


def fill(n, device="cuda"):
    return torch.full((n,), 2.0, device=device)


"""

SILENT = {
    "given": "def run(model, device):\n    return model(fill(3, device=device))\n",
    "given by position": "def run(model, device):\n    return model(fill(3, device))\n",
    "may be given": "def run(model, device, options):\n    return model(fill(3, **options)), model(fill(*options))\n",
    "nothing at hand": "def run(model):\n    return fill(3)\n",
    "another of that name": "fill = print\ndef run(model, device):\n    return model(fill(3))\n",
    "a parameter of that name": "def run(fill, device):\n    return fill(3).to(device)\n",
    "a method": "def run(one, device):\n    return one.fill(3).to(device)\n",
    "where CUDA is asked for": "def run(x):\n    if torch.cuda.is_available():\n        fill(3)\n    fill(3, 'cpu')\n",
    "over processes": ("def run(rank):\n    fill(3, 'cpu')\n    torch.cuda.set_device(rank)\n    return fill(3)\n"),
    "a type that is no tensor's": "def run(model, kind):\n    return model.type(kind)\n",
    "a module": "def run(model, x):\n    model.eval()\n    return model.type(x.type())\n",
    "an option that is a string": 'def run(args, x):\n    return x if args.device == "cuda" else None\n',
    "the type of a device": 'def run(x: torch.Tensor):\n    return x.device.type == "cuda"\n',
    "who knows what it is": 'def run(x):\n    return x.device == "cuda"\n',
    "a type by its name": 'def run(x):\n    return x.type("torch.FloatTensor")\n',
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program):
    assert rule.findings(HEAD + program) == ()


def test_device_in_scope_is_given(rule):
    program = HEAD + "def run(model, device):\n    return model(fill(3))\n"
    assert "fill(3, device=device)" in rule.unchanged_unless_unsafe(program)


def test_before_other_keywords(rule):
    program = HEAD.replace('device="cuda"', "device: str = 'cuda', scale=1.0")
    program += "def run(device):\n    return fill(3, scale=2.0).to(device)\n"
    assert "fill(3, device=device, scale=2.0)" in rule.fixed(program, unsafe=True)


def test_only_advice_where_no_device_is_named(rule):
    program = HEAD + "def run(model, many):\n    return model(fill(3)), fill(4, device='cpu')\n"
    finding = rule.finding(program)
    assert finding.fix is None
    assert "`device=…`" in finding.advice


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.zeros(3).type(x.type())", "torch.zeros(3).to(x)"),
        ("(x < y).type(y.type()).sum()", "(x < y).to(y).sum()"),
    ],
)
def test_follows_a_tensor_and_not_its_type(rule, before, after):
    program = "import torch\ndef run(x, y):\n    return {}\n"
    assert rule.fixed(program.format(before)) == program.format(after)


def test_device_of_a_tensor_is_no_string(rule):
    program = 'import torch\ndef run(x: torch.Tensor):\n    return x.device == "cuda"\n'
    assert 'x.device.type == "cuda"' in rule.unchanged_unless_unsafe(program)


def test_devices_in_a_chain(rule):
    program = 'import torch\ndef run(x, y):\n    z = x.softmax(-1)\n    return x.device == y.device == "cuda", z\n'
    assert "return x.device == y.device and x.is_cuda, z\n" in rule.unchanged_unless_unsafe(program)


MIX = """
import torch


def mix(target, classes, device="cuda"):
    table = torch.eye(classes, device=device)
    return table[target] + table[target.flip(0)]


"""

ONE = 'import torch\n\n\ndef one({}, device="cuda"):\n    {}\n\n\ndef run(y):\n    return one(y)\n'


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("target", "return torch.zeros(3, device=device).scatter_(0, target.to(device).view(-1), 1.0)"),
        ("target=None", "return torch.zeros(3, device=device).scatter_(0, target.view(-1), 1.0)"),
        ("count", "return torch.zeros(count, device=device)"),
    ],
)
def test_what_is_given_need_not_be_where_the_result_is(rule, parameters, body):
    assert rule.findings(ONE.format(parameters, body)) == ()


def test_nothing_is_known_of_an_argument_without_a_name(rule):
    assert rule.findings(MIX + "def run(y):\n    return mix(read(y), 5)\n") == ()


def test_follows_what_the_helper_uses_as_a_tensor(rule):
    program = MIX + "def run(y, n):\n    return mix(y, n)\n"
    assert "mix(y, n, device=y.device)" in rule.unchanged_unless_unsafe(program)


# Texts

KEEPS = """
import torch


class Runner:
    def __init__(self, model, device):
        {first}
        self.device = {value}
        self.half = "cuda" in self.device

    def run(self, x):
        return self.model(x.to(self.device))
"""


@pytest.mark.parametrize(
    "parts",
    [
        {"first": "pass", "value": "str(device)"},
        {"first": "pass", "value": "read(device)"},
        {"first": "device = read(device)", "value": "device"},
        {"first": "if isinstance(device, torch.device):\n            device = device.type", "value": "device"},
        {"first": "self.names = 'cuda' in model.devices", "value": "'cuda'"},
    ],
)
def test_a_text_may_be_searched(rule, parts):
    assert rule.findings(KEEPS.format(**parts)) == ()


def test_a_device_that_nothing_is_moved_to_is_a_text(rule):
    assert rule.findings("import torch\ndef run(device):\n    return 'cuda' in device\n") == ()


def test_a_device_cannot_be_searched(rule):
    program = KEEPS.format(first="pass", value="device")
    assert '"cuda" in str(self.device)' in rule.unchanged_unless_unsafe(program)


def test_a_device_that_is_given_cannot_be_searched(rule):
    program = (
        "import torch\ndef run(x, device):\n    x = x.to(device)\n    return x if 'cuda' not in device else x + 1\n"
    )
    assert "'cuda' not in str(device)" in rule.unchanged_unless_unsafe(program)


TEXTS = (
    KEEPS.replace("device):", "device: {said}):", 1)
    + """

def main(model, x, device):
    {call}
"""
)


@pytest.mark.parametrize(
    "call", ["Runner(model, read())", 'Runner(model, "cuda:0").run(x)', "Runner(model, device=str(device))"]
)
@pytest.mark.parametrize("said", ["str", "'str'"])
def test_what_is_said_to_be_a_text_may_be_searched(rule, said, call):
    assert rule.findings(TEXTS.format(first="pass", value="device", said=said, call=call)) == ()


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("str", 'Runner(model, torch.device("cuda"))'),
        ("str", 'Runner(model, "cpu")\n    Runner(model, device=torch.device(device))'),
        ("str | torch.device", 'Runner(model, "cuda")'),
        ("torch.device", "pass"),
        ("str", "pass"),
    ],
)
def test_a_device_in_the_place_of_a_text_cannot_be_searched(rule, said, call):
    program = TEXTS.format(first="pass", value="device", said=said, call=call)
    assert '"cuda" in str(self.device)' in rule.unchanged_unless_unsafe(program)


def test_a_parameter_that_is_said_to_be_a_text(rule):
    program = "import torch\ndef run(x, device: str):\n    return x.to(device) if 'cuda' in device else x\n"
    assert rule.findings(f"{program}run(3, 'cpu')\n") == ()
    assert len(rule.findings(program)) == 1


# Options


@pytest.mark.parametrize(
    "program",
    [
        "def run(build):\n    return build(options={'device': 'cuda'})\n",
        "def run(build, device):\n    return build(options={'kind': 'cuda'})\n",
        "def run(build, device):\n    options = {'device': 'cuda'}\n    return options\n",
        "def run(build, device, gpu):\n    return build(options={'device': 'cuda'}) if gpu else None\n",
        "def run(build, read):\n    build(options=read())\n    return build(options={'device': 'cuda'})\n",
        "def run(build, read):\n    build(options={'device': 'cuda'})\n    options = read()\n    go(options=options)\n",
    ],
)
def test_options_that_nothing_contradicts(rule, program):
    assert rule.findings("import torch\n" + program) == ()


def test_device_among_options(rule):
    program = "import torch\ndef run(build, device):\n    return build(options={'device': 'cuda', 'kind': 'a'})\n"
    assert "options={'device': device, 'kind': 'a'}" in rule.unchanged_unless_unsafe(program)


def test_device_of_the_options_that_the_other_call_gets(rule):
    program = (
        "import torch\ndef run(build, options):\n    build('a', options=options)\n"
        "    return build('b', options={'device': 'cuda'})\n"
    )
    assert "options={'device': options.get(\"device\", 'cuda')}" in rule.unchanged_unless_unsafe(program)


# Types of what is filled

OUT = "import torch\ndef run(x: torch.Tensor):\n    return x + torch.ones(3, out={})\n"


@pytest.mark.parametrize(
    "out",
    ["torch.FloatTensor()", "torch.cuda.FloatTensor(3)", "torch.cuda.HalfTensor()", "x", "torch.empty(3)"],
)
def test_what_is_filled_may_be_anywhere(rule, out):
    assert not [one for one in rule.findings(OUT.format(out)) if one.fix and "device=" in str(one.fix.edits)]


@pytest.mark.parametrize(
    "out",
    ["torch.cuda.FloatTensor()", "torch.cuda.FloatTensor() if torch.cuda.is_available() else torch.FloatTensor()"],
)
def test_what_is_filled_says_where_the_result_goes(rule, out):
    assert "x + torch.ones(3, device=x.device)" in rule.fixed(OUT.format(out))
