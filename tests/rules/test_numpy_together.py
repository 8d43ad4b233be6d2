"""DVF402: what one statement gives to numpy is copied to the host as a whole, or left as it is."""

import pytest

CODE = "DVF402"

WHOLE = {
    "a comparison in the same mapping": (
        """
    bits = model(x)
    loss = criterion(bits, target)
    return {"loss": loss.detach().numpy(), "accuracy": float(np.mean((target == bits["one"]).numpy()))}
""",
        ["loss.detach().cpu().numpy()", '(target == bits["one"]).cpu().numpy()'],
    ),
    "what a helper gives, in the same call": (
        """
    draw(model(x).detach().numpy(), gather(x).numpy(), title="scores")
""",
        ["model(x).detach().cpu().numpy()", "gather(x).cpu().numpy()"],
    ),
    "several results of a helper": (
        """
    first, second = model(x)[0], unpack(x)
    rows.append((first.detach().numpy(), second.argmax(-1).numpy()))
""",
        ["first.detach().cpu().numpy()", "second.argmax(-1).cpu().numpy()"],
    ),
    "a buffer of the host that is filled": (
        """
    out = torch.empty(3)
    kernel(model(x).detach().numpy(), out.numpy())
    return out
""",
        ["model(x).detach().cpu().numpy(), out.numpy()"],
    ),
    "what stays on the host in the same call": (
        """
    draw(model(x).detach().numpy(), torch.arange(3).numpy(), x.cpu().numpy(), x.to(place).numpy(), names_cpu.numpy())
""",
        ["model(x).detach().cpu().numpy(), torch.arange(3).numpy(), x.cpu().numpy(), x.to(place).numpy(), names_cpu.n"],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_statement_is_repaired(rule, name: str) -> None:
    body, parts = WHOLE[name]
    head = "import numpy as np\nimport torch\nDEVICE = torch.device('cuda')\n"
    fixed = rule.fixed(head + "def f(model, criterion, x, target, names_cpu, rows, place):" + body, unsafe=True)
    assert all(one in fixed for one in parts)


def test_a_conversion_alone_is_no_reason_to_copy(rule) -> None:
    program = """
        import torch
        def f(model, x, target):
            correct = (target == gather(x)).numpy()
            return correct, gather(x).numpy()
    """
    assert rule.findings(program) == ()


WRITTEN = {
    "a clone that a function fills": """
    grad = grad.clone()
    backward(y.detach().numpy(), grad.numpy())
    return grad
""",
    "a tensor made for the result": """
    out = torch.empty_like(y)
    if y.dim():
        kernel(y.detach().numpy(), dst=out.numpy())
    return out
""",
    "a function that says so": """
    apply_inplace(grad.numpy(), y.detach().numpy())
""",
    "a destination of numpy": """
    np.add(y.detach().numpy(), 1, out=grad.numpy())
    grad.numpy()[:] = y.detach().numpy()
    np.copyto(grad.numpy(), y.detach().numpy())
""",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_to_is_not_copied_and_neither_is_what_stands_beside_it(rule, name: str) -> None:
    program = "import numpy as np\nimport torch\nDEVICE = torch.device('cuda')\ndef f(y, grad):" + WRITTEN[name]
    assert rule.findings(program) == ()
