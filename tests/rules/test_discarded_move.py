"""DVF103: moves whose result is thrown away."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF103"

SILENT = {
    "module stmt": """
        import torch
        import torch.nn as nn
        model = nn.Linear(3, 3)
        model.to("cuda")
        model.train()
        model.cuda()
        model.train()
        net.to(device)
        net.train()
        self_like.model.to(device)
    """,
    "in class": """
        import torch
        from torch import nn
        class T:
            def __init__(self, model, loss, device):
                self.model = model
                self.model.to(device)
                self.model.train()
                self.loss = loss
                self.loss.to(device)
                self.ema = EMA(model)
                self.ema.to(device)
                model.to(device)
                model.train()
            def run(self, x):
                return self.model(x)
    """,
    "unknown batch obj": """
        import torch
        for batch in loader:
            batch.to(device)
            out = model(batch)
    """,
    "graph": """
        import torch
        g = dgl.graph(x)
        g.to(device)
        data = Data(x=torch.zeros(3))
        data.to("cuda")
        image_list.to(device)
        boxes = BoxList(b)
        boxes.to("cuda")
    """,
    "metric": """
        import torch, torchmetrics
        m = torchmetrics.Accuracy(task="binary")
        m.to("cuda")
    """,
    "optimizer / scaler state": """
        import torch
        for state in optimizer.state.values():
            for k, v in state.items():
                if isinstance(v, torch.Tensor):
                    state[k] = v.to(device)
    """,
    "dtype": """
        import torch
        x = torch.zeros(3)
        x.to(torch.float16)
        x.to(dtype=torch.int8)
        x.to(y)
        x.to("cpu:foo")
    """,
    "encoding": """
        import torch
        enc = tok("a", return_tensors="pt")
        enc.to("cuda")
    """,
    "parameters module list": """
        import torch
        for m in model.modules():
            m.to("cuda")
        for m in self.models:
            m.to(device)
        for name, child in model.named_children():
            child.to(device)
        for model in models.values():
            model.cuda()
            model.train()
        for l in [layer1, layer2]:
            l.cuda()
    """,
    "module call": """
        import torch
        from torch import nn
        build_model().to(device)
        nn.Linear(1, 1).to(device)
        get_net(x).cuda()
    """,
    "used in expressions": """
        import torch
        x = torch.zeros(3)
        y = x.to("cuda") + x.cuda()
        f(x.to("cuda"))
        [t.to("cuda") for t in xs]
        return_value = (x.cuda(),)
        z = z2 = x.to("cuda")
        assert x.cuda().is_cuda
    """,
    "timing of transfers": """
        import time, torch
        x = torch.randn(1000)
        t = time.time()
        x.to("cuda")
        torch.cuda.synchronize()
        print(time.time() - t)
    """,
    "rehearsal of a move that is measured": """
        import time, torch
        x = torch.randn(1000, device="cuda:0")
        x.to("cuda:1")
        torch.cuda.synchronize()
        start = time.perf_counter()
        moved = x.to("cuda:1")
        print(moved.sum().item(), x.sum().item(), time.perf_counter() - start)
    """,
    "warmup cuda context": """
        import torch
        torch.zeros(1).cuda()
        torch.randn(1).to("cuda")
        torch.empty(1, device="cuda").cpu()
    """,
    "try availability": """
        import torch
        def has_mps():
            try:
                torch.ones(1).to("mps")
                return True
            except RuntimeError:
                return False
        def probe(device):
            t = torch.ones(1)
            try:
                t.to(device)
            except Exception:
                return False
            return True
    """,
    "pytest raises": """
        import torch, pytest
        def test_to():
            x = torch.ones(1)
            with pytest.raises(RuntimeError):
                x.to("cuda:99")
            with self.assertRaises(RuntimeError):
                x.cuda()
    """,
    "custom class named tensor container": """
        import torch
        class Box:
            def __init__(self): self.t = torch.zeros(3)
            def to(self, device):
                self.t = self.t.to(device)
                return self
        b = Box()
        b.to("cuda")
        print(b.t + torch.zeros(3, device="cuda"))
    """,
    "tensor subclass unknown": """
        import torch
        from nestedtensor import nested_tensor_from_tensor_list
        samples = nested_tensor_from_tensor_list(xs)
        samples.to("cuda")
    """,
    "Variable": """
        import torch
        from torch.autograd import Variable
        v = Variable(torch.zeros(3)).cuda()
    """,
    "benchmark lambda": """
        import torch
        x = torch.zeros(3)
        f = lambda: x.cuda()
        timeit(lambda: x.to("cuda"))
    """,
    "loss criterion stmt": """
        import torch
        import torch.nn as nn
        criterion = nn.CrossEntropyLoss(weight=w)
        criterion.to(device)
        criterion = FocalLoss()
        criterion.cuda()
    """,
    "last expr of a lambda/coroutine": """
        import torch
        async def f(x):
            x = torch.zeros(3)
            return await g(x.to("cuda"))
    """,
    "module attr from unknown": """
        import torch
        def f(pipe, device):
            pipe.unet.to(device)
            pipe.vae.to(device)
            pipe.to(device)
            pipe.text_encoder.to("cpu")
            vae_scale = pipe.vae.config
    """,
    "yield-from-batch nested object": """
        import torch
        device = torch.device("cuda")
        for i, data in enumerate(loader):
            data.to(device)
            pred = net(data)
            loss = F.mse_loss(pred.view(-1), data.y.view(-1))
            loss.backward()
    """,
    "instance list obj": """
        import torch
        from detectron2.structures import Instances
        for x in batched_inputs:
            x["instances"].to(device)
            t = x["instances"].gt_boxes.tensor
    """,
    "memory probe": """
        import torch
        def measure(x: torch.Tensor):
            torch.cuda.reset_peak_memory_stats()
            x.cuda()
            return torch.cuda.max_memory_allocated()
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


FIXES = {
    "a tensor made here": (
        'x = torch.zeros(3)\nx.to("cuda")\ny = x + 1\n',
        'x = torch.zeros(3)\nx = x.to("cuda")\ny = x + 1\n',
    ),
    "a parameter by its annotation": (
        "def f(x: torch.Tensor, device):\n    x.to(device)  # to the card\n    return x * 2\n",
        "def f(x: torch.Tensor, device):\n    x = x.to(device)  # to the card\n    return x * 2\n",
    ),
    "an attribute": (
        "class A:\n    def f(self, device):\n        self.t = torch.eye(3)\n        self.t.to(device)\n",
        "class A:\n    def f(self, device):\n        self.t = torch.eye(3)\n        self.t = self.t.to(device)\n",
    ),
    "cuda": (
        "x = torch.zeros(3)\nx.cuda(non_blocking=True)\ny = x + 1\n",
        "x = torch.zeros(3)\nx = x.cuda(non_blocking=True)\ny = x + 1\n",
    ),
    "to the host before numpy": (
        "x = torch.zeros(3)\nx.cpu()\ny = x.numpy()\n",
        "x = torch.zeros(3)\nx = x.cpu()\ny = x.numpy()\n",
    ),
    "in brackets": (
        'x = torch.zeros(3)\nif x.sum():\n    (x\n        .to("cuda"))\n    x.cuda()\ny = x + 1\n',
        'x = torch.zeros(3)\nif x.sum():\n    x = (x\n        .to("cuda"))\n    x = x.cuda()\ny = x + 1\n',
    ),
    "an element of a list": (
        "def f(x: list[torch.Tensor], device):\n    x[0].to(device)\n    return x[0] * 2\n",
        "def f(x: list[torch.Tensor], device):\n    x[0] = x[0].to(device)\n    return x[0] * 2\n",
    ),
    "what a tensor holds": (
        "def f(x: torch.Tensor, device):\n    x.data.to(device)\n    return x * 2\n",
        "def f(x: torch.Tensor, device):\n    x.data = x.data.to(device)\n    return x * 2\n",
    ),
    "an argument over several lines": (
        'x = torch.zeros(3)\nx.to(\n    "cuda",\n    non_blocking=True,\n)\ny = x + 1\n',
        'x = torch.zeros(3)\nx = x.to(\n    "cuda",\n    non_blocking=True,\n)\ny = x + 1\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_assigns_the_result(rule, before: str, after: str) -> None:
    assert rule.fixed("import torch\n" + before) == "import torch\n" + after


def test_a_move_to_the_host_is_a_choice(rule) -> None:
    program = "import torch\ndef f(x: torch.Tensor):\n    x.cpu()\n    return x * 2\n"
    assert "    x = x.cpu()\n" in rule.unchanged_unless_unsafe(program)


def test_a_move_away_from_what_numpy_needs_is_a_choice(rule) -> None:
    program = "import torch\nx = torch.zeros(3)\nx.to('cuda')\ny = x.numpy()\n"
    assert "x = x.to('cuda')\n" in rule.unchanged_unless_unsafe(program)


def test_each_fix_can_be_taken_alone(rule) -> None:
    program = "import torch\ndef f(a: torch.Tensor, b: torch.Tensor):\n    a.cuda()\n    b.cuda()\n    return a * b\n"
    after = rule.fixed(program, accept=lambda one: "`b" in one.message)
    assert "    a.cuda()\n    b = b.cuda()\n" in after


def test_the_message_says_what_happens(rule) -> None:
    finding = rule.finding("import torch\nx = torch.zeros(3)\nx.to('cuda')\ny = x + 1\n")
    assert finding.message == "`x.to(…)` returns a moved copy that is thrown away: `x` stays where it is"
    assert [one.span.line for one in finding.trail] == [2, 3]
    assert finding.fix.title == "Assign the moved tensor to `x`"
    assert finding.fix.safety is Safety.SAFE


def test_columns_after_wide_characters(rule) -> None:
    line = "ä = 'ß'; x = torch.zeros(3); x.to('cuda'); y = x + 1  # größer\r\n"
    program = ("import torch\r\n" + line).encode()
    assert rule.fixed(program).endswith(line.replace("x.to", "x = x.to"))


def test_operand_of_arithmetic_is_a_tensor(rule):
    program = """
        import torch
        def collect(outputs, key, mask, to_numpy):
            values = outputs[key]
            values = values * mask
            if to_numpy:
                values.cpu()
            return [one.detach() for one in values]
    """
    assert "        values = values.cpu()\n" in rule.fixed(program, unsafe=True)


def test_tensor_by_any_annotation(rule):
    program = """
        import torch
        from typing import Optional
        def step(self, x: torch.Tensor, mask: Optional[torch.BoolTensor] = None):
            if mask is not None:
                mask.to(self.device)
            return self.score(x, mask)
    """
    assert "        mask = mask.to(self.device)\n" in rule.fixed(program)


@pytest.mark.parametrize(
    "line", ["x = x.type_as(y)", "return x.type_as(y)", "make(x).type_as(y)", "x.type_as()", "self.x = x.type_as(y)"]
)
def test_conversions_whose_result_is_used_or_has_no_name(rule, line: str) -> None:
    assert rule.findings(f"import torch\ndef f(self, x, y):\n    {line}\n") == ()


def test_a_conversion_that_is_thrown_away(rule) -> None:
    fixed = rule.fixed("import torch\ndef f(self, y):\n    self.memory.type_as(y)\n", unsafe=True)
    assert "    self.memory = self.memory.type_as(y)\n" in fixed


PARAMETERS = """
    import torch
    def place(y, device):
        y.to(device)
        return score(y)
    def score(y{annotation}):
        return {use}
"""


@pytest.mark.parametrize(
    "use", ["y.clone()", "y.to_graph()", "y(3)", "y.train().squeeze()", 'y == "a" or y.squeeze()', "len(y)"]
)
def test_parameters_that_other_functions_use_otherwise(rule, use: str) -> None:
    assert rule.findings(PARAMETERS.format(annotation="", use=use)) == ()


@pytest.mark.parametrize("use", ["y.flatten()", "y.unsqueeze(0)"])
def test_a_parameter_that_is_a_tensor_in_another_function(rule, use: str) -> None:
    assert "\n    y = y.to(device)\n" in rule.unchanged_unless_unsafe(PARAMETERS.format(annotation="", use=use))


def test_an_annotated_parameter_is_what_it_says(rule) -> None:
    program = PARAMETERS.format(annotation="", use="y.flatten()").replace("place(y,", "place(y: Batch,")
    assert rule.findings(program) == ()


def test_parameters_that_a_loop_goes_over_are_not_moved_by_another_name(rule) -> None:
    program = """
        import torch
        class Net(torch.nn.Module):
            def to(self, device):
                for param in self.parameters():
                    if param.device.type != "meta":
                        param.to(device)
                return self
    """
    finding = rule.finding(program)
    assert finding.fix is None
    assert finding.advice == "assign the result to `param.data`, or move `self`, which holds it"


LAYER = """
    import torch
    from torch import nn
    class Observer({base}):
        def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
            super().__init__()
            self.weight = weight
            self.bias = {bias}
            self.bias.to(self.weight.device)
        def forward(self, x):
            return x @ self.weight + self.bias
"""


def test_what_may_be_a_parameter_of_another_layer_is_not_replaced(rule) -> None:
    finding = rule.finding(LAYER.format(base="nn.Module", bias="bias"))
    assert finding.fix is None
    assert finding.advice is not None
    assert finding.advice.startswith("assign the result to `self.bias.data`")


@pytest.mark.parametrize(("base", "bias"), [("object", "bias"), ("nn.Module", "torch.zeros(3)")])
def test_what_is_no_parameter_is(rule, base: str, bias: str) -> None:
    fixed = rule.fixed(LAYER.format(base=base, bias=bias), unsafe=True)
    assert "self.bias = self.bias.to(self.weight.device)" in fixed


def test_a_loop_variable_that_the_rest_of_the_round_does_not_read(rule) -> None:
    program = """
        import torch
        def calibrate(model, rows, device):
            batches = torch.stack(rows)
            for batch in batches:
                model(batch.to(device))
                batch.to("cpu")
            for batch in rows:
                print(batch)
    """
    assert rule.findings(program) == ()
    read = program.replace('batch.to("cpu")', "batch.to(device)\n                print(batch + 1)")
    assert "batch = batch.to(device)" in rule.fixed(read)


OUTER = """
    import torch
    SCALE = torch.tensor([1.0])
    def scaled(loss, *, gain: torch.Tensor):
        {line}
        return loss * SCALE + gain
"""


@pytest.mark.parametrize(
    ("made", "part"),
    [
        ("x", "y[0]"),
        ("x", "y.T"),
        ("x", "y.grad"),
        ("torch.ones(3, 3)", "y[i]"),
        ("x.split(1)", "y[0]"),
        ("x.max(0)", "y.values"),
    ],
)
def test_what_takes_no_part_from_elsewhere_is_moved_as_a_whole(rule, made: str, part: str) -> None:
    lines = (f"    y = {made}", f"    {part}.to(device)", f"    return {part} + torch.ones(3, device=device)")
    finding = rule.finding("\n".join(("import torch", "def f(x: torch.Tensor, i, device):", *lines, "")))
    assert finding.fix is None
    assert finding.advice == f"move `y` as a whole: an assignment to `{part}` moves nothing"


def test_a_name_of_the_module_gets_advice(rule) -> None:
    finding = rule.finding(OUTER.format(line="SCALE.to(loss.device)"))
    assert finding.fix is None
    assert finding.advice == "read `SCALE.to(loss.device)` instead: an assignment would make `SCALE` a local name"


def test_a_name_of_the_module_that_the_function_declares_its_own(rule) -> None:
    fixed = rule.fixed(OUTER.format(line="global SCALE\n        SCALE.to(loss.device)"))
    assert "    SCALE = SCALE.to(loss.device)\n" in fixed


def test_a_parameter_by_keyword(rule) -> None:
    fixed = rule.fixed(OUTER.format(line="gain.to(loss.device)"))
    assert "    gain = gain.to(loss.device)\n" in fixed


@pytest.mark.parametrize(
    "line",
    [
        "j = torch.zeros(3, device=x.device)",
        "j = torch.zeros_like(x)",
        "j = x * 2",
        "device = x.device; j = torch.zeros(3, device=device)",
        "j = torch.zeros(3).to(x.device)",
        "j = x.new_zeros(3)",
    ],
)
def test_what_is_there_already(rule, line: str) -> None:
    program = f"import torch\ndef f(x: torch.Tensor):\n    {line}\n    j.to(x.device)\n    return x + j\n"
    assert rule.findings(program) == ()
    other = program.replace("(x: torch.Tensor)", "(x: torch.Tensor, y)").replace("j.to(x.device)", "j.to(y.device)")
    assert "    j = j.to(y.device)\n" in rule.fixed(other)


LIGHTNING = """
import lightning as L
import torch
from config import DEVICE
class Coder(L.LightningModule):
    def test_step(self, batch, batch_idx):
        {before}
        x.to(DEVICE)
        return torch.nn.functional.mse_loss(self(x), x)
"""


@pytest.mark.parametrize("before", ["x, _ = batch", "x = batch['image']"])
def test_what_a_framework_has_placed(rule, before: str) -> None:
    found = rule.finding(LIGHTNING.format(before=before))
    assert found.fix is None
    assert found.advice is not None
    assert found.advice.startswith("delete the line")


def test_what_a_method_of_a_framework_makes(rule) -> None:
    assert "x = x.to(DEVICE)" in rule.fixed(LIGHTNING.format(before="x = torch.zeros(3)"))


HOST_MODULE = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x)
def show():
    net = {built}
    net.eval()
    x = torch.zeros(1, 3)
    if torch.cuda.is_available():
        x.cuda()
        {more}
    return net(x)
"""


@pytest.mark.parametrize("built", ["Net()", "torch.nn.Linear(3, 3)"])
def test_what_meets_a_module_of_the_host(rule, built: str) -> None:
    found = rule.finding(HOST_MODULE.format(built=built, more="pass"))
    assert found.fix is None
    assert found.advice is not None
    assert found.advice.startswith("move `net` as well")


@pytest.mark.parametrize(
    ("built", "more"),
    [("Net()", "net.cuda()"), ("Net().cuda()", "pass"), ("Net()", "place(net)"), ("load_net()", "pass")],
)
def test_what_meets_another_module(rule, built: str, more: str) -> None:
    assert "x = x.cuda()" in rule.fixed(HOST_MODULE.format(built=built, more=more))


ENTRIES_OF_SOMETHING_ELSE = {
    "modules": """
        def place(parts, device, model):
            for name in parts:
                parts[name].to(device)
                parts[name].eval()
            return model(parts)
    """,
    "models by name": """
        def place(models, device, encoder):
            for name in models.keys():
                models[name].to(device)
            return encoder(models)
    """,
    "nobody is given them": """
        def place(parts, device):
            for name in parts:
                parts[name].to(device)
            return parts
    """,
    "given to what is no model": """
        def place(parts, device):
            for name, part in parts.items():
                part.to(device)
            return Trainer(parts)
    """,
    "given to a model before": """
        def place(parts, device, model):
            model(parts)
            for name in parts:
                parts[name].to(device)
    """,
    "the entries of another mapping": """
        def place(parts, names, device, model):
            for name in names:
                parts[name].to(device)
            return model(parts)
    """,
    "asked whether it is a module": """
        def place(parts, device):
            for name, part in parts.items():
                if isinstance(part, torch.nn.Module):
                    part.to(device)
            return parts
    """,
    "asked for another": """
        def place(part, other, device):
            if torch.is_tensor(other):
                part.to(device)
            return part
    """,
    "in the other branch": """
        def place(part, device):
            if isinstance(part, torch.Tensor):
                part = part.to(device)
            else:
                part.to(device)
            return part
    """,
}


@pytest.mark.parametrize("program", ENTRIES_OF_SOMETHING_ELSE.values(), ids=ENTRIES_OF_SOMETHING_ELSE)
def test_entries_that_may_be_modules(rule, program: str) -> None:
    assert rule.findings("        import torch\n" + program) == ()


ENTRIES_OF_INPUTS = {
    "by its keys": (
        "for sample, _ in loader:\n        for name in sample.keys():\n            {}\n        model(sample)",
        "sample[name].to(device)",
        "sample[name] = sample[name].to(device)",
    ),
    "where it is elsewhere": (
        "for name in list(inputs):\n        if inputs[name].device != device:\n            {}\n    model(**inputs)",
        "inputs[name].to(device)",
        "inputs[name] = inputs[name].to(device)",
    ),
    "by its items": (
        "for name, one in inputs.items():\n        {}\n    model.generate(inputs['ids'])",
        "one.to(device)",
        "inputs[name] = one.to(device)",
    ),
}


@pytest.mark.parametrize(("program", "before", "after"), ENTRIES_OF_INPUTS.values(), ids=ENTRIES_OF_INPUTS)
def test_entries_of_what_a_model_is_given(rule, program: str, before: str, after: str) -> None:
    program = "import torch\ndef run(model, loader, inputs, device):\n    " + program + "\n"
    assert rule.unchanged_unless_unsafe(program.format(before)) == program.format(after)


ASKED = {
    "an entry by its items": (
        "for name, one in sample.items():\n        if torch.is_tensor(one):\n            {}\n    return sample",
        "one.to(device)",
        "sample[name] = one.to(device)",
    ),
    "an entry by its key": (
        "if name in sample and torch.is_tensor(sample[name]):\n        {}\n    return sample",
        "sample[name].cuda()",
        "sample[name] = sample[name].cuda()",
    ),
    "a parameter": (
        "if isinstance(sample, torch.Tensor):\n        {}\n    return sample",
        "sample.to(device)",
        "sample = sample.to(device)",
    ),
}


@pytest.mark.parametrize(("program", "before", "after"), ASKED.values(), ids=ASKED)
def test_what_was_asked_whether_it_is_a_tensor(rule, program: str, before: str, after: str) -> None:
    program = "import torch\ndef place(sample, name, device):\n    " + program + "\n"
    assert rule.fixed(program.format(before)) == program.format(after)


LOOP = """
    import torch
    from torch import nn
    model = nn.Linear(3, 3).cuda()
    for {row} in torch.utils.data.DataLoader(data):
        {moved}.cuda()
        loss = model({given}).sum()
"""


@pytest.mark.parametrize(
    ("row", "moved", "given"),
    [("x, y", "x", "x"), ("i, (x, y)", "x", "x"), ("row", "row['x']", "row['x']"), ("row", "row[0]", "row[0]")],
)
def test_parts_of_batches_that_a_model_gets_are_tensors(rule, row: str, moved: str, given: str) -> None:
    fixed = rule.fixed(LOOP.format(row=row, moved=moved, given=given))
    assert f"    {moved} = {moved}.cuda()\n" in fixed


@pytest.mark.parametrize(
    ("row", "moved", "given"),
    [("row", "row", "net(row)"), ("x, y", "y", "x"), ("row", "row['graph']", "row['x']"), ("x, y", "x", "y.x")],
)
def test_batches_and_parts_that_no_model_gets_may_be_moved_in_place(rule, row: str, moved: str, given: str) -> None:
    assert rule.findings(LOOP.format(row=row, moved=moved, given=given)) == ()


TURNS = """
    import torch
    def run(rows, device):
        x = torch.zeros(3)
        for row in rows:
            {first}
            x.to(device)
            {then}
"""


@pytest.mark.parametrize(("first", "then"), [("print(x)", "pass"), ("pass", "print(x)"), ("y = x", "row.append(y)")])
def test_what_the_next_turn_reads(rule, first: str, then: str) -> None:
    assert "        x = x.to(device)\n" in rule.fixed(TURNS.format(first=first, then=then))


@pytest.mark.parametrize(
    ("first", "then"), [("pass", "pass"), ("x = torch.ones(3)", "pass"), ("x = row + torch.ones(3)", "x = row")]
)
def test_what_no_turn_reads(rule, first: str, then: str) -> None:
    assert rule.findings(TURNS.format(first=first, then=then)) == ()


@pytest.mark.parametrize(("line", "found"), [("x.to(device='cuda')", 1), ("x.fill_with(1, device='cuda')", 0)])
def test_what_is_only_told_a_device(rule, line: str, found: int) -> None:
    assert len(rule.findings(f"import torch\nx = torch.zeros(3)\n{line}\ny = x + 1\n")) == found


@pytest.mark.parametrize(("then", "found"), [("return 1", 0), ("return x + 1", 1)])
def test_what_is_moved_under_a_test(rule, then: str, found: int) -> None:
    program = f"import torch\ndef f(device, n):\n    x = torch.zeros(n)\n    if n:\n        x.to(device)\n    {then}\n"
    assert len(rule.findings(program)) == found


def test_what_a_function_inside_reads(rule) -> None:
    program = """
        import torch
        def run(device):
            x = torch.zeros(3)
            x.to(device)
            def step(y):
                return x + y
            return step
    """
    assert "    x = x.to(device)\n" in rule.fixed(program)


@pytest.mark.parametrize(("types", "found"), [("torch.Tensor", 1), ("(torch.Tensor, torch.nn.Module)", 0)])
def test_what_may_be_a_module_as_well(rule, types: str, found: int) -> None:
    program = f"import torch\ndef f(x, device):\n    if isinstance(x, {types}):\n        x.to(device)\n    return x\n"
    assert len(rule.findings(program)) == found


CALLED = """
    import torch
    def place(x, device):
        x.to(device)
        return score(x)
    def score(x):
        return x.unsqueeze(0)
    def run({parameters}, device):
        return place({given}, device)
"""


def test_a_parameter_that_the_file_gives_a_tensor(rule) -> None:
    assert "    x = x.to(device)\n" in rule.fixed(CALLED.format(parameters="n", given="torch.zeros(n)"))


def test_a_parameter_that_is_only_handed_on(rule) -> None:
    rule.unchanged_unless_unsafe(CALLED.format(parameters="y", given="y"))


OF_BATCH = """
import torch
from torch import nn
def train(loader, device: torch.device):
    model = nn.Linear(4, 2).to(device)
    for batch in loader:
        {inputs} = batch.{attribute}
        {inputs}.to(device)
        loss = model({used}).mean()
"""


def test_attributes_of_batches_that_a_model_gets_are_tensors(rule) -> None:
    program = OF_BATCH.format(inputs="inputs", attribute="inputs", used="inputs")
    assert rule.fixed(program, unsafe=True) == program.replace("inputs.to(", "inputs = inputs.to(")
    assert rule.findings(OF_BATCH.format(inputs="graph", attribute="graph", used="torch.ones(2, 4)")) == ()


@pytest.mark.parametrize(
    ("told", "fixed"),
    [
        ("x = torch.zeros(3, requires_grad=False)", True),
        ("x = torch.zeros(3)\n    x.requires_grad_(False)", True),
        ("x = torch.zeros(3)\n    x.requires_grad = False", True),
        ("x = torch.zeros(3, requires_grad=True)", False),
        ("x = torch.zeros(3)\n    x.requires_grad_()", False),
        ("x = torch.zeros(3)\n    x.requires_grad_(True)", False),
        ("x = torch.zeros(3)\n    x.requires_grad = True", False),
    ],
)
def test_only_what_needs_a_gradient_is_a_leaf(rule, told: str, fixed: bool) -> None:
    program = f"import torch\ndef f(model, device: torch.device):\n    {told}\n    x.to(device)\n    return model(x)\n"
    assert [one.fix is not None for one in rule.findings(program)] == [fixed]


def test_a_move_over_several_lines_keeps_its_layout(rule) -> None:
    program = (
        "import torch\ndef f(model, device: torch.device):\n    x = torch.zeros(3)\n    if model:\n"
        "        x.to(\n            device,  # the card\n        )\n    return model(x)\n"
    )
    assert rule.fixed(program) == program.replace("        x.to(", "        x = x.to(")


OWN_MOVE = """
import torch
import torch.nn.functional as F
class Model:
    def __init__(self, arch):
        self.net = build(arch)
    def to(self, device):
        self.net.to(device)
    def __call__(self, x):
        return F.softmax(self.net(x), 1)
    @classmethod
    def load(cls, state):
        model = {made}
        model.to(torch.device("cpu"))
        return model
"""


def test_an_object_that_a_class_method_makes(rule) -> None:
    assert rule.findings(OWN_MOVE.format(made="cls(state)")) == ()


def test_what_an_object_gives(rule) -> None:
    assert "model = model.to(" in rule.fixed(OWN_MOVE.format(made="cls(state)(state.first)"), unsafe=True)


RATE = """
    import torch

    class Rates:
        def __init__(self, device, rate, steps):
            self.rate = torch.ones(1) * rate
            self.rate.to(device)
            self.steps = steps

        def all(self):
            return {made}
"""


@pytest.mark.parametrize(
    ("made", "safety"),
    [
        ("torch.ones(self.steps) * self.rate", Safety.UNSAFE),
        ("torch.cat([self.rate, torch.zeros(3)])", Safety.UNSAFE),
        ("torch.ones(self.steps).to(self.rate) * self.rate", Safety.SAFE),
        ("torch.tensor(2.0) * self.rate", Safety.SAFE),
        ("self.rate.clone()", Safety.SAFE),
    ],
)
def test_what_meets_a_host_tensor_elsewhere_is_no_safe_move(rule, made: str, safety: Safety) -> None:
    assert rule.safeties(RATE.format(made=made)) == [safety]
