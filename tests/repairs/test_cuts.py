"""Where a repair stands, and what it makes of a program that works on the host."""

import json
import subprocess
import sys

import pytest
from devfix_codemods.findings import Safety

PLACES = {
    "beside the sibling": (
        """
        def main(batch, net: nn.Module):
            x, y = batch
            x = x.cuda()
            print(x)
            return F.mse_loss(net(x), y)
        """,
        "    x = x.cuda()\n    y = y.cuda()\n    print(x)\n",
    ),
    "in the display": (
        """
        def main(batch, net: nn.Module):
            x, y = batch
            x, y = x.cuda(), y
            return F.mse_loss(net(x), y)
        """,
        "    x, y = x.cuda(), y.cuda()\n",
    ),
    "first thing in the loop": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for i, (x, y) in enumerate(DataLoader(data)):
                net.zero_grad()
                net(x)
        """,
        "(DataLoader(data)):\n        x = x.to(device, non_blocking=True)\n        net.zero_grad()\n",
    ),
    "behind what unpacks it": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            x, y = next(iter(DataLoader(data)))
            return net(x)
        """,
        "    x, y = next(iter(DataLoader(data)))\n    x = x.to(device, non_blocking=True)\n",
    ),
    "where it is read from the batch": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for batch in DataLoader(data):
                net(batch["x"])
        """,
        '        net(batch["x"].to(device, non_blocking=True))\n',
    ),
    "where it is made": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            z = torch.zeros(3)
            for _ in range(3):
                net(z)
        """,
        "    z = torch.zeros(3, device=device)\n    for",
    ),
    "made in a list": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            rows = []
            for i in range(3):
                rows.append(torch.zeros(3))
            return net(torch.stack(rows))
        """,
        "        rows.append(torch.zeros(3, device=device))\n",
    ),
    "behind other arguments": (
        """
        def main(x: torch.Tensor, n):
            x = x.cuda()
            return x.mm(torch.full((n, n), 1.0, dtype=torch.float16))
        """,
        'torch.full((n, n), 1.0, dtype=torch.float16, device="cuda")',
    ),
    "an array": (
        """
        def main(x: torch.Tensor, array, device):
            z = torch.from_numpy(array).float()
            return x.to(device).mm(z)
        """,
        "    z = torch.from_numpy(array).to(device).float()\n",
    ),
    "an encoding": (
        """
        from transformers import AutoModel, AutoTokenizer
        def main(text, device):
            tokenizer = AutoTokenizer.from_pretrained("x")
            model = AutoModel.from_pretrained("x").to(device)
            inputs = tokenizer(text, return_tensors="pt")
            return model(**inputs)
        """,
        '    inputs = tokenizer(text, return_tensors="pt").to(device)\n',
    ),
    "a module, where it is made": (
        """
        def main(x, device):
            net = nn.Linear(3, 3)
            return net(x.to(device))
        """,
        "    net = nn.Linear(3, 3).to(device)\n",
    ),
    "a module, beside another one": (
        """
        def main(x, device):
            G, D = nn.Linear(3, 3), nn.Linear(3, 3)
            G.to(device)
            D.eval()
            return D(G(x.to(device)))
        """,
        "    G.to(device)\n    D.to(device)\n    D.eval()\n",
    ),
    "a module, behind the device that it waits for": (
        """
        from nets import Net
        def main(loader):
            net = Net()
            net.eval()
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net.load_state_dict(torch.load("net.pt"))
            for x in loader:
                net(x.to(device))
        """,
        '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n    net.to(device)\n',
    ),
    "a module, behind the branches that make it": (
        """
        from nets import Big, Small
        def main(loader, device, big):
            if big:
                net = Big()
            else:
                net = Small()
            net.load_state_dict(torch.load("net.pt"))
            for x in loader:
                net(x.to(device))
        """,
        "        net = Small()\n    net.to(device)\n",
    ),
    "a module, in its wrapper": (
        """
        from nets import Net
        def main(loader):
            net = Net()
            net.load_state_dict(torch.load("net.pt"))
            net = nn.DataParallel(net)
            for x in loader:
                net(x)
        """,
        '    net = nn.DataParallel(net).to("cuda" if torch.cuda.is_available() else "cpu")\n',
    ),
    "a module, in a wrapper that is made where no card was chosen": (
        """
        from nets import Net
        def main(loader, gpu):
            if gpu is None:
                net = Net()
                net.load_state_dict(torch.load("net.pt"))
                net = nn.DataParallel(net)
                for x in loader:
                    net(x)
        """,
        '        net = nn.DataParallel(net).to("cuda" if torch.cuda.is_available() else "cpu")\n',
    ),
    "an attribute, in the display": (
        """
        class Trainer:
            def __init__(self, net, gpu):
                self.net = net
                self.one, self.zero = torch.ones(3), torch.zeros(3)
                if gpu:
                    self.net.cuda()
                    self.one, self.zero = self.one, self.zero.cuda()
            def train(self, x):
                return F.mse_loss(self.net(x.cuda()), self.one)
        """,
        "self.one, self.zero = self.one.cuda(), self.zero.cuda()\n",
    ),
    "a buffer": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.scale = torch.ones(3)
            def forward(self, x):
                return self.one(x) * self.scale
        def main(x, device):
            return Net().to(device)(x.to(device))
        """,
        '        self.register_buffer("scale", torch.ones(3), persistent=False)\n',
    ),
    "an attribute, beside those that are moved": (
        """
        class Rows:
            def __init__(self, n):
                self.a = torch.zeros(n)
                self.b = torch.zeros(n)
                self.c = torch.zeros(n)
            def to(self, device):
                self.a = self.a.to(device)
                self.b = self.b.to(device)
        """,
        "        self.b = self.b.to(device)\n        self.c = self.c.to(device)\n",
    ),
    "a copy for numpy": (
        """
        def main(x, device):
            net = nn.Linear(3, 3).to(device)
            return net(x.to(device)).detach().numpy()
        """,
        "    return net(x.to(device)).detach().cpu().numpy()\n",
    ),
    "a copy for a function of numpy": (
        """
        def main(x: torch.Tensor):
            y = x.cuda() * 2
            return np.asarray(y)
        """,
        "    return np.asarray(y.cpu())\n",
    ),
    "a twin": (
        """
        from lib import read
        def main(device):
            x = read("x").to(device)
            y = read("y")
            return torch.matmul(x, y)
        """,
        '    y = read("y").to(device)\n',
    ),
    "between statements of one line": (
        """
        def main(batch, net: nn.Module):
            x, y = batch; x = x.cuda(); return F.mse_loss(net(x), y)
        """,
        "    x, y = batch; x = x.cuda(); y = y.cuda(); return F.mse_loss(net(x), y)\n",
    ),
    "in a condition of one line": (
        """
        def main(batch, net: nn.Module, use_cuda):
            x, y = batch
            if use_cuda: net, x = net.cuda(), x.cuda()
            return F.mse_loss(net(x), y)
        """,
        "    if use_cuda: net, x = net.cuda(), x.cuda(); y = y.cuda()\n    return",
    ),
    "in a loop of one line": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for x in DataLoader(data): net(x)
        """,
        "    for x in DataLoader(data): x = x.to(device, non_blocking=True); net(x)\n",
    ),
    "behind a choice, as a condition": (
        """
        def main(net: nn.Module, use_cuda):
            net = net.cuda() if use_cuda else net
            z = torch.zeros(3)
            return net(z)
        """,
        "    z = torch.zeros(3)\n    if use_cuda:\n        z = z.cuda()\n    return",
    ),
    "behind a test that is negated": (
        """
        def main(x: torch.Tensor, args):
            if not args.cpu:
                x = x.cuda()
            h = torch.zeros(3)
            return x @ h
        """,
        "    h = torch.zeros(3)\n    if not args.cpu:\n        h = h.cuda()\n    return",
    ),
    "in a walrus": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            if (z := torch.zeros(3)) is not None:
                return net(z)
        """,
        "    if (z := torch.zeros(3, device=device)) is not None:\n",
    ),
    "at the start of what is computed of it": (
        """
        def main(x: torch.Tensor, device):
            x = x.to(device)
            mask = torch.ones(3, 3).triu(1).bool()
            return x.masked_fill(mask, 0)
        """,
        "    mask = torch.ones(3, 3, device=device).triu(1).bool()\n",
    ),
    "before a comment": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            z = torch.tensor([1, 2])  # both
            return net(z)
        """,
        "    z = torch.tensor([1, 2], device=device)  # both\n",
    ),
    "two on one line": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return torch.cat([x, torch.zeros(1), torch.ones(2)])
        """,
        'torch.cat([x, torch.zeros(1, device="cuda"), torch.ones(2, device="cuda")])',
    ),
    "many on one line": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return torch.cat([x, torch.zeros(1), torch.zeros(2), torch.zeros(3), torch.zeros(4), torch.zeros(5)])
        """,
        'torch.zeros(4, device="cuda"), torch.zeros(5, device="cuda")])',
    ),
    "both of two branches": (
        """
        def main(device, c):
            if c:
                x = torch.zeros(3)
            else:
                x = torch.ones(3)
            return nn.Linear(3, 3).to(device)(x)
        """,
        "        x = torch.zeros(3, device=device)\n    else:\n        x = torch.ones(3, device=device)\n",
    ),
}

LEFT = {
    "nothing is elsewhere": """
        def main(x: torch.Tensor, device):
            return x.cpu() + torch.zeros(3), torch.ones(3, device=device)[0].item()
    """,
    "all is moved": """
        def main(batch, net: nn.Module, use_cuda):
            x, y = batch
            if use_cuda:
                net, x, y = net.cuda(), x.cuda(), y.cuda()
            return F.mse_loss(net(x), y)
    """,
    "a buffer": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(3))
            def forward(self, x):
                return x.to(self.scale.device) * self.scale
    """,
    "keywords that may say where": """
        def main(x: torch.Tensor, **options):
            return x.cuda().mm(torch.eye(3, **options))
    """,
    "a module with a map of devices": """
        from transformers import AutoModel
        def main(x, device):
            net = AutoModel.from_pretrained("x", device_map="auto")
            return net(x.to(device))
    """,
    "a copy is there already": """
        def main(x, device):
            net = nn.Linear(3, 3).to(device)
            return np.asarray(net(x.to(device)).detach().cpu())
    """,
    "an optimizer and a loss": """
        def main(x, y, device):
            net = nn.Linear(3, 3).to(device)
            criterion, optimizer = nn.MSELoss(), torch.optim.SGD(net.parameters(), lr=0.1)
            criterion(net(x.to(device)), y.to(device)).backward()
            optimizer.step()
    """,
    "a batch that is moved in the loop": """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for i, (x, y) in enumerate(DataLoader(data)):
                x, y = x.to(device), y.to(device)
                F.mse_loss(net(x), y).backward()
    """,
    "a batch that is moved by a helper": """
        from torch.utils.data import DataLoader
        from lib import to_device
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for batch in DataLoader(data):
                batch = to_device(batch, device)
                net(batch["x"])
    """,
    "items that are moved where they are used": """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for batch in DataLoader(data):
                F.mse_loss(net(batch["x"].to(device, non_blocking=True)), batch["y"].to(device)).backward()
    """,
    "texts beside tensors": """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for x, names in DataLoader(data):
                print(names[0], net(x.to(device)))
    """,
    "a move under the flag by a choice": """
        def main(net: nn.Module, use_cuda):
            net = net.cuda() if use_cuda else net
            z = torch.zeros(3)
            z = z.cuda() if use_cuda else z
            return net(z)
    """,
    "a move where the flag does not hold": """
        def main(x: torch.Tensor, args):
            if not args.cpu:
                x = x.cuda()
            h = torch.zeros(3)
            if not args.cpu:
                h = h.cuda()
            return x @ h
    """,
    "lists that are made on the device": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            rows = []
            for i in range(3):
                rows.append(torch.zeros(3, device=device))
            return net(torch.stack(rows))
    """,
    "a list that is moved when it is full": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            rows = []
            for i in range(3):
                rows.append(torch.zeros(3))
            return net(torch.stack(rows).to(device))
    """,
    "an encoding that is moved item by item": """
        from transformers import AutoModel, AutoTokenizer
        def main(text, device):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to(device)
            inputs = tokenizer(text, return_tensors="pt")
            return model(**{key: value.to(device) for key, value in inputs.items()})
    """,
    "two modules that are moved together": """
        def main(x, device):
            G, D = nn.Linear(3, 3), nn.Linear(3, 3)
            both = nn.ModuleList([G, D]).to(device)
            return D(G(x.to(device))), both
    """,
    "attributes that all are moved": """
        class Rows:
            def __init__(self, n):
                self.a = torch.zeros(n)
                self.b = torch.zeros(n)
            def to(self, device):
                self.a = self.a.to(device)
                self.b = self.b.to(device)
    """,
    "an attribute that is moved where it is used": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.scale = torch.ones(3)
            def forward(self, x):
                return self.one(x) * self.scale.to(x.device)
        def main(x, device):
            return Net().to(device)(x.to(device))
    """,
    "numpy of what never left": """
        def main(x: torch.Tensor, device):
            rows = torch.zeros(3)
            return x.to(device).sum(), rows.numpy()
    """,
    "a value of the host in a row of its own": """
        def main(x: torch.Tensor, device):
            near, far = x.to(device), torch.randperm(3)
            return near.sum(), far.tolist()
    """,
    "an index of the host": """
        def main(x: torch.Tensor, device):
            near, order = x.to(device), torch.randperm(3)
            return near[order]
    """,
    "a table that is asked for an index": """
        def main(net: nn.Module, device, i):
            net.to(device)
            table = torch.arange(9)
            return net(table[i].to(device))
    """,
    "a device that is the host": """
        def main(x: torch.Tensor):
            device = torch.device("cpu")
            return x.to(device) @ torch.zeros(3)
    """,
    "what is wanted on both sides": """
        def main(x: torch.Tensor, device):
            h = torch.zeros(3)
            g = h.clone()
            x = x.to(device)
            return x @ h.to(device), g.numpy()
    """,
    "a scalar in arithmetic": """
        def main(x: torch.Tensor):
            return x.cuda() * torch.tensor(0.5)
    """,
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_what_is_left_alone(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []


@pytest.mark.parametrize(("program", "lines"), PLACES.values(), ids=PLACES.keys())
def test_where_it_stands(repairs, program: str, lines: str) -> None:
    assert lines in repairs.written(program, Safety.SUGGESTION)


HOST = {
    "a flag": """
        def run(use_cuda=False):
            net = nn.Linear(3, 3)
            if use_cuda:
                net.cuda()
            z = torch.ones(2, 3)
            return net(z).shape
    """,
    "a flag around a row": """
        def step(batch, net: nn.Module, use_cuda):
            x, y = batch
            if use_cuda:
                net = net.cuda()
                x = x.cuda()
            return F.mse_loss(net(x), y)
        def run():
            return step((torch.ones(2, 3), torch.ones(2, 3)), nn.Identity(), False).item()
    """,
    "a chosen device": """
        def run():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(3, 2).to(device)
            return net(torch.ones(4, 3)).shape, net(torch.from_numpy(np.ones((1, 3), dtype=np.float32))).shape
    """,
    "a loop": """
        from torch.utils.data import DataLoader
        def run():
            device, total = torch.device("cpu") if not torch.cuda.is_available() else torch.device("cuda"), 0.0
            net = nn.Linear(3, 1).to(device)
            for x, y in DataLoader(list(zip(torch.ones(4, 3), torch.ones(4, 1))), batch_size=2):
                total += F.mse_loss(net(x), y).numel()
            return total
    """,
    "a buffer": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.scale = torch.full((3,), 2.0)
            def forward(self, x):
                return self.one(x) * self.scale + torch.zeros(3)
        def run():
            device = "cuda" if torch.cuda.is_available() else "cpu"
            net = Net().to(device)
            return net(torch.ones(2, 3).to(device)).shape, sorted(net.state_dict()), net.scale.tolist()
    """,
    "a list": """
        def run(device="cpu"):
            net = nn.Linear(3, 3).to(device)
            rows = []
            for i in range(3):
                rows.append(torch.zeros(3))
            return net(torch.stack(rows)).shape
    """,
    "numpy": """
        def run():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(3, 3).to(device)
            return net(torch.ones(2, 3).to(device)).detach().numpy().shape
    """,
    "two networks": """
        def run():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            G, D = nn.Linear(3, 3), nn.Linear(3, 3)
            G.to(device)
            return D(G(torch.ones(2, 3).to(device))).shape
    """,
}
RUNNER = """
import json, sys
for program in json.load(sys.stdin):
    space = {}
    exec(compile(program, "program", "exec"), space)
    print(repr(space["run"]()))
"""


def test_what_ran_on_the_host_runs_there_as_before(repairs) -> None:
    head = "import numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    before = [repairs.plain(program) for program in HOST.values()]
    after = [head + repairs.written(program, Safety.SUGGESTION) for program in HOST.values()]
    assert [name for name, one, other in zip(HOST, before, after) if one == other] == []
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps([*before, *after]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[: len(before)] == lines[len(before) :]
