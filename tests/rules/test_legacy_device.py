"""DVF104: legacy constructors that are given a device."""

import pytest

CODE = "DVF104"

SILENT = {
    "for the host": "x = torch.Tensor([1.0], device='cpu')\n",
    "for the host, which is a device": "x = torch.Tensor([1.0], device=torch.device('cpu'))\n",
    "for the host, by a name": "host = torch.device('cpu')\nx = torch.Tensor([1.0], device=host)\n",
    "none": "x = torch.Tensor([1.0], device=None)\n",
    "of CUDA, which takes one": "x = torch.cuda.FloatTensor(3, device='cuda:1')\n",
    "a factory": "x = torch.tensor([1.0], device='cuda')\n",
    "without one": "x = torch.Tensor([1.0]).to('cuda')\n",
    "of another library": "import other\nx = other.Tensor([1.0], device='cuda')\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program):
    assert rule.findings("import torch\n" + program) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.Tensor([v], device=x.device)", "torch.Tensor([v]).to(x.device)"),
        ("torch.Tensor(\n        4, device=x.device\n    )", "torch.Tensor(\n        4\n    ).to(x.device)"),
        ("torch.LongTensor(device=x.device)", "torch.LongTensor().to(x.device)"),
        ("torch.FloatTensor((v,), device=x.device).abs()", "torch.FloatTensor((v,)).to(x.device).abs()"),
        ("torch.FloatTensor(v, device=x.device).uniform_()", "torch.FloatTensor(v).to(x.device).uniform_()"),
        ("torch.LongTensor((v,), device=x.device).random_()", "torch.LongTensor((v,)).to(x.device).random_()"),
    ],
)
def test_moved_behind(rule, before, after):
    program = "import torch\ndef f(x, v):\n    y = {}\n    return y\n"
    assert rule.fixed(program.format(before)) == program.format(after)


@pytest.mark.parametrize("fill", ["uniform_() > 0.5", "normal_()", "bernoulli_(0.1)", "fill_(1)"])
def test_a_tuple_that_is_overwritten_at_once_is_a_size(rule, fill):
    program = "import torch\ndef f(x):\n    return x * torch.{}((x.shape[0], 1), device=x.device)." + fill + "\n"
    assert rule.unchanged_unless_unsafe(program.format("FloatTensor")) == program.format("empty")


def test_comments_are_left_to_the_reader(rule):
    finding = rule.finding(
        "import torch\ndef f(x, v):\n    return torch.Tensor(\n        v,  # one\n        device=x\n    )\n"
    )
    assert finding.fix is None
    assert "without `device`" in finding.advice
