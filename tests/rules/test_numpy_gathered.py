"""DVF402: tensors that a loop collects and joins for numpy, and libraries that read the host's memory as numpy does."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF402"

COLLECTED = """
import numpy as np
import torch
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import normalize
device = torch.device("cuda")
def evaluate(model, loader):
    model.to(device)
    model.eval()
    found, known = [], list()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        {collect}
    {read}
"""

SILENT = {
    "copied where they are collected": ("found.append(out.cpu())", "return torch.cat(found).numpy()"),
    "copied in one of two branches": (
        "if len(found) > 3:\n            found.append(out)\n        else:\n            found.append(out.cpu())",
        "return torch.cat(found).numpy()",
    ),
    "copied where they are joined": ("found.append(out)", "return torch.cat(found).cpu().numpy()"),
    "copied after they are joined": (
        "found.append(out)",
        "found = torch.cat(found).to('cpu')\n    return np.unique(found)",
    ),
    "arrays": ("found.extend(out.cpu().numpy())", "return np.stack(found)"),
    "numbers": ("found.append(out.mean().item())", "return np.median(found)"),
    "nothing is collected": ("print(out)", "return torch.tensor(found).numpy()"),
    "tensors of the host": ("found.append(torch.arange(3))", "return torch.cat(found).numpy()"),
    "one of several results": ("score, out = model(x)", "return accuracy_score(known, score)"),
    "a part of what a model gives": ("found.append(accuracy_score(known, out[1]))", "return found"),
}


@pytest.mark.parametrize(("collect", "read"), SILENT.values(), ids=SILENT)
def test_is_silent(rule, collect: str, read: str) -> None:
    assert rule.findings(COLLECTED.format(collect=collect, read=read)) == ()


REPAIRED = {
    "converted": ("found.append(out)", "return torch.cat(found).numpy()", "torch.cat(found).cpu().numpy()"),
    "under its own name": (
        "found.append(out)",
        "found = torch.cat(found, dim=0)[:, 0]\n    return np.argmax(found, axis=1)",
        "np.argmax(found.cpu(), axis=1)",
    ),
    "batch after batch": ("known.append(y)", "return np.unique(torch.cat(known))", "np.unique(torch.cat(known).cpu())"),
    "what a model gives": (
        "print(accuracy_score(y, out))",
        "return None",
        "print(accuracy_score(y.cpu(), out.cpu()))",
    ),
    "on the spot": ("print(normalize(model(x)))", "return None", "normalize(model(x).cpu())"),
}


@pytest.mark.parametrize(("collect", "read", "after"), REPAIRED.values(), ids=REPAIRED)
def test_copied_to_the_host(rule, collect: str, read: str, after: str) -> None:
    program = COLLECTED.format(collect=collect, read=read)
    assert after in rule.fixed(program, unsafe=True)
    assert set(rule.safeties(program)) <= {Safety.SAFE, Safety.UNSAFE}


def test_what_a_loader_yields_is_on_the_host(rule) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader
        def distances(rows, others, size, device):
            found = []
            for batch in DataLoader(rows, size):
                found.append(torch.cdist(batch, {other}))
            return torch.cat(found).detach().numpy()
    """
    assert rule.findings(program.format(other="batch")) == ()
    assert rule.findings(program.format(other="others")) == ()  # it meets what is on the host


READERS = [
    ("from scipy.special import i0", "i0(x)"),
    ("import scipy.ndimage", "scipy.ndimage.label(x)"),
    ("from sklearn.decomposition import randomized_svd", "randomized_svd(x, 3)"),
    ("from skimage.metrics import structural_similarity", "structural_similarity(x, picture)"),
    ("import cv2", "cv2.imwrite(path, x)"),
    ("import imageio.v2 as imageio", "imageio.imwrite(path, x)"),
    ("import soundfile", "soundfile.write(path, x, 16000)"),
    ("import librosa", "librosa.feature.mfcc(y=x)"),
    ("import pandas as pd", "pd.DataFrame(x)"),
    ("import wandb", "wandb.plot.roc_curve(x, picture)"),
]

MOVED = """
import torch
{load}
def show(loader, device, picture, path):
    for x in loader:
        x = x.to(device)
        print(x.sum())
        {read}
"""


@pytest.mark.parametrize(("load", "read"), READERS)
def test_other_libraries_read_the_host_too(rule, load: str, read: str) -> None:
    program = MOVED.format(load=load, read=read)
    (one,) = rule.findings(program)
    assert one.message.startswith("`x` may be on a device")
    assert "x.cpu()" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize(
    ("load", "read"),
    [
        ("import wandb", "wandb.Image(x)"),
        ("import wandb", "wandb.log({'x': x})"),
        ("import pandas as pd", "pd.isna(path)"),
        ("from imageio_of_mine import write", "write(x)"),
        ("import soundfile", "soundfile.write(path, x.cpu(), 16000)"),
    ],
)
def test_these_do_not(rule, load: str, read: str) -> None:
    assert rule.findings(MOVED.format(load=load, read=read)) == ()


NAMED = """
import numpy as np
import torch

def total(loader, device):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        {parts}
        return np.sum({given}, 0)
"""


@pytest.mark.parametrize(
    ("parts", "given"),
    [
        ("parts = [x.sum().item(), 3.0]", "parts"),
        ("parts = [x.cpu(), y.cpu()]", "parts"),
        ("parts = [x.cpu(), 3.0]", "parts"),
        ("parts = [x, 3.0]", "[one.cpu() for one in parts[:1]]"),
        ("parts = [x, y]", "len(parts)"),
    ],
)
def test_lists_with_a_name_that_hold_nothing_of_a_device(rule, parts: str, given: str) -> None:
    assert rule.findings(NAMED.format(parts=parts, given=given)) == ()


@pytest.mark.parametrize("parts", ["parts = [x, y]", "parts = [x]\n        parts.append(y)"])
def test_a_list_with_a_name_that_begins_with_tensors(rule, parts: str) -> None:
    program = NAMED.format(parts=parts, given="parts")
    assert "np.sum([one.detach().cpu() for one in parts], 0)" in rule.fixed(program, unsafe=True)
    assert len(rule.findings(program)) == 1
