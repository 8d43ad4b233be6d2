"""What is made only where there is an accelerator says nothing of what is made elsewhere."""

import pytest
from devfix_codemods.ir import Node, Op

CHECKED = """
    def small(n):
        return nn.Linear(n, 3)
    {decorator}
    def check(n):
        {made}
        {test}:
            big = nn.Linear(n, 3).cuda()
            x = torch.randn(3, n, device="cuda")
            print(big(x))
        {after}
"""


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("net = small(n)", "print(net(torch.ones(1, n)))"),
        ("net = nn.Linear(n, 3)", "print(net(torch.ones(1, n)))"),
        ("z = torch.ones(3)", "print(z + 1)"),
    ],
)
def test_what_is_made_beside_the_test(placed, made: str, after: str) -> None:
    program = CHECKED.format(decorator="", made=made, test="if torch.cuda.is_available()", after=after)
    assert placed(program).births == []


@pytest.mark.parametrize(
    ("made", "after", "birth"),
    [
        ("net = nn.Linear(n, 3)", "print(net(torch.ones(1, n)))", "nn.Linear(n, 3)"),
        ("z = torch.ones(3)", "return z", "torch.ones(3)"),
    ],
)
def test_what_is_made_under_another_test(placed, made: str, after: str, birth: str) -> None:
    assert birth in placed(CHECKED.format(decorator="", made=made, test="if n > 3", after=after)).births


HELPED = """
    {decorator}
    def runs(n):
        net = nn.Linear(n, 3).cuda()
        print(net(torch.ones(1, n, device="cuda")))
    def train(n):
        net = nn.Linear(n, 3)
        print(net(torch.ones(1, n)))
"""


@pytest.mark.parametrize(
    "decorator",
    [
        "@pytest.mark.skipif(not torch.cuda.is_available(), reason='none')",
        "@pytest.mark.skipif(torch.cuda.device_count() < 2, reason='none')",
        "@requires_cuda",
        "@unittest.skipUnless(GPU)",
    ],
)
def test_a_function_that_runs_with_an_accelerator_alone(placed, decorator: str) -> None:
    assert placed(HELPED.format(decorator=decorator)).births == []


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.no_grad()",
        "@pytest.mark.parametrize('n', [1])",
        "@pytest.mark.skipif(torch.cuda.is_available(), reason='for the host')",
        "@pytest.mark.skipif(sys.version_info < (3, 12), reason='the gpu image has it')",
        "@skip_on_gpu",
    ],
)
def test_a_function_that_runs_anywhere(placed, decorator: str) -> None:
    assert "nn.Linear(n, 3)" in placed(HELPED.format(decorator=decorator)).births


@pytest.mark.parametrize("decorator", ["@unittest.skipUnless(torch.cuda.is_available(), 'none')", "@requires_gpu"])
def test_a_class_that_runs_with_an_accelerator_alone(placed, decorator: str) -> None:
    program = HELPED.format(decorator="").replace(
        "def runs(n):", f"{decorator}\n    class Runs:\n     def runs(self, n):"
    )
    program = program.replace("        net = nn.Linear(n, 3).cuda()", "            net = nn.Linear(n, 3).cuda()")
    program = program.replace("        print(net(torch.ones(1, n, d", "            print(net(torch.ones(1, n, d")
    assert placed(program).births == []


@pytest.mark.parametrize(
    ("module", "imported", "found"),
    [("tools", "apply_device", False), ("tools", "device", True), ("setup_env", "device", True)],
)
def test_a_function_called_after_devices_is_none(placed, module: str, imported: str, found: bool) -> None:
    program = f"""
        from {module} import {imported}
        def run(x):
            print({imported})
            net = nn.Linear(3, 3)
            return net(torch.ones(1, 3))
    """
    assert ("nn.Linear(3, 3)" in placed(program).births) is found


METRICS = """
    import torchmetrics
    def judge(net, loader, device):
        accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)
        for x, y in loader:
            out = net(x.to(device)){copied}
            assert len(out.shape) == 2
            accuracy.update(out, y{moved})
        return accuracy.compute()
"""


def test_a_metric_of_copies_on_the_host(placed) -> None:
    assert placed(METRICS.format(copied=".cpu()", moved="")).births == []


def test_a_metric_of_what_is_on_the_device(placed) -> None:
    births = placed(METRICS.format(copied="", moved=".to(device)")).births
    assert "torchmetrics.Accuracy(task='multiclass', num_classes=3)" in births


@pytest.mark.parametrize("given", ["dim, rows.to(device)", "dim=dim, index=rows.to(device)"])
def test_a_dimension_is_a_number(placed, given: str) -> None:
    program = f"""
        def pick(weights, directives, device):
            for directive in directives:
                dim = directive[0]
                rows = directive[1]
                weights = torch.index_select(weights, {given})
            return weights
    """
    assert "directive[0]" not in placed(program).births


@pytest.mark.parametrize(
    ("trained", "found"), [("(batch, None)", False), ("loader, 3", False), ("", True), ("is_training", True)]
)
def test_who_trains_with_data_is_no_module(placed, trained: str, found: bool) -> None:
    program = f"""
        from lab import build
        def run(path, batch, loader, device, is_training):
            net, keeper = build(path)
            net = net.to(device)
            keeper.train({trained})
            net(batch.to(device))
            return keeper
    """
    analysis = placed(program).analysis
    (keeper,) = [one for one in analysis.module.nodes() if told_as(one) == "keeper"]
    assert analysis.kinds.is_module(keeper) is found


MASKED = """
    class Masked(nn.Conv2d):
        def __init__(self, kind, *args):
            super().__init__(*args)
            self.{kept}
            self.fill(kind)
        def fill(self, kind):
            mask = torch.zeros(3, 3)
            mask[0] = kind
            self.mask = mask
        def forward(self, x):
            return super().forward(x * self.mask)
"""


def test_a_buffer_that_the_constructor_fills_by_a_method(placed) -> None:
    assert placed(MASKED.format(kept='register_buffer("mask", torch.ones(3, 3))')).births == []


def test_a_tensor_that_the_constructor_fills_by_a_method(placed) -> None:
    assert placed(MASKED.format(kept="mask = None")).births == ["torch.zeros(3, 3)"]


def told_as(node: Node) -> str:
    return getattr(node.syntax, "id", "") if node.op is Op.ITEM else ""


@pytest.mark.parametrize("sent", ["dist.scatter(out, x)", "torch.cuda.comm.gather(out, x)", "pass"])
def test_a_list_that_ranks_scatter_is_no_dimension(placed, sent: str) -> None:
    program = f"""
        import torch.distributed as dist
        def train(net, loader, out, device):
            net.to(device)
            for x, y in loader:
                {sent}
                loss = nn.functional.mse_loss(net(x), y.to(device))
                loss.backward()
    """
    assert placed(program).births == ["x"]
