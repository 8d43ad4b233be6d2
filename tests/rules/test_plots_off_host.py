"""DVF402: plots of gradients, and of what a model's method is given."""

import pytest

CODE = "DVF402"

HEAD = """
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn


"""

SILENT = {
    "gradients as numbers": """
def show(net):
    norms = []
    for one in net.parameters():
        norms.append(one.grad.norm().item())
    plt.plot(norms)
""",
    "gradients brought to the host": """
def show(net):
    norms = [one.grad.norm().cpu() for one in net.parameters()]
    plt.plot(norms)
""",
    "gradients that are replaced by numbers": """
def show(net):
    norms = [one.grad.norm() for one in net.parameters()]
    norms = [one.item() for one in norms]
    plt.plot(norms)
""",
    "gradients that nobody plots": """
def norms(net):
    found = [one.grad.norm() for one in net.parameters()]
    return torch.stack(found)
""",
    "gradients as arrays": """
def show(weight):
    plt.hist(weight.grad.cpu().numpy().ravel())
""",
    "another module's gradients": """
import jax

def show(f, x):
    plt.plot(jax.grad(f)(x))
""",
    "another kind of plot": """
def show(story, weight):
    story.plot(weight.grad.norm())
""",
    "in a function of no model": """
def show(ax, image: torch.Tensor):
    ax.imshow(image)
""",
    "in a dataset": """
class Fields(torch.utils.data.Dataset):
    def show(self, image: torch.Tensor):
        plt.imshow(image)
""",
    "in a class of its own": """
class Painter:
    def show(self, image: torch.Tensor):
        plt.imshow(image)
""",
    "made on the host": """
class Net(nn.Module):
    def show(self, count: int):
        steps = torch.arange(count)
        plt.plot(steps, torch.stack([steps, steps])[0])
""",
    "brought to the host": """
class Net(nn.Module):
    def show(self, image: torch.Tensor):
        image = image.cpu()
        plt.imshow(image.permute(1, 2, 0))
""",
    "who knows what": """
class Net(nn.Module):
    def show(self, image):
        plt.imshow(image)
""",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


REPAIRED = {
    "plt.plot([one.detach().cpu() for one in norms])": """
def show(net):
    norms = []
    for one in net.parameters():
        norms.append(one.grad.norm())
    plt.plot(norms)
""",
    "[one.detach().cpu() for one in highest]": """
def show(named):
    highest = [one.grad.abs().max() for _, one in named if one.grad is not None]
    figure, ax = plt.subplots()
    ax.bar(np.arange(len(highest)), highest, lw=1)
""",
    "weight.grad.flatten().cpu()": """
def show(weight):
    plt.hist(weight.grad.flatten(), bins=20)
""",
    "image.permute(1, 2, 0).cpu()": """
class Net(nn.Module):
    def show(self, image: torch.Tensor):
        plt.imshow(image.permute(1, 2, 0))
""",
    'torch.cat([sample["past"], sample["future"]]).cpu()': """
class Net(nn.Module):
    def show(self, sample: dict[str, torch.Tensor], axes):
        axes[0].plot(torch.cat([sample["past"], sample["future"]]), label="seen")
""",
}


@pytest.mark.parametrize(("repaired", "program"), REPAIRED.items(), ids=REPAIRED)
def test_copied_to_the_host(rule, repaired: str, program: str) -> None:
    assert repaired in rule.fixed(HEAD + program, unsafe=True)


SHOWN = (
    HEAD
    + """
import lightning as L
class Show(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        batch = next(iter(trainer.loader))
        batch = {k: v.to(module.device) for k, v in batch.items() if isinstance(v, torch.Tensor)}
        pixels = module.model.decoder(batch["pixels"])
        @
        fig, axs = plt.subplots(2, 2)
        axs[0, 1].imshow(batch["pixels"][1][0])
"""
)


@pytest.mark.parametrize(
    ("line", "copied"),
    [
        ('batch["pixels"] = batch["pixels"].detach().cpu().numpy()', False),
        ('batch["pixels"] = batch["pixels"].cpu()', False),
        ("pixels = pixels.cpu().numpy()", True),
    ],
)
def test_an_entry_that_got_its_array(rule, line: str, copied: bool) -> None:
    findings = rule.findings(SHOWN.replace("@", line))
    assert bool(findings) is copied


@pytest.mark.parametrize("points", ["*points.T.cpu()", "*points.tolist()", "*range(3)"])
def test_what_is_unpacked_for_a_plot_from_the_host(rule, points: str) -> None:
    assert rule.findings(f"{HEAD}def dots(points):\n    plt.plot({points}, 'o')\n") == ()


@pytest.mark.parametrize("points", ["*points.T", "points.T"])
def test_what_is_unpacked_for_a_plot_is_copied_before(rule, points: str) -> None:
    program = f"{HEAD}def dots(net, x):\n    points = net(x.cuda()).detach()\n    plt.plot({points}, 'o')\n"
    assert f"plt.plot({points}.cpu(), 'o')" in rule.fixed(program, unsafe=True)
