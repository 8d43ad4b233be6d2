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
        ("torch.Tensor(\n        4, device=x.device\n    )", "torch.Tensor(4).to(x.device)"),
        ("torch.LongTensor(device=x.device)", "torch.LongTensor().to(x.device)"),
        ("torch.FloatTensor((v,), device=x.device).abs()", "torch.FloatTensor((v,)).to(x.device).abs()"),
        ("torch.FloatTensor(v, device=x.device).uniform_()", "torch.FloatTensor(v).to(x.device).uniform_()"),
        ("torch.Tensor([v], device=x.device, dtype=x.dtype)", "torch.Tensor([v]).to(x.device, dtype=x.dtype)"),
        (
            "torch.from_numpy(v, dtype=torch.float32, device=x.device)",
            "torch.from_numpy(v).to(x.device, dtype=torch.float32)",
        ),
        ("torch.LongTensor((v,), device=x.device).random_()", "torch.LongTensor((v,)).to(x.device).random_()"),
    ],
)
def test_moved_behind(rule, before, after):
    program = "import torch\ndef f(x, v):\n    y = {}\n    return y\n"
    assert rule.fixed(program.format(before)) == program.format(after)


def test_what_it_takes_no_more_than_a_device_is_left_to_the_reader(rule):
    assert (
        rule.findings("import torch\ndef f(x, v):\n    return torch.Tensor([v], device=x.device, pin_memory=True)\n")
        == ()
    )


def test_comments_are_left_to_the_reader(rule):
    found = rule.findings(
        "import torch\ndef f(x, v):\n    return torch.Tensor(\n        v,  # one\n        device=x\n    )\n"
    )
    assert found == ()
