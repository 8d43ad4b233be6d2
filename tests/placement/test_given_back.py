"""Where the result of a module is: where its `forward` returns it."""

import pytest

MODULE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
        def forward(self, x):
            y = self.linear(x)
            {returns}

    net = Net().to("cuda")
    x = load().to("cuda")
    loss = net(x) + torch.ones(3)
"""
ON_HOST = {
    "copied": "return y.cpu()",
    "moved": "return y.to('cpu')",
    "copied, then shown": "return y.cpu().flatten().float()",
    "copied by name": "y = y.cpu(); return y",
    "made and filled": "out = torch.empty(3); out[0] = y[0]; return out",
    "on each path": "return y.cpu() if self.training else y.detach().cpu()",
    "each return": """
            if self.training:
                return y.cpu()
            return y.mean(0).cpu()
    """,
}
ELSEWHERE = {
    "computed": "return y",
    "on one path": "return y.cpu() if self.training else y",
    "one return": """
            if self.training:
                return y.cpu()
            return y
    """,
    "computed of a copy": "return self.linear(y.cpu().to(x.device))",
    "made where it is": "out = torch.empty(3, device=y.device); out[0] = y[0]; return out",
    "sent back": "return y.cpu().relu().to(x.device)",
    "of the input": "return x",
}


@pytest.mark.parametrize("returns", ON_HOST.values(), ids=ON_HOST)
def test_what_is_returned_on_the_host_is_there(placed, returns: str) -> None:
    assert "torch.ones(3)" not in placed(MODULE.format(returns=returns)).births


@pytest.mark.parametrize("returns", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_returned_elsewhere_is_not(placed, returns: str) -> None:
    assert "torch.ones(3)" in placed(MODULE.format(returns=returns)).births


def test_the_input_meets_the_module_all_the_same(placed) -> None:
    found = placed(MODULE.format(returns="return y.cpu()") + "    net(torch.rand(3, 3))\n")
    assert found.births == ["torch.rand(3, 3)"]


def test_what_is_on_a_device_does_not_meet_what_was_returned_on_the_host(placed) -> None:
    returns = "out = torch.empty(3); out[0] = y[0]; return out"
    program = MODULE.format(returns=returns).replace("torch.ones(3)", "torch.ones(3, device='cuda')")
    assert placed(program).births == ["torch.empty(3)"]
