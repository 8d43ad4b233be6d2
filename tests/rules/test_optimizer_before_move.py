"""DVF206: optimizers with state before their model is moved."""

from textwrap import indent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF206"

HEAD = "import torch\nfrom torch import nn, optim\n\n\n"
LOADED = 'opt = optim.Adam(net.parameters())\nopt.load_state_dict(states["opt"])'
IN_A_BRANCH = "opt = optim.Adam(net.parameters())\nif states:\n    opt.load_state_dict(states)"
OF_GROUPS = 'opt = optim.SGD([{"params": net.parameters()}])\nopt.load_state_dict(states)'


def worker(body: str, parameters: str = "device, states, given") -> str:
    return f"{HEAD}def main({parameters}):\n" + indent(body, " " * 4) + "\n"


SILENT = {
    "the plain order": worker("net = nn.Linear(2, 2)\nopt = optim.Adam(net.parameters())\nnet.to(device)"),
    "moved before": worker(f"net = nn.Linear(2, 2)\nnet.to(device)\n{LOADED}"),
    "moved before and once more": worker(f"net = nn.Linear(2, 2).to(device)\n{LOADED}\nnet.to(device)"),
    "moved between": worker(
        "net = nn.Linear(2, 2)\nopt = optim.Adam(net.parameters())\nnet.to(device)\nopt.load_state_dict(states)\n"
        "net = net.to(device)"
    ),
    "given to the function": worker(
        "opt = optim.Adam(given.parameters())\nopt.load_state_dict(states)\ngiven.to(device)"
    ),
    "built elsewhere": worker(f"net = make(given)\n{LOADED}\nnet.to(device)"),
    "moved where it is made": worker(
        f"def make():\n    return nn.Linear(2, 2).to(device)\nnet = make()\n{LOADED}\nnet.to(device)"
    ),
    "another optimizer is loaded": worker(
        "net = nn.Linear(2, 2)\nopt = optim.Adam(net.parameters())\ngiven.load_state_dict(states)\nnet.to(device)"
    ),
    "moved by a helper": worker(f"net = nn.Linear(2, 2)\nprepare(net)\n{LOADED}\nnet.to(device)"),
    "its state is moved": worker(
        f"net = nn.Linear(2, 2)\n{LOADED}\nnet.to(device)\nfor state in opt.state.values():\n    move(state)"
    ),
    "moved under a condition that does more": worker(
        f"net = nn.Linear(2, 2)\n{LOADED}\nif given:\n    net.to(device)\n    opt = optim.Adam(net.parameters())"
    ),
    "moved or not": worker(f"net = nn.Linear(2, 2)\n{LOADED}\nif given:\n    net.to(device)\nelse:\n    net.half()"),
    "another precision": worker(f"net = nn.Linear(2, 2)\n{LOADED}\nnet.to(torch.float64)"),
    "back to the host": worker(f"net = nn.Linear(2, 2)\n{LOADED}\nnet.to('cpu')"),
    "another model": worker(f"net = nn.Linear(2, 2)\n{LOADED}\ngiven.to(device)"),
    "a new model": worker(f"net = nn.Linear(2, 2)\n{LOADED}\nnet = nn.Linear(2, 2)\nnet.to(device)"),
    "two models": worker(
        "net = nn.Linear(2, 2)\nopt = optim.SGD([*net.parameters(), *given.parameters()])\n"
        "opt.load_state_dict(states)\nnet.to(device)"
    ),
    "its own optimizers": "class Module:\n    def setup(self):\n        opt = self.configure_optimizers()\n"
    "        self.to(0)\n",
    "saved at the end": worker(
        "net = nn.Linear(2, 2).to(device)\nfor x in given:\n    net(x.to(device))\n"
        "torch.save(net.cpu().state_dict(), states)"
    ),
    "moved in each round": worker(
        "net = nn.Linear(2, 2).to(device)\nfor x in given:\n    net.to(device)\n    net(x.to(device))\n"
        "    torch.save(net.cpu().state_dict(), states)"
    ),
    "the loop ends": worker(
        "net = nn.Linear(2, 2)\nnet.to(device)\nfor x in given:\n    net(x.to(device))\n    if x.sum() > 0:\n"
        "        torch.save(net.cpu().state_dict(), states)\n        break"
    ),
    "a copy of the state": worker(
        "net = nn.Linear(2, 2)\nnet.to(device)\nfor x in given:\n    net(x.to(device))\n"
        "    torch.save({k: v.cpu() for k, v in net.state_dict().items()}, states)"
    ),
    "a hook without live state": "import torch\n\n\nclass Callback:\n    def on_save_checkpoint(self, checkpoint):\n"
    "        copy = {}\n        for key, value in checkpoint.items():\n            copy[key] = value.cpu()\n",
    "a helper of no hook": "import torch\n\n\ndef offload(parent, key, value):\n    parent[key] = value.cpu()\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


FIXED = {
    "loaded": (
        f"net = nn.Linear(2, 2)\n{LOADED}\nnet.to(device)\nnet.train()",
        f"net = nn.Linear(2, 2)\nnet.to(device)\n{LOADED}\nnet.train()",
    ),
    "loaded in a branch": (
        f"net = nn.Linear(2, 2)\n{IN_A_BRANCH}\nnet = net.cuda()",
        f"net = nn.Linear(2, 2)\nnet = net.cuda()\n{IN_A_BRANCH}",
    ),
    "weights loaded between": (
        f'net = nn.Linear(2, 2)\n{LOADED}\nnet.load_state_dict(states["net"])\nnet.to(device)',
        f'net = nn.Linear(2, 2)\nnet.to(device)\n{LOADED}\nnet.load_state_dict(states["net"])',
    ),
    "moved by keyword": (
        f"net = nn.Linear(2, 2)\n{LOADED}\nsame = states\nnet = net.to(device=device)",
        f"net = nn.Linear(2, 2)\nnet = net.to(device=device)\n{LOADED}\nsame = states",
    ),
    "made by a function": (
        f"def make():\n    return nn.Linear(2, 2)\nnet = make()\n{LOADED}\nnet.to(device)",
        f"def make():\n    return nn.Linear(2, 2)\nnet = make()\nnet.to(device)\n{LOADED}",
    ),
    "groups of parameters": (
        f"net = nn.Linear(2, 2)\n{OF_GROUPS}\nnet.to(device)",
        f"net = nn.Linear(2, 2)\nnet.to(device)\n{OF_GROUPS}",
    ),
    "adagrad": (
        "net = nn.Linear(2, 2)\nopt = optim.Adagrad(net.parameters())\nnet.to(device)",
        "net = nn.Linear(2, 2)\nnet.to(device)\nopt = optim.Adagrad(net.parameters())",
    ),
    "moved under a condition": (
        f"net = nn.Linear(2, 2)\n{LOADED}\nif given:  # else too large\n    net = net.to(device)\nnet.train()",
        f"net = nn.Linear(2, 2)\nif given:  # else too large\n    net = net.to(device)\n{LOADED}\nnet.train()",
    ),
    "moved in place under a condition": (
        "net = nn.Linear(2, 2)\nopt = optim.Adagrad(net.parameters())\nif given:\n    net.cuda()",
        "net = nn.Linear(2, 2)\nif given:\n    net.cuda()\nopt = optim.Adagrad(net.parameters())",
    ),
    "after other uses of an older model": (
        f"net = nn.Linear(2, 2)\nlook(net)\nnet = nn.Linear(2, 2)\n{LOADED}\nnet.to(device)",
        f"net = nn.Linear(2, 2)\nlook(net)\nnet = nn.Linear(2, 2)\nnet.to(device)\n{LOADED}",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED.keys())
def test_fixed(rule, before, after):
    assert rule.fixed(worker(before)) == worker(after)


ADVICE = {
    "the device is named between": f"net = nn.Linear(2, 2)\n{LOADED}\nplace = pick()\nnet.to(place)",
    "the condition is made between": f"net = nn.Linear(2, 2)\n{LOADED}\nyes = ask()\nif yes:\n    net.to(device)",
    "the model is used between": f"net = nn.Linear(2, 2)\n{LOADED}\nshow(net)\nnet.to(device)",
}


@pytest.mark.parametrize("body", ADVICE.values(), ids=ADVICE.keys())
def test_advice_alone(rule, body):
    assert rule.safeties(worker(body)) == [Safety.MANUAL]


def test_optimizers_of_unknown_code(rule):
    before = worker("self.opts = self.wrap(given.configure_optimizers())\n\ngiven.cuda(self.gpu)", "self, given")
    after = worker("given.cuda(self.gpu)\nself.opts = self.wrap(given.configure_optimizers())\n", "self, given")
    assert rule.unchanged_unless_unsafe(before).replace("\n\n", "\n") == after.replace("\n\n", "\n")


def test_a_model_saved_in_the_loop(rule):
    before = worker(
        "net = nn.Linear(2, 2)\nnet.to(device)\nfor x in given:\n    net(x.to(device))\n"
        "    torch.save(net.cpu().state_dict(), states)"
    )
    copies = "{name: value.cpu() for name, value in net.state_dict().items()}"
    assert rule.unchanged_unless_unsafe(before) == before.replace("net.cpu().state_dict()", copies)


def test_a_hook_that_puts_copies_into_live_state_gets_advice_alone(rule):
    program = (
        "import torch\n\n\nclass Callback:\n    def on_save_checkpoint(self, checkpoint):\n"
        "        for key in checkpoint:\n            self.offload(checkpoint, key, checkpoint[key])\n\n"
        "    def offload(self, parent, key, value):\n        parent[key] = value.cpu()\n"
    )
    assert rule.safeties(program) == [Safety.MANUAL]
