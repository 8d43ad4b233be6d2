"""What meets what: births on the host, values on a device, and the paths between them."""

import ast
import sysconfig
from pathlib import Path

import pytest
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where

APART = {
    "what a method of a module other than the forward pass gives": """
        class Flip(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def example(self, n):
                return torch.zeros(n, 3)
    """,
    "what a class that is no module keeps and calls": """
        from nets import Generator
        class Data:
            def __init__(self):
                self.generator = Generator(3)
            def get(self, x):
                return self.generator(torch.randn(len(x), 3))
    """,
    # modules and what stands around them
    "a module that is told the device in its options by name": """
        from nets import Net
        def main(loader, device, options):
            net = Net(device=device, **options)
            net.eval()
            for x in loader:
                net(x.to(device))
    """,
    "a function that finds a device is none": """
        from nets import Net, find_device
        def main(path):
            net = Net(3)
            net.load_state_dict(torch.load(path, map_location=find_device()))
            return net
    """,
    "a module that a method of a class of this file moves": """
        from nets import Net
        class Trainer:
            def __init__(self, net):
                self.net = net.cuda()
        def main():
            device = torch.device("cuda")
            net = Net(3)
            net.load_state_dict(torch.load("net.pt"))
            return Trainer(net)
    """,
    "a part of a module that is read, given to an object of a module": """
        from nets import Net, Head
        def main(x):
            device = torch.device("cuda")
            head = Head(3)
            head.eval()
            net = Net(head).to(device)
            return net(x.to(device))
    """,
    "what a wrapped module gets": """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.DataParallel(nn.Linear(3, 3))
            net.to(device)
            for x in DataLoader(data):
                net(x)
    """,
    "a method of modules that configures the optimizer, and what a table evaluates": """
        def main(table, device):
            device = torch.device("cuda")
            total = table.eval("a + b")
            return total
    """,
    # guards
    "moved under the flag, both": """
        def main(model, data, use_cuda):
            x, y = data
            if use_cuda:
                model = model.cuda()
                x, y = x.cuda(), y.cuda()
            return F.cross_entropy(model(x), y)
    """,
    "moved under the same test, asked again": """
        def main(model: nn.Module, loader):
            if torch.cuda.is_available():
                model.cuda()
            for x in loader:
                if torch.cuda.is_available():
                    x = x.cuda()
                model(x)
    """,
    "made under the flag and without it": """
        def main(model: nn.Module, use_cuda):
            if use_cuda:
                model.cuda()
                x = torch.zeros(3).cuda()
            else:
                x = torch.zeros(3)
            return model(x)
    """,
    "without either of two flags all is on the host": """
        def main(model: nn.Module, a, b):
            x = torch.zeros(3)
            if a:
                model.cuda()
            if b:
                x = x.cuda()
            return model(x)
    """,
    "an early return without the flag": """
        def main(x, use_cuda):
            if not use_cuda:
                return x + torch.zeros(3)
            return x.cuda().sum()
    """,
    "values of two branches": """
        def main(device, c):
            near, far = torch.ones(3).to(device), torch.zeros(2)
            if c:
                return near.sum()
            return far.tolist()
    """,
    # phis and calls
    "operands of a phi do not meet": """
        def main(host, device, c):
            near = host.to(device)
            x = near if c else host
            return x.sum()
    """,
    "a value that enters a helper leaves by the same call": """
        def double(a):
            return a + a
        def main(device):
            near = double(torch.ones(3).to(device))
            far = double(torch.zeros(3))
            return near.sum(), far.tolist()
    """,
    "a method of two objects": """
        class Scale:
            def twice(self, a):
                return a * 2
        def main(device):
            one, other = Scale(), Scale()
            near = one.twice(torch.ones(3).to(device))
            return near.sum(), other.twice(torch.zeros(3)).tolist()
    """,
    # what may meet
    "a 0-dim tensor": """
        def main(x: torch.Tensor):
            x = x.cuda()
            return x * torch.tensor(2.0) + torch.zeros(())
    """,
    "numbers": """
        def main(x: torch.Tensor, n: int):
            x = x.cuda()
            return x * 2.0 + n + len(x) + x.size(0)
    """,
    "a slice is copied into": """
        def main(x: torch.Tensor):
            x = x.cuda()
            x[:, 1] = torch.zeros(3)
            x[0] = torch.zeros(3)
            return x
    """,
    "copy_": """
        def main(x: torch.Tensor):
            x = x.cuda()
            x.copy_(torch.zeros(3))
            return x
    """,
    "an index on the host": """
        def main(x: torch.Tensor):
            x = x.cuda()
            order = torch.randperm(3)
            return x[order]
    """,
    "made like another": """
        def main(x: torch.Tensor):
            x = x.cuda()
            return x + torch.zeros_like(x) + x.new_zeros(3) + torch.rand_like(x)
    """,
    "moved where they meet": """
        def main(x: torch.Tensor):
            x = x.cuda()
            z = torch.zeros(3)
            return x + z.to(x.device) + torch.ones(3).type_as(x) + torch.eye(3).to(x)
    """,
    "both on the host": """
        def main(x: torch.Tensor):
            y = x.cuda()
            return y.cpu() + torch.zeros(3)
    """,
    "both chosen to be on the host": """
        def main():
            device = torch.device("cpu")
            return torch.zeros(3) + torch.ones(3, device=device)
    """,
    "DataParallel scatters": """
        def main(loader):
            net = nn.DataParallel(nn.Linear(3, 3).cuda())
            for x in loader:
                net(x)
    """,
    "a call that is told the device places": """
        from lib import put
        def main(device):
            net = nn.Linear(3, 3).to(device)
            x = torch.zeros(3)
            return net(put(x, device))
    """,
    "under a default device": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            with torch.device(device):
                x = torch.zeros(3)
            return net(x)
    """,
    "a file that changes the default": """
        torch.set_default_device("cuda")
        def main(x):
            return x.cuda() + torch.zeros(3)
    """,
    "a default of an old kind": """
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        def main(x):
            return x.cuda() + torch.zeros(3)
    """,
    "a framework places": """
        import pytorch_lightning as pl
        class Net(pl.LightningModule):
            def training_step(self, batch):
                x, y = batch
                return F.cross_entropy(self(x.to(self.device)), y)
    """,
    # modules
    "a part of a module": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.two = nn.Sequential(nn.Linear(3, 3))
            def forward(self, x):
                return self.two(self.one(x))
        def main(x, device):
            return Net().to(device)(x.to(device))
    """,
    "a buffer and a parameter": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(3))
                self.register_buffer("shift", torch.zeros(3))
            def forward(self, x):
                return x * self.scale + self.shift
    """,
    "forward makes it where its input is": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, x):
                return self.one(x) + torch.zeros(3, device=x.device)
    """,
    "forward moves its input": """
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.device = device
                self.one = nn.Linear(3, 3).to(device)
            def forward(self, x):
                return self.one(x.to(self.device))
        def main(loader, device):
            net = Net(device)
            for x in loader:
                net(x)
    """,
    "a loss that holds nothing": """
        def main(device, x, y):
            criterion = nn.CrossEntropyLoss()
            net = nn.Linear(3, 3).to(device)
            return criterion(net(x.to(device)), y.to(device))
    """,
    "a module that moves itself": """
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.to(device)
            def forward(self, x):
                return self.one(x)
        def main(x, device):
            return Net(device)(x.to(device))
    """,
    "an attribute that another method moves": """
        class Trainer:
            def __init__(self, device):
                self.net = nn.Linear(3, 3)
                self.net.to(device)
                self.noise = torch.zeros(3)
                self.noise = self.noise.to(device)
            def step(self):
                return self.net(self.noise)
    """,
    # containers
    "each element by its own key": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            d = {"near": torch.zeros(3).to(device), "far": torch.ones(3)}
            return net(d["near"]), d["far"].tolist()
    """,
    "each element by its own place": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            d = [torch.zeros(3).to(device), torch.ones(3)]
            return net(d[0]), d[1].tolist()
    """,
    "each name of a display": """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            a, b = torch.zeros(3).to(device), torch.ones(3)
            return net(a), b.tolist()
    """,
    # encodings
    "an encoding that is moved": """
        from transformers import AutoModel, AutoTokenizer
        def main(text):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to("cuda")
            return model(**tokenizer(text, return_tensors="pt").to("cuda"))
    """,
    "lists of numbers": """
        from transformers import AutoModel, AutoTokenizer
        def main(text):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to("cuda")
            return model(**tokenizer(text))
    """,
    # numpy
    "a copy for numpy": """
        def main(x, device):
            net = nn.Linear(3, 3).to(device)
            return net(x.to(device)).detach().cpu().numpy()
    """,
    "numpy of what stays": """
        def main(device):
            near, far = torch.ones(3, device=device), torch.from_numpy(np.zeros(3))
            return near.sum(), far.numpy()
    """,
    "numpy under the other branch": """
        def main(x: torch.Tensor, use_cuda):
            if use_cuda:
                x = x.cuda()
            if use_cuda:
                return x.cpu().numpy()
            return x.numpy()
    """,
    "numpy of what is moved to a place that may be the host": """
        def main(x: torch.Tensor, place):
            return x.to(place).numpy()
    """,
    "numpy of what is moved to the host": """
        def main(x: torch.Tensor):
            return x.cuda().to("cpu").numpy(), x.cuda().to(torch.device("cpu")).numpy()
    """,
    "numpy of what is moved to a name of the host": """
        def main(x: torch.Tensor, cpu_device):
            return x.to(cpu_device).numpy()
    """,
    "shapes and numbers for numpy": """
        def main(x: torch.Tensor):
            x = x.cuda()
            return np.zeros(x.shape), np.mean(x.tolist()), np.sqrt(x.sum().item())
    """,
    # families
    "one alone is moved": """
        def main(loader, net: nn.Module):
            for x, names in loader:
                print(names, net(x.cuda()))
    """,
    "the other is moved later": """
        def main(batch, net: nn.Module):
            x, y = batch
            x = x.cuda()
            z = net(x)
            y = y.cuda()
            return F.mse_loss(z, y)
    """,
    "the other loop moves as well": """
        def main(train_loader, test_loader, model, device):
            for x in train_loader:
                model(x.to(device))
            for x in test_loader:
                model(x.to(device))
    """,
    "a device that is used": """
        def make(n, device="cuda"):
            return torch.zeros(n).to(device)
    """,
    "modules that all are moved": """
        def main(z, device):
            G, D = nn.Linear(3, 3), nn.Linear(3, 3)
            for net in (G, D):
                net.to(device)
            return D(G(z.to(device)))
    """,
}

MEETS = {
    "what the parts of a module get, of classes that are not read": (
        """
        from nets import Generator
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.generator = Generator(3)
            def forward(self, x):
                return self.generator(torch.randn(len(x), 3))
    """,
        ["torch.randn(len(x), 3)"],
    ),
    "what a forward pass gives": (
        """
        class Flip(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, x):
                return torch.flip(x, [1]), torch.zeros(x.size(0))
    """,
        ["torch.zeros(x.size(0))"],
    ),
    # modules and what stands around them
    "a module of an unread class beside a declared device": (
        """
        from nets import Net
        def main(model_path):
            device = torch.device("cuda")
            net = Net(3)
            net.load_state_dict(torch.load(model_path, map_location=device))
            return net
    """,
        ["Net(3)"],
    ),
    "of one of several classes": (
        """
        import nets
        def main(loader, big):
            device = torch.device("cuda")
            Net = nets.Big if big else nets.Small
            net = Net(3)
            net.load_state_dict(torch.load("net.pt"))
            for x in loader:
                net(x.to(device))
    """,
        ["Net(3)"],
    ),
    "one that another function makes and moves": (
        """
        from nets import Net
        def first(x):
            net = Net(3)
            net.eval()
            net = net.cuda()
            return net(x)
        def second(x):
            net = Net(3)
            net.eval()
            return net(x)
    """,
        ["Net(3)"],
    ),
    "made of options, some of which may name a device": (
        """
        from nets import Net
        def main(loader, device, options):
            net = Net(**options)
            net.eval()
            for x in loader:
                net(x.to(device))
    """,
        ["Net(**options)"],
    ),
    "given to a trainer, which is not read, and moved by another function": (
        """
        from trainers import Finder
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
        def first(loader):
            net = Net().cuda()
            Finder(net).run(loader)
        def second(loader):
            net = Net()
            Finder(net).run(loader)
    """,
        ["Net()"],
    ),
    "what a module gets that is wrapped where there are several devices": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3)
            if torch.cuda.device_count() > 1:
                net = nn.DataParallel(net)
            net.to(device)
            for x in DataLoader(data):
                net(x)
    """,
        ["x"],
    ),
    # guards
    "moved under the flag, but one": (
        """
        def main(model, data, use_cuda):
            x, y = data
            if use_cuda:
                model = model.cuda()
                x = x.cuda()
            return F.cross_entropy(model(x), y)
        """,
        ["y"],
    ),
    "made before both branches": (
        """
        def main(model: nn.Module, use_cuda):
            x = torch.zeros(3)
            if use_cuda:
                model.cuda()
            return model(x)
        """,
        ["torch.zeros(3)"],
    ),
    "an early return with the flag": (
        """
        def main(x, use_cuda):
            if not use_cuda:
                return x
            return x.cuda() + torch.zeros(3)
        """,
        ["torch.zeros(3)"],
    ),
    # calls
    "in a helper": (
        """
        def add(a, b):
            return a + b
        def main(device):
            return add(torch.zeros(3), torch.ones(3).to(device))
        """,
        ["torch.zeros(3)"],
    ),
    "behind a helper": (
        """
        def make(n):
            return torch.zeros(n)
        def main(device):
            return make(3) + torch.ones(3).to(device)
        """,
        ["torch.zeros(n)"],
    ),
    "through two helpers": (
        """
        def double(a):
            return a + a
        def make(n):
            return double(torch.zeros(n))
        def main(device):
            return torch.matmul(make(3), torch.ones(3).to(device))
        """,
        ["torch.zeros(n)"],
    ),
    "in a closure": (
        """
        def main(device):
            far = torch.zeros(3)
            def inner(x):
                return x.to(device) + far
            return inner
        """,
        ["torch.zeros(3)"],
    ),
    "of the module": (
        """
        FAR = torch.zeros(3)
        def main(x, device):
            return x.to(device) * FAR
        """,
        ["torch.zeros(3)"],
    ),
    # operations
    "a 0-dim tensor in a product of matrices": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return torch.matmul(x, torch.tensor(2.0))
        """,
        ["torch.tensor(2.0)"],
    ),
    "arithmetic": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return x * torch.tensor([2.0])
        """,
        ["torch.tensor([2.0])"],
    ),
    "a comparison": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return x == torch.arange(3)
        """,
        ["torch.arange(3)"],
    ),
    "cat": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return torch.cat([x, torch.zeros(3)])
        """,
        ["torch.zeros(3)"],
    ),
    "what a list was filled with": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            rows = []
            for i in range(3):
                rows.append(torch.zeros(3))
            return net(torch.stack(rows))
        """,
        ["torch.zeros(3)"],
    ),
    "a comprehension": (
        """
        def main(device, n):
            net = nn.Linear(3, 3).to(device)
            return net(torch.stack([torch.zeros(3) for _ in range(n)]))
        """,
        ["torch.zeros(3)"],
    ),
    "an index on a device": (
        """
        def main(x: torch.Tensor):
            order = torch.randperm(3).cuda()
            far = torch.zeros(3)
            return far[order]
        """,
        ["torch.zeros(3)"],
    ),
    "a loss": (
        """
        def main(x, y, loader, device):
            net = nn.Linear(3, 3).to(device)
            criterion = nn.MSELoss()
            for x, y in loader:
                criterion(net(x.to(device)), y).backward()
        """,
        ["y"],
    ),
    "an unread call on the way to backward": (
        """
        from lib import build, loss_of
        def main(loader, device):
            net = build().to(device)
            for x, y in loader:
                loss = loss_of(net(x.to(device)), y)
                loss.backward()
        """,
        ["y"],
    ),
    "made like a value of the host": (
        """
        def main(x: torch.Tensor):
            far = torch.zeros(3)
            return x.cuda() + torch.zeros_like(far)
        """,
        ["torch.zeros(3)"],
    ),
    "of numpy": (
        """
        def main(x: torch.Tensor, array):
            return x.cuda() + torch.from_numpy(array)
        """,
        ["torch.from_numpy(array)"],
    ),
    "added in place": (
        """
        def main(loader, device):
            total = torch.zeros(3)
            net = nn.Linear(3, 3).to(device)
            for x in loader:
                total += net(x.to(device))
        """,
        ["torch.zeros(3)"],
    ),
    # modules
    "a module that stays": (
        """
        def main(x, device):
            net = nn.Linear(3, 3)
            return net(x.to(device))
        """,
        ["nn.Linear(3, 3)"],
    ),
    "a plain tensor of a module": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
                self.scale = torch.ones(3)
            def forward(self, x):
                return self.one(x) * self.scale
        """,
        ["torch.ones(3)"],
    ),
    "forward makes it on the host": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, x):
                return self.one(torch.zeros(3))
        """,
        ["torch.zeros(3)"],
    ),
    "an attribute in another method": (
        """
        class Trainer:
            def __init__(self, device):
                self.net = nn.Linear(3, 3).to(device)
                self.noise = torch.zeros(3)
            def step(self):
                return self.net(self.noise)
        """,
        ["torch.zeros(3)"],
    ),
    "an attribute of a base": (
        """
        class Base:
            def __init__(self, device):
                self.net = nn.Linear(3, 3).to(device)
        class Trainer(Base):
            def step(self):
                return self.net(torch.zeros(3))
        """,
        ["torch.zeros(3)"],
    ),
    # containers
    "an element by its key": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            d = {"near": torch.zeros(3).to(device), "far": torch.ones(3)}
            return net(d["near"]), net(d["far"])
        """,
        ["torch.ones(3)"],
    ),
    "an element of dict()": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            d = dict(far=torch.ones(3), near=torch.zeros(3).to(device))
            return net(d["far"]), net(d["near"])
        """,
        ["torch.ones(3)"],
    ),
    "an element that is stored": (
        """
        def main(device, d):
            net = nn.Linear(3, 3).to(device)
            d["far"] = torch.ones(3)
            return net(d["far"])
        """,
        ["torch.ones(3)"],
    ),
    "an element by its place": (
        """
        def main(device):
            net = nn.Linear(3, 3).to(device)
            d = (torch.zeros(3).to(device), torch.ones(3))
            return net(d[1])
        """,
        ["torch.ones(3)"],
    ),
    # loaders
    "an element of a batch": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            for x, y in DataLoader(data):
                net(x)
        """,
        ["x"],
    ),
    "next": (
        """
        from torch.utils.data import DataLoader
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            x, y = next(iter(DataLoader(data)))
            net(x)
        """,
        ["x"],
    ),
    "in enumerate and tqdm": (
        """
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        def main(data, device):
            net = nn.Linear(3, 3).to(device)
            loader = DataLoader(data)
            for i, (x, y) in enumerate(tqdm(loader)):
                net(x)
        """,
        ["x"],
    ),
    # encodings
    "an encoding": (
        """
        from transformers import AutoModel, AutoTokenizer
        def main(text):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to("cuda")
            return model(**tokenizer(text, return_tensors="pt"))
        """,
        ["tokenizer(text, return_tensors='pt')"],
    ),
    "an item of an encoding": (
        """
        from transformers import AutoModel, AutoTokenizer
        def main(text):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to("cuda")
            inputs = tokenizer(text, return_tensors="pt")
            return model(inputs["input_ids"])
        """,
        ["tokenizer(text, return_tensors='pt')"],
    ),
    # numpy
    "numpy of a result": (
        """
        def main(x, device):
            net = nn.Linear(3, 3).to(device)
            return net(x.to(device)).numpy()
        """,
        ["net(x.to(device))"],
    ),
    "given to numpy": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return np.asarray(x)
        """,
        ["x.cuda()"],
    ),
    "numpy of what is made there": (
        """
        def main():
            return torch.ones(2, device="cuda").numpy()
        """,
        ["torch.ones(2, device='cuda')"],
    ),
    # families
    "beside what is moved, in a row": (
        """
        def main(batch, net: nn.Module):
            x, y, z = batch
            x, y = x.cuda(), y.cuda()
            return F.mse_loss(net(x, y), z)
        """,
        ["z"],
    ),
    "in a display": (
        """
        def main(x, y, net: nn.Module):
            x, y = x.cuda(), y
            return F.mse_loss(net(x), y)
        """,
        ["y"],
    ),
    "twins": (
        """
        from lib import read
        def main(device):
            x = read("x").to(device)
            y = read("y")
            return torch.matmul(x, y)
        """,
        ["read('y')"],
    ),
    "a twin loop": (
        """
        from torch.utils.data import DataLoader
        def main(data, model, device):
            for x in DataLoader(data):
                model(x.to(device))
            for x in DataLoader(data):
                model(x)
        """,
        ["x"],
    ),
    "attributes that are moved together": (
        """
        class Buffer:
            def __init__(self, n):
                self.a, self.b, self.c = torch.zeros(n), torch.zeros(n), torch.zeros(n)
            def to(self, device):
                self.a = self.a.to(device)
                self.b = self.b.to(device)
        """,
        ["torch.zeros(n)", "c"],
    ),
    "modules that are made together": (
        """
        def main(x, y, device):
            G, D = nn.Linear(3, 3), nn.Linear(3, 3)
            G.to(device)
            return G(x.to(device)), D(y)
        """,
        ["nn.Linear(3, 3)"],
    ),
    "a device that nobody uses": (
        """
        def make(n, device: torch.device):
            return torch.zeros(n)
        """,
        ["torch.zeros(n)"],
    ),
    "factories, most of which are told a device": (
        """
        def make(n, device):
            a, b, c = torch.zeros(n, device=device), torch.ones(n, device=device), torch.rand(n, device=device)
            return a, b, c, torch.arange(n)
        """,
        ["torch.arange(n)"],
    ),
}


@pytest.mark.parametrize("program", APART.values(), ids=APART.keys())
def test_nothing_is_misplaced(placed, program: str) -> None:
    assert placed(program).births == []


@pytest.mark.parametrize(("program", "births"), MEETS.values(), ids=MEETS.keys())
def test_what_is_misplaced(placed, program: str, births: list[str]) -> None:
    assert placed(program).births == births


class TestTheUseCudaExample:
    """`x` and the model are moved under the flag, `y` is not."""

    PROGRAM = """
        def main(model, data, use_cuda):
            x, y = data
            if use_cuda:
                model = model.cuda()
                x = x.cuda()
            if use_cuda:
                inside = 1
            else:
                outside = 1
            return F.cross_entropy(model(x), y)
    """

    def test_the_conflict_holds_under_the_flag_alone(self, placed) -> None:
        one = placed(self.PROGRAM)
        conflict = one.of("y")
        function = conflict.birth.node.function
        inside, outside = (
            function.guards[function.syntax.body[2].body[0]],
            function.guards[function.syntax.body[2].orelse[0]],
        )
        assert conflict.guard == inside
        assert contradictory(conflict.guard, outside)

    def test_it_starts_at_what_stays_and_ends_at_a_move(self, placed, told) -> None:
        conflict = placed(self.PROGRAM).of("y")
        assert (conflict.birth.birth, conflict.birth.place.where) == (Birth.SIBLING, Where.HOST)
        assert (told(conflict.end.node), conflict.end.place.where) == ("model.cuda()", Where.DEVICE)

    def test_it_meets_in_the_loss(self, placed, told) -> None:
        meeting = placed(self.PROGRAM).of("y").meeting
        assert told(meeting.node) == "F.cross_entropy(model(x), y)"

    def test_its_path_leads_from_one_to_the_other(self, placed) -> None:
        conflict = placed(self.PROGRAM).of("y")
        before = conflict.birth.node
        for step in conflict.path:
            assert (step.before.node if step.before else conflict.birth.node) is before
            before = step.node
        assert before is conflict.end.node
        assert Turn.MEET in {step.edge.turn for step in conflict.path}


MODULE_PART = """
    class N(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
        def g(self):
            return self.a(torch.zeros(3))
"""
ENDS = {
    "a move": ("def f(x: torch.Tensor, device):\n    return x.to(device) + torch.zeros(3)", Where.DEVICE),
    "a factory elsewhere": ("def f(device):\n    return torch.ones(3, device=device) + torch.zeros(3)", Where.DEVICE),
    "a statement": ("def f(device):\n    n = nn.Linear(3, 3)\n    n.to(device)\n    n(torch.zeros(3))", Where.DEVICE),
    "a parameter": ("def f(x: torch.Tensor):\n    return x + torch.zeros(3)", Where.CALLER),
    "the module of a method": (MODULE_PART, Where.MODULE),
}


@pytest.mark.parametrize(("program", "where"), ENDS.values(), ids=ENDS.keys())
def test_where_it_ends(placed, program: str, where: Where) -> None:
    assert placed(program).of("torch.zeros(3)").end.place.where is where


class TestConfidence:
    @pytest.mark.parametrize(
        ("strong", "weak"),
        [
            ("x = torch.zeros(3)", "x = torch.tensor(n)"),
            ("x = torch.zeros(3)", "x = torch.zeros(3)\n    x = unknown(x)"),
            ("x = torch.zeros(3)", "x = torch.zeros(3)\n    x = [x, y][n]"),
        ],
    )
    def test_each_weak_link_takes_some(self, placed, strong: str, weak: str) -> None:
        program = "def f(device, n, y):\n    net = nn.Linear(3, 3).to(device)\n    {}\n    return net(x)"
        one, other = (placed(program.format(body)).conflicts[0] for body in (strong, weak))
        assert other.confidence < one.confidence < 1
        assert set(one.links) < set(other.links)

    def test_more_members_of_a_family_support_more(self, placed) -> None:
        program = "def f(batch, net: nn.Module):\n    {0}, z = batch\n    {0}, = {1},\n    return net({0}, z)"
        found = []
        for names in (["a"], ["a", "b"], ["a", "b", "c"]):
            row, moved = ", ".join(names), ", ".join(f"{one}.cuda()" for one in names)
            found.append(placed(program.format(row, moved).replace(", = ", " = ").rstrip(",")).of("z").confidence)
        assert found[0] <= found[1] <= found[2]

    def test_the_strongest_is_the_first(self, placed) -> None:
        program = (
            "def f(x: torch.Tensor, device, n):\n    a, b = torch.zeros(3), torch.tensor(n)\n    y = x.to(device)\n"
        )
        found = placed(program + "    return torch.matmul(y, b), torch.matmul(y, a)").conflicts
        assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
        assert len(found) == 2

    def test_what_is_certain_has_no_links(self, placed) -> None:
        conflict = placed("def f(x: torch.Tensor):\n    x = x.cuda()\n    return x.mm(torch.zeros(3))").conflicts[0]
        assert conflict.links == ("operation",)
        assert conflict.confidence > 0.95


@pytest.mark.parametrize(("kept", "read"), [(True, "self.z"), (False, "torch.zeros(3)")])
def test_whether_an_attribute_keeps_it(placed, kept: bool, read: str) -> None:
    program = f"""
        class A:
            def __init__(self, d):
                self.n = nn.Linear(3, 3).to(d)
                {"self.z = torch.zeros(3)" if kept else "pass"}
            def f(self):
                return self.n({read})
    """
    assert placed(program).of("torch.zeros(3)").is_of_attribute is kept


def test_the_same_program_gives_the_same_conflicts_in_the_same_order(placed) -> None:
    for program, _ in MEETS.values():
        one, other = placed(program), placed(program)
        assert one.births == other.births
        assert [each.links for each in one.conflicts] == [each.links for each in other.conflicts]


@pytest.mark.parametrize("old", ["x", "device", "net", "criterion"])
def test_names_of_values_do_not_decide(placed, old: str) -> None:
    program = """
        from torch.utils.data import DataLoader
        def main(data, device: torch.device):
            net = nn.Linear(3, 3).to(device)
            criterion = nn.MSELoss()
            for x, y in DataLoader(data):
                criterion(net(x.to(device)), y).backward()
    """
    assert placed(program.replace(old, "qq")).births == placed(program).births == ["y"]


LIBRARY = [
    one for one in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")) if 3_000 < one.stat().st_size < 30_000
][::8]


@pytest.mark.parametrize("file", LIBRARY, ids=lambda file: file.name)
def test_nothing_is_misplaced_in_the_library(file: Path) -> None:
    assert Analysis(ast.parse(file.read_bytes())).conflicts == []
