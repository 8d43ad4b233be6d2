"""DVF501: what is computed on the host of a tensor, and goes back to CUDA."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF501"
HEAD = "import torch\nfrom solver import solve\n"

SILENT = {
    "the name is that of the copy": """
        def f(x):
            x = x.detach().cpu()
            return torch.from_numpy(solve(x.numpy())).cuda()
    """,
    "it may be None": """
        def f(x=None):
            rows = solve(x.detach().cpu().numpy()) if x is not None else solve()
            return torch.from_numpy(rows).cuda()
    """,
    "it may be an array": """
        def f(x):
            rows = x.detach().cpu().numpy() if torch.is_tensor(x) else x
            return torch.from_numpy(solve(rows)).cuda()
    """,
    "it goes to CUDA itself": """
        def f(x):
            rows = solve(x.detach().cpu().numpy())
            return x.cuda().view(-1), torch.from_numpy(rows).cuda()
    """,
    "the size alone": """
        def f(x):
            rows = solve(x.detach().cpu().numpy())
            return torch.zeros(len(rows), 3).cuda()
    """,
    "a count of it": """
        def f(x):
            count = int(x.detach().cpu().max())
            return torch.tensor([count]).cuda()
    """,
    "nobody knows that it is a tensor": """
        def f(batch):
            return solve(batch.cpu()).cuda()
    """,
    "an attribute of what is given": """
        def f(batch):
            rows = solve(batch.x.detach().cpu().numpy())
            return torch.from_numpy(rows).cuda()
    """,
    "for a loader": """
        def collate(x):
            return torch.from_numpy(solve(x.detach().cpu().numpy())).cuda()
    """,
    "another is asked": """
        def f(x, y):
            if y.is_cuda:
                return x.detach().cpu().cumsum(0).cuda()
            return x.cumsum(0)
    """,
    "where it is not on CUDA": """
        def f(x):
            if x.is_cuda:
                return x.cumsum(0)
            return x.detach().cpu().cumsum(0).cuda()
    """,
    "another card": """
        def f(x):
            return torch.from_numpy(solve(x.detach().cpu().numpy())).cuda(1)
    """,
    "from a tensor of its own": """
        def f(loader):
            for x in loader:
                yield torch.from_numpy(solve(x.detach().cpu().numpy())).cuda()
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    lines = program.replace("\n        ", "\n")
    assert rule.findings(HEAD + lines) == ()


BACK = {
    "in one expression": ("return torch.from_numpy(solve(x.detach().cpu().numpy())).cuda()", ".to(x.device)"),
    "in steps": (
        (
            "rows = x.detach().cpu().numpy()\n    rows, _ = solve(rows)\n    rows = rows + 1\n"
            "    return torch.as_tensor(rows).float().cuda()"
        ),
        ".float().to(x.device)",
    ),
    "made there": (
        "rows = solve(x.cpu().numpy())\n    return torch.tensor(rows, device='cuda')",
        "torch.tensor(rows, device=x.device)",
    ),
    "one after another": (
        (
            "out = []\n    for one in x.detach().cpu().numpy():\n        out.append(torch.from_numpy(solve(one)))\n"
            "    return torch.stack(out).to('cuda')"
        ),
        "torch.stack(out).to(x.device)",
    ),
    "by a list": (
        "out = [solve(one) for one in x.detach().to('cpu').numpy()]\n    return torch.tensor(out).cuda()",
        "torch.tensor(out).to(x.device)",
    ),
    "as it is": ("return x.cpu().cumsum(0).unsqueeze(0).cuda()", "x.cpu().cumsum(0).unsqueeze(0).to(x.device)"),
}


@pytest.mark.parametrize(("body", "after"), BACK.values(), ids=BACK)
def test_goes_back_to_where_it_was(rule, body: str, after: str) -> None:
    assert after in rule.unchanged_unless_unsafe(f"{HEAD}def f(x, count):\n    {body}\n")


def test_a_device_that_was_chosen_goes_before(rule) -> None:
    program = f"{HEAD}def f(x, device):\n    return torch.from_numpy(solve(x.detach().cpu().numpy())).cuda()\n"
    assert ".to(device)" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize("test", ["x.is_cuda", "ordered() and x.is_cuda and x.is_floating_point()"])
def test_the_card_of_what_is_asked(rule, test: str) -> None:
    program = (
        f"{HEAD}def f(x):\n    if {test}:\n        return x.cpu().cumsum(dim=0).cuda()\n    return x.cumsum(dim=0)\n"
    )
    assert "x.cpu().cumsum(dim=0).to(x.device)" in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]


def test_the_card_of_what_is_asked_in_an_expression(rule) -> None:
    program = f"{HEAD}def f(x):\n    return solve(x.detach().cpu()).cuda() if x.is_cuda else solve(x)\n"
    assert "solve(x.detach().cpu()).to(x.device) if x.is_cuda" in rule.fixed(program)
