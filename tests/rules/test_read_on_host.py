"""DVF401: what is loaded and then read on the host as it is."""

from textwrap import dedent, indent

import pytest

CODE = "DVF401"

HEAD = """\
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def run(net, path, device):
    net = net.to(device)
"""
READ = {
    "by a function of numpy": "feats = torch.load(path)\nreturn np.concatenate([feats, feats])\n",
    "item by item": 'saved = torch.load(path)\nx, n = saved["x"], saved["n"]\nreturn np.concatenate([x, n])\n',
    "put into a list": "parts = []\nfeats = torch.load(path)\nparts.append(feats)\nreturn np.concatenate(parts)\n",
    "by its own method": "feats = torch.load(path)\nreturn feats[0].numpy()\n",
    "by a data set": "x, y = torch.load(path)\nreturn DataLoader(TensorDataset(x, y), pin_memory=True)\n",
    "by a data set, not first": "y = torch.load(path)\nreturn DataLoader(TensorDataset(net.x, y), pin_memory=True)\n",
}
NOT_READ = {
    "of which something is computed": "feats = torch.load(path)\nscore = net(feats)\nreturn np.mean([float(score)])\n",
    "another value is read": "feats = torch.load(path)\nother = torch.zeros(3)\nnp.mean(other)\nreturn net(feats)\n",
    "another data set": "feats = torch.load(path)\ndata = TensorDataset(torch.zeros(3))\nnet(feats)\nreturn data\n",
    "given to the network": "feats = torch.load(path)\nreturn net(feats)\n",
    "another list": "parts = [3]\nfeats = torch.load(path)\nnet(feats)\nreturn np.concatenate(parts)\n",
}


@pytest.mark.parametrize("body", NOT_READ.values(), ids=NOT_READ)
def test_what_is_not_read_on_the_host_goes_to_the_device(rule, body):
    assert "torch.load(path, map_location=device)" in rule.fixed(HEAD + indent(body, "    "), unsafe=True)


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_is_read_on_the_host_stays_there(rule, body):
    assert 'torch.load(path, map_location="cpu")' in rule.fixed(HEAD + indent(body, "    "), unsafe=True)


def test_what_an_object_keeps_and_a_method_reads(rule):
    program = dedent("""
        import numpy as np
        import torch

        class Cache:
            def __init__(self, net, path, device):
                self.net = net.to(device)
                self.feats = torch.load(path)

            def mean(self):
                return np.mean(self.feats)
    """)
    assert 'torch.load(path, map_location="cpu")' in rule.fixed(program, unsafe=True)
