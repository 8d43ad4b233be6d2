"""DVF202: modules that stay on the host."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF202"

RUN = '\nif __name__ == "__main__":\n    main()\n'

SILENT = {
    "a module of which the state alone is saved, or that alone is filled": """
        import torch
        from torch import nn
        def main(path, device, x):
            torch.save(nn.Linear(6, 2).state_dict(), path)
            nn.Linear(6, 2).load_state_dict(torch.load(path, map_location=device))
            model = nn.Linear(6, 2).to(device)
            return model(x.to(device))
    """,
    **{
        f"placed by its quantization, {option}": f"""
            import torch
            from transformers import AutoModel, BitsAndBytesConfig
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            model = AutoModel.from_pretrained("x", {option})
            def run(loader):
                for x in loader:
                    model(x.to(device))
        """
        for option in (
            "load_in_4bit=True",
            "load_in_8bit=True",
            "quantization_config=BitsAndBytesConfig(load_in_4bit=True)",
        )
    },
    "moved by a type that is chosen": """
        import torch
        from torchvision.models import inception_v3

        def score(loader, cuda=True):
            dtype = torch.cuda.FloatTensor if cuda else torch.FloatTensor
            net = inception_v3().type(dtype)
            net.eval()
            for x in loader:
                print(net(x.type(torch.cuda.FloatTensor)))
    """,
    "moved by a type that one branch gives": """
        import torch
        from torchvision.models import inception_v3

        def score(loader, cuda=True):
            if cuda:
                dtype = torch.cuda.FloatTensor
            else:
                dtype = torch.FloatTensor
            net = inception_v3()
            net.type(dtype)
            for x in loader:
                print(net(x.cuda()))
    """,
    "moved by the name of a type": """
        import torch
        from torch import nn

        def score(loader):
            net = nn.Linear(3, 3).type("torch.cuda.FloatTensor")
            for x in loader:
                print(net(x.cuda()))
    """,
    "parts of a model that were moved, before or after they were taken": """
        import torch
        from torch import nn
        from torchvision import models
        class Distance:
            def __init__(self, device):
                self.device = device
                whole = models.vgg16()
                self.part = whole.features[:3]
                whole.to(device)
                self.first = models.vgg16().features
                self.first.to(device).eval()
                self.cut = models.vgg16().features[:16].to(device)
                self.inner = models.vgg16().features[:8]
                self.outer = nn.Sequential(self.inner, nn.ReLU()).to(device)
            def __call__(self, x):
                x = x.to(self.device)
                return self.part(x), self.first(x), self.cut(x), self.inner(x), self.outer(x)
    """,
    "what takes apart the model that it is given": """
        import torch
        from torch import nn
        from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

        def show(device, loader, model: nn.Module):
            model.eval()
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                names, _ = get_graph_node_names(model)
                taps = create_feature_extractor(model, return_nodes=names)
                print(taps(x))
    """,
    "a model that is made of given ones": """
        import torch
        from torch import nn
        from transformers import EncoderDecoderModel

        def translate(device, loader, encoder: nn.Module, decoder: nn.Module):
            model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                print(model(x))
    """,
    "a part of a model in a module": """
        import torch
        from torch import nn
        from torchvision import models
        class Loss(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.part = models.vgg16().features[:3].eval()
                self.device = device
            def forward(self, x):
                return self.part(x.to(self.device))
    """,
    "module moved in another function": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.net = nn.Linear(3, 3)
                self.device = device
                self._setup()
            def _setup(self):
                self.net.to(self.device)
                self.net.train()
            def step(self, x):
                return self.net(x.to(self.device))
    """,
    "moved by unknown": """
        import torch
        from torch import nn
        from util import setup
        net = nn.Linear(3, 3)
        setup(net)
        net(x.to("cuda"))
    """,
    "inherited unknown base": """
        import torch
        from torch import nn
        from base import BaseTrainer
        class T(BaseTrainer):
            def build(self):
                self.net = nn.Linear(3, 3)
                self.place_models()
            def step(self, x):
                return self.net(x.to(self.device))
    """,
    "list of models": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        disc = nn.Linear(3, 3)
        for m in (net, disc):
            m.to("cuda")
        net(x.to("cuda")); disc(x.cuda())
    """,
    "list of models 2": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        models = {"a": net, "b": nn.Linear(2, 2)}
        for m in models.values():
            m.cuda()
        net(x.to("cuda")); models["b"](x.cuda())
    """,
    "comprehension move": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        disc = nn.Linear(3, 3)
        net, disc = [m.to("cuda") for m in (net, disc)]
        net(x.to("cuda"))
    """,
    "container move": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        disc = nn.Linear(3, 3)
        all_ = nn.ModuleList([net, disc])
        all_.to("cuda")
        net(x.to("cuda"))
    """,
    "sequential move": """
        import torch
        from torch import nn
        enc = nn.Linear(3, 3)
        dec = nn.Linear(3, 3)
        ae = nn.Sequential(enc, dec).to("cuda")
        enc(x.to("cuda"))
    """,
    "parent model class move": """
        import torch
        from torch import nn
        class AE(nn.Module):
            def __init__(self, enc, dec):
                super().__init__()
                self.enc = enc
                self.dec = dec
            def forward(self, x):
                return self.dec(self.enc(x))
        enc = nn.Linear(3, 3)
        dec = nn.Linear(3, 3)
        ae = AE(enc, dec)
        ae.to("cuda")
        ae.train()
        z = enc(x.to("cuda"))
        y = ae(x.to("cuda"))
    """,
    "loss no params": """
        import torch
        from torch import nn
        class Dice(nn.Module):
            def __init__(self, smooth=1.0):
                super().__init__()
                self.smooth = smooth
                self.bce = nn.BCELoss()
            def forward(self, a, b):
                return (a * b).sum() + self.bce(a, b)
        crit = Dice()
        crit2 = nn.Sequential(nn.Softmax(1), nn.Flatten())
        crit(x.to("cuda"), y.to("cuda"))
        crit2(x.to("cuda"))
    """,
    "default tensor type": """
        import torch
        from torch import nn
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
        net = nn.Linear(3, 3)
        net(x.cuda())
    """,
    "functional use on cpu of moved value": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        net(x.to("cuda").cpu())
        net(x.cuda().detach().to("cpu"))
    """,
    "local class moves itself": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.to(device)
            def forward(self, x):
                return self.fc(x)
        class Net2(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.cuda()
            def forward(self, x):
                return self.fc(x)
        net = Net("cuda")
        net(x.to("cuda"))
        Net2()(x.cuda())
    """,
    "local class moves children": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.fc = nn.Linear(3, 3).to(device)
                self.fc2 = nn.Linear(3, 3, device=device)
            def forward(self, x):
                return self.fc2(self.fc(x))
        net = Net("cuda")
        net(x.to("cuda"))
    """,
    "forward moves x": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x):
                return self.fc(x.to(self.fc.weight.device))
        class Net2(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x):
                return self.fc(x.cpu())
        Net()(x.cuda())
        Net2()(x.cuda())
    """,
    "external class": """
        import torch
        from torch import nn
        from models import Net
        net = Net(device)
        net(x.to(device))
    """,
    "torchvision quantized / weights .to in branch": """
        import torch
        import torchvision
        net = torchvision.models.resnet18()
        if args.gpu is not None:
            net = net.cuda(args.gpu)
        else:
            net = torch.nn.DataParallel(net).cuda()
        net(x.cuda())
    """,
    "conditional move w/ helper bool": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        if cfg.use_gpu:
            net.cuda()
            net.train()
        x = torch.randn(3, 3)
        if cfg.use_gpu:
            x = x.cuda()
        net(x)
    """,
    "fsdp": """
        import torch
        from torch import nn
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
        net = nn.Linear(3, 3)
        net = FSDP(net, device_id=0)
        net(x.cuda())
        net2 = nn.Linear(3, 3)
        fully_shard(net2)
        net2(x.cuda())
    """,
    "quant": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        net.share_memory()
        net.load_state_dict(torch.load("x"))
        qnet = torch.quantization.quantize_dynamic(net)
        qnet(x)
    """,
    "device arg of function": """
        import torch
        from torch import nn
        def run(net, x, device):
            return net(x.to(device))
        net = nn.Linear(3, 3)
        run(net, x, "cpu")
    """,
    "device arg of function 2": """
        import torch
        from torch import nn
        def run(net, x, device):
            net.to(device)
            net.train()
            return net(x.to(device))
        net = nn.Linear(3, 3)
        run(net, x, "cuda")
    """,
    "lazily moved": """
        import torch
        from torch import nn
        class T:
            def __init__(self):
                self.net = nn.Linear(3, 3)
            def to(self, device):
                self.net.to(device)
                self.net.train()
                self.device = device
                return self
            def step(self, x):
                return self.net(x.to(self.device))
        t = T()
        t.to("cuda")
        t.train()
        t.step(x)
    """,
    "moved in trainer.fit param": """
        import torch
        from torch import nn
        class T:
            def __init__(self, net, device):
                self.net = net
                self.device = device
            def fit(self, loader):
                self.net.to(self.device)
                self.net.train()
                for x, y in loader:
                    self.net(x.to(self.device))
            def predict(self, x):
                return self.net(x.to(self.device))
        T(nn.Linear(3, 3), "cuda").fit(l)
    """,
    "property net": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.device = device
                self._net = None
            @property
            def net(self):
                if self._net is None:
                    self._net = nn.Linear(3, 3).to(self.device)
                return self._net
            def go(self, x):
                return self.net(x.to(self.device))
    """,
    "embedding weight on cpu on purpose": """
        import torch
        from torch import nn
        emb = nn.Embedding(1000000, 64)
        net = nn.Linear(3, 3).cuda()
        for idx, y in loader:
            e = emb(idx).cuda()
            loss = F.mse_loss(net(e), y.cuda())
            loss.backward()
    """,
    "loop models in class": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.g = nn.Linear(3, 3)
                self.d = nn.Linear(3, 3)
                for m in [self.g, self.d]:
                    m.to(device)
                self.device = device
            def step(self, x):
                return self.d(self.g(x.to(self.device)))
    """,
    "self.models dict": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.models = {}
                self.models["enc"] = nn.Linear(3, 3)
                self.models["enc"].to(device)
                self.models["dec"] = nn.Linear(3, 3)
                self.models["dec"].to(device)
                self.device = device
            def step(self, x):
                return self.models["dec"](self.models["enc"](x.to(self.device)))
    """,
    "self.models dict 2": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.models = {"enc": nn.Linear(3, 3), "dec": nn.Linear(3, 3)}
                for k in self.models:
                    self.models[k].to(device)
                self.device = device
            def step(self, x):
                return self.models["dec"](self.models["enc"](x.to(self.device)))
    """,
    "setattr getattr": """
        import torch
        from torch import nn
        class T:
            def __init__(self, device):
                self.g = nn.Linear(3, 3)
                for name in ("g",):
                    getattr(self, name).to(device)
                self.device = device
            def step(self, x):
                return self.g(x.to(self.device))
    """,
    "inner fn": """
        import torch
        from torch import nn
        def main():
            net = nn.Linear(3, 3)
            def place():
                net.to("cuda")
                net.train()
            place()
            return net(x.to("cuda"))
    """,
    "global function": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        def place():
            global net
            net = net.to("cuda")
        place()
        net(x.to("cuda"))
    """,
    "global function 2": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        def place():
            net.to("cuda")
            net.train()
        def main():
            place()
            net(x.to("cuda"))
        if __name__ == "__main__":
            main()
    """,
    "global rebinding in main": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        def step(x):
            return net(x.to("cuda"))
        def main():
            global net
            net = net.cuda()
            step(x)
        main()
    """,
    "moved in place after def": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        def step(x):
            return net(x.cuda())
        net.cuda()
        net.train()
        step(x)
    """,
    "build_model returns tuple": """
        import torch
        from torch import nn
        def build(device):
            g = nn.Linear(3, 3)
            d = nn.Linear(3, 3)
            return g.to(device), d.to(device)
        g, d = build("cuda")
        g(x.to("cuda")); d(x.cuda())
    """,
    "build dict": """
        import torch
        from torch import nn
        def build():
            return {"g": nn.Linear(3, 3), "d": nn.Linear(3, 3)}
        nets = build()
        nets = {k: v.cuda() for k, v in nets.items()}
        nets["g"](x.cuda())
    """,
    "nn.ModuleDict": """
        import torch
        from torch import nn
        enc = nn.Linear(3, 3)
        nets = nn.ModuleDict({"a": enc, "b": nn.Linear(3, 3)}).cuda()
        nets["a"](x.cuda())
        enc(x.cuda())
    """,
    "ModuleList append": """
        import torch
        from torch import nn
        l1 = nn.Linear(3, 3)
        layers = nn.ModuleList()
        layers.append(l1)
        layers.to("cuda")
        l1(x.cuda())
    """,
    "Sequential list": """
        import torch
        from torch import nn
        l1 = nn.Linear(3, 3)
        layers = [l1, nn.ReLU()]
        net = nn.Sequential(*layers).cuda()
        l1(x.cuda())
    """,
    "add_module": """
        import torch
        from torch import nn
        net = nn.Sequential()
        l1 = nn.Linear(3, 3)
        net.add_module("l1", l1)
        net.to("cuda")
        net.train()
        net(x.cuda())
        l1(x.cuda())
    """,
    "net.l1 = l1 unknown net": """
        import torch
        from torch import nn
        l1 = nn.Linear(3, 3)
        net.l1 = l1
        net.to("cuda")
        net.train()
        l1(x.cuda())
    """,
    "weight norm wrappers": """
        import torch
        from torch import nn
        l = torch.nn.utils.weight_norm(nn.Linear(3, 3))
        l = l.to("cuda")
        l2 = nn.utils.spectral_norm(nn.Linear(3, 3)).cuda()
        l(x.cuda()); l2(x.cuda())
    """,
    "optim hooks & parameters moved": """
        import torch
        from torch import nn
        l = nn.Linear(3, 3)
        for p in l.parameters():
            p.data = p.data.cuda()
        l(x.cuda())
    """,
    "l.weight.data": """
        import torch
        from torch import nn
        l = nn.Linear(3, 3)
        l.weight.data = l.weight.data.to("cuda")
        l.bias.data = l.bias.data.to("cuda")
        l(x.cuda())
    """,
    "load_state_dict assign": """
        import torch
        from torch import nn
        with torch.device("meta"):
            l = nn.Linear(3, 3)
        l.load_state_dict(torch.load("x", map_location="cuda"), assign=True)
        l(x.cuda())
    """,
    "context fresh: torch.load": """
        import torch
        net = torch.load("m.pt", map_location="cuda")
        net(x.cuda())
    """,
    "jit": """
        import torch
        net = torch.jit.load("m.pt").cuda()
        net2 = torch.jit.trace(nn.Linear(3,3), x).cuda()
        net(x.cuda())
    """,
    "functional call x stays": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3)
        x = torch.zeros(3).cuda()
        torch.func.functional_call(net, params, (x,))
    """,
    "stateless deep copy to": """
        import torch, copy
        from torch import nn
        net = nn.Linear(3, 3)
        gpu_net = copy.deepcopy(net).to("cuda")
        gpu_net(x.cuda())
        net(x)
    """,
    "host eval model and gpu train model": """
        import torch, copy
        from torch import nn
        net = nn.Linear(3, 3)
        clone = copy.deepcopy(net)
        clone.cuda()
        a = clone(x.cuda())
        b = net(x)
        c = a.cpu() - b
    """,
    "with autocast & fp16": """
        import torch
        from torch import nn
        net = nn.Linear(3, 3).half().to("cuda").eval()
        net2 = nn.Linear(3, 3)
        net2 = net2.to(device="cuda", dtype=torch.float16)
        net2.apply(init)
        net(x.cuda()); net2(x.cuda())
    """,
    "module in ModuleList of class in file": """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.l = nn.Linear(d, d)
            def forward(self, x): return self.l(x)
        class Net(nn.Module):
            def __init__(self, blocks):
                super().__init__()
                self.blocks = nn.ModuleList(blocks)
            def forward(self, x):
                for b in self.blocks: x = b(x)
                return x
        bs = [Block(3) for _ in range(3)]
        b0 = bs[0]
        net = Net(bs)
        net.to("cuda")
        net.train()
        b0(x.cuda())
        net(x.cuda())
    """,
    "multiprocess": """
        import torch
        from torch import nn
        def worker(rank, net):
            net = net.to(rank)
            net(x.to(rank))
        net = nn.Linear(3, 3)
        torch.multiprocessing.spawn(worker, args=(net,))
    """,
    "with torch.device as ctx var": """
        import torch
        from torch import nn
        dev = torch.device("cuda")
        with dev:
            net = nn.Linear(3, 3)
        net(x.to(dev))
    """,
    "factory_kwargs": """
        import torch
        from torch import nn
        kw = {"device": "cuda", "dtype": torch.float32}
        net = nn.Linear(3, 3, **kw)
        net(x.to("cuda"))
    """,
    "class with factory_kwargs": """
        import torch
        from torch import nn
        class L(nn.Module):
            def __init__(self, d, device=None, dtype=None):
                super().__init__()
                fk = {"device": device, "dtype": dtype}
                self.w = nn.Parameter(torch.empty(d, **fk))
                self.l = nn.Linear(d, d, **fk)
            def forward(self, x): return self.l(x) * self.w
        net = L(3, device="cuda")
        net(x.to("cuda"))
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(dedent(program) + RUN) == ()


IMPORTS = "import torch\nfrom torch import nn\n\noptimizer = torch.optim.SGD(weights, lr=0.1)\n"
HEAD = IMPORTS + 'device = torch.device("cuda")\n'

CLASS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        return self.fc(x)
"""

FIXES = {
    "where it is built": (
        "net = nn.Linear(3, 3)\nout = net(x.to(device))\n",
        "net = nn.Linear(3, 3).to(device)\nout = net(x.to(device))\n",
    ),
    "a class of the file": (
        CLASS + "net = Net()\nout = net(x.to(device))\n",
        CLASS + "net = Net().to(device)\nout = net(x.to(device))\n",
    ),
    "in a function": (
        "def main(device):\n    net = nn.Linear(3, 3)\n    return net(x.to(device))\n",
        "def main(device):\n    net = nn.Linear(3, 3).to(device)\n    return net(x.to(device))\n",
    ),
    "by a literal": (
        'net = nn.Linear(3, 3)\nout = net(x.to("cuda:1"))\n',
        'net = nn.Linear(3, 3).to("cuda:1")\nout = net(x.to("cuda:1"))\n',
    ),
    "one of two": (
        "net = nn.Linear(3, 3).to(device)\nother = nn.Linear(3, 3)\nout = other(net(x.to(device)))\n",
        "net = nn.Linear(3, 3).to(device)\nother = nn.Linear(3, 3).to(device)\nout = other(net(x.to(device)))\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_moves_the_module(rule, before: str, after: str) -> None:
    assert rule.fixed(HEAD + before) == HEAD + after


def test_a_style_without_a_name(rule) -> None:
    before = IMPORTS + "net = nn.Linear(3, 3)\nout = net(x.cuda())\n"
    assert rule.fixed(before) == before.replace("(3, 3)", "(3, 3).cuda()")


def test_after_the_device_gets_its_name(rule) -> None:
    line = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    program = IMPORTS + f"net = nn.Linear(3, 3)\n{line}out = net(x.to(device))\n"
    assert rule.fixed(program) == program.replace(line, line + "net.to(device)\n")


def test_in_an_object(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Trainer:
            def __init__(self, device):
                self.device = device
                self.net = nn.Linear(3, 3)
            def step(self, x):
                with torch.no_grad():
                    return self.net(x.to(self.device))
    """
    assert "self.net = nn.Linear(3, 3).to(self.device)\n" in rule.unchanged_unless_unsafe(program)


def test_the_finding_names_birth_and_call(rule) -> None:
    finding = rule.finding(HEAD + FIXES["where it is built"][0])
    assert finding.message == "`nn.Linear(3, 3)` stays on the host, but meets `x.to(device)` on `device` in `net`"
    assert (finding.origin.line, finding.span.line) == (6, 7)
    assert [one.span.line for one in finding.trail] == [6, 7]
    assert finding.fix.safety is Safety.SAFE


def test_one_finding_for_one_module(rule) -> None:
    program = HEAD + "net = nn.Linear(3, 3)\na = net(x.to(device))\nb = net(y.to(device))\n"
    assert len(rule.findings(program)) == 1


def test_columns_after_wide_characters(rule) -> None:
    line = "ä = 'ß'; größe = nn.Linear(3, 3); y = größe(x.to(device))\r\n"
    program = (HEAD.replace("\n", "\r\n") + line).encode()
    assert rule.fixed(program).endswith(line.replace("(3, 3)", "(3, 3).to(device)"))


@pytest.mark.parametrize(
    "body",
    [
        "tf = Resample(8000, 16000).to(x.device)\n    return tf(x)",
        "tf = Resample(8000, 16000)\n    tf.to(x.device)\n    return tf(x)",
        "tf = torch.nn.ReLU()\n    return tf(x)",
        "tf = Resample(8000, 16000)\n    return tf(x.cpu())",
        "x = torch.squeeze(x.cpu())\n    tf = Resample(8000, 16000)\n    return tf(x)",
        "x = torchaudio.load(x)\n    tf = Resample(8000, 16000)\n    return tf(x)",
        "x = load(x)\n    tf = Resample(8000, 16000)\n    return tf(x)",
        "tf = Resample(8000, 16000)\n    return tf",
        "x = x.cpu()\n    tf = Resample(8000, 16000)\n    return tf(x)",
        "tf = Resample(8000, 16000)\n    return tf(torch.zeros(3))",
    ],
)
def test_fresh_modules_that_need_no_move(rule, body):
    program = (
        f"import torch\nfrom torchaudio.transforms import Resample\nmodel.cuda().to('cuda')\ndef f(x):\n    {body}\n"
    )
    assert rule.findings(program) == ()


def test_fresh_module_goes_where_its_input_is(rule):
    fixed = rule.fixed("""
        import torch
        from torchaudio.transforms import Resample
        y = torch.zeros(1).to("cuda")
        def resampled(waves: torch.Tensor, count):
            resample = Resample(8000, 16000)
            for i in range(count):
                wave = waves[i].float()
                yield resample(wave)
    """)
    assert "resample = Resample(8000, 16000).to(waves.device)" in fixed


def test_fresh_module_whose_result_takes_the_name_of_its_input(rule):
    fixed = rule.fixed("""
        import torch
        import torchaudio
        y = torch.zeros(1).to("cuda")
        def compared(waves, others, lengths):
            waves = torch.squeeze(waves, dim=-1)
            resample = torchaudio.transforms.Resample(8000, 16000)
            for i in range(4):
                wave = waves[i, : lengths[i]]
                other = others[i, : lengths[i]]
                wave, other = resample(wave), resample(other)
                yield wave - other
    """)
    assert "resample = torchaudio.transforms.Resample(8000, 16000).to(waves.device)" in fixed


def test_module_built_in_a_method_goes_where_its_input_was_moved(rule):
    fixed = rule.fixed("""
        import torch
        import torchaudio
        class Separator(torch.nn.Module):
            def load(self, path):
                wave, rate = torchaudio.load(path)
                wave = wave.to(self.device)
                resample = torchaudio.transforms.Resample(rate, 16000)
                wave = wave.mean(dim=0)
                return resample(wave)
            def load_first(self, path):
                resample = torchaudio.transforms.Resample(8000, 16000)
                wave, rate = torchaudio.load(path)
                return resample(wave.to(self.device))
    """)
    assert "resample = torchaudio.transforms.Resample(rate, 16000).to(self.device)" in fixed
    assert "resample = torchaudio.transforms.Resample(8000, 16000).to(self.device)\n" in fixed


@pytest.mark.parametrize(
    "body",
    [
        "return nn.Linear(3, 4).to(x.device)(x)",
        "return nn.Linear(3, 4, device=x.device)(x)",
        "return nn.ReLU()(x)",
        "return nn.CrossEntropyLoss()(x)",
        "y = torch.ones(3)\n    return nn.Linear(3, 4)(y)",
        "x = x.cpu()\n    return nn.Linear(3, 4)(x)",
        "return nn.Linear(3, 4)(torch.ones(3))",
        "return [nn.Linear(3, 4)(y) for y in x]",
        "y = load()\n    return nn.Linear(3, 4)(y)",
        "y, rate = load(x)\n    return nn.Linear(3, 4)(y)",
        "y = self.load(x)\n    return nn.Linear(3, 4)(y)",
    ],
)
def test_modules_called_where_they_are_built_that_need_no_move(rule, body):
    assert rule.findings(f"import torch\nfrom torch import nn\ndef f(x):\n    {body}\n") == ()
    assert rule.findings("import torch\nfrom torch import nn\ndef test_f(x):\n    nn.Linear(3, 4)(x)\n") == ()


def test_modules_that_are_called_one_after_the_other_go_together(rule):
    fixed = rule.fixed(
        """
        import torchaudio
        def reduce(noisy, threshold=0.2):
            spectrum = torchaudio.transforms.Spectrogram()(noisy)
            kept = spectrum * (spectrum > threshold)
            return torchaudio.transforms.GriffinLim()(kept)
    """,
        unsafe=True,
    )
    assert "Spectrogram().to(noisy.device)(noisy)" in fixed
    assert "GriffinLim().to(kept.device)(kept)" in fixed


OFFLOADED = """
    import torch
    from torch import nn

    def offload(net, device):
        for one in net.modules():
            one.home = device
        return net

    def run(x):
        device = torch.device("cuda", 0)
        net = nn.Linear(3, 3)
        {before}
        {after}
        return net(x.to(device))
"""


@pytest.mark.parametrize("after", ["net = offload(net, device)", "net.eval()"])
def test_what_the_code_has_taken_to_the_host_itself(rule, after: str) -> None:
    before = 'net.to(device)\n        print(net(x.to(device)))\n        net.to("cpu")'
    assert rule.findings(OFFLOADED.format(before=before, after=after)) == ()


def test_module_called_where_it_is_built_goes_where_its_input_is(rule):
    fixed = rule.unchanged_unless_unsafe("""
        from torch import nn
        class Net(nn.Module):
            def forward(self, xs):
                out = []
                for i, x in enumerate(xs):
                    out.append(nn.Linear(x.size(1), 4, bias=False)(x))
                y = self.head(out)
                return nn.Linear(y.size(1), 1)(y)
    """)
    assert "nn.Linear(x.size(1), 4, bias=False).to(x.device)(x)" in fixed
    assert "nn.Linear(y.size(1), 1).to(y.device)(y)" in fixed


TRAINER = """
    import torch
    from torch import nn
    from settings import DEVICE
    class Trainer:
        def __init__(self, model, device=None):
            self.model = {kept}
            self.device = device
        def train(self, loader):
            self.model.train()
            for x, y in loader:
                x, y = x.to({target}), y.to({target})
                loss = self.loss(self.model(x), y)
                loss.backward()
"""


@pytest.mark.parametrize(
    ("kept", "target"), [("model.to(DEVICE)", "DEVICE"), ("model", "self.device"), ("wrap(model)", "DEVICE")]
)
def test_kept_models_that_need_no_move(rule, kept, target):
    assert rule.findings(TRAINER.format(kept=kept, target=target)) == ()


def test_kept_model_goes_where_its_batches_go(rule):
    program = TRAINER.format(kept="model", target="DEVICE")
    assert "self.model = model\n        model.to(DEVICE)\n" in rule.unchanged_unless_unsafe(program)


JUDGE = """
    import torch
    from helpers import batch_to_device
    class Judge:
        def __init__(self, loader, head{default}):
            self.loader = loader
            self.device = {device}
            self.head = {kept}
        def __call__(self):
            for batch in self.loader:
                features = {brought}
                with torch.no_grad():
                    scores = self.head({given})
"""
CHOSEN = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
BROUGHT = "batch_to_device(batch, self.device)"


@pytest.mark.parametrize(
    ("device", "kept", "brought", "given"),
    [
        ("device", "head", BROUGHT, "features"),
        ("head.device", "head", BROUGHT, "features"),
        (CHOSEN, "head.to(self.device)", BROUGHT, "features"),
        (CHOSEN, "wrap(head)", BROUGHT, "features"),
        (CHOSEN, "head", "batch_to_device(batch, 'cpu')", "features"),
        (CHOSEN, "head", "collate(batch, self.device)", "features"),
        (CHOSEN, "head", BROUGHT, "batch"),
    ],
)
def test_what_a_helper_brings_elsewhere_or_to_another(rule, device, kept, brought, given) -> None:
    program = JUDGE.format(default="", device=device, kept=kept, brought=brought, given=given)
    assert rule.findings(program) == ()


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("", "        self.head = head\n        head.to(self.device)\n"),
        ("=None", "        self.head = head\n        if head is not None:\n            head.to(self.device)\n"),
    ],
)
def test_a_kept_model_goes_where_a_helper_brings_its_batches(rule, default, expected) -> None:
    program = JUDGE.format(default=default, device=CHOSEN, kept="head", brought=BROUGHT, given="features")
    assert expected in rule.unchanged_unless_unsafe(program)


FAMILY = """
    import torch
    from torch import nn
    import lab
    class Embeddings(nn.Module):
        pass
    class Words(Embeddings):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            {sibling}
    class Letters({base}):
        def __init__(self):
            super().__init__()
            self.table = {table}
            self.size = 4
        def embed(self, words):
            ids = torch.tensor([len(one) for one in words]){placed}
            return self.table(ids)
"""
OWN = "self.to(lab.device)"
GUARDED = "if torch.cuda.is_available():\n                self.cuda()"


@pytest.mark.parametrize(
    ("sibling", "base", "table", "placed"),
    [
        ("pass", "Embeddings", "nn.Embedding(10, 4)", ".to(lab.device)"),
        (OWN, "nn.Module", "nn.Embedding(10, 4)", ".to(lab.device)"),
        (OWN, "Embeddings", "nn.Embedding(10, 4).to(lab.device)", ".to(lab.device)"),
        (OWN, "Embeddings", "nn.ReLU()", ".to(lab.device)"),
        (OWN, "Embeddings", "make()", ".to(lab.device)"),
        (OWN, "Embeddings", "nn.Embedding(10, 4)", ""),
        (OWN, "Embeddings", "nn.Embedding(10, 4)", ".to(self.table.weight.device)"),
        ("self.to(self.device)", "Embeddings", "nn.Embedding(10, 4)", ".to(self.device)"),
        (GUARDED, "Embeddings", "nn.Embedding(10, 4)", ".to(lab.device)"),
    ],
)
def test_modules_of_no_family_or_that_place_nothing(rule, sibling, base, table, placed) -> None:
    program = FAMILY.format(sibling=sibling, base=base, table=table, placed=placed)
    assert rule.findings(program) == ()


def test_families_that_move_in_several_ways(rule) -> None:
    program = FAMILY.format(sibling=OWN, base="Embeddings", table="nn.Embedding(10, 4)", placed=".to(lab.device)")
    other = "    class Others(Embeddings):\n        def __init__(self):\n            self.to(lab.second)\n"
    assert rule.findings(program + other) == ()


@pytest.mark.parametrize(
    ("sibling", "table", "placed", "expected"),
    [
        (OWN, "nn.Embedding(10, 4)", ".to(lab.device)", "        self.to(lab.device)\n"),
        (OWN, "nn.Embedding.from_pretrained(vectors())", ".to(lab.device)", "        self.to(lab.device)\n"),
        (
            GUARDED,
            "nn.Embedding(10, 4)",
            ".cuda()",
            "        if torch.cuda.is_available():\n            self.cuda()\n",
        ),
    ],
)
def test_a_module_that_stays_behind_its_family(rule, sibling, table, placed, expected) -> None:
    program = FAMILY.format(sibling=sibling, base="Embeddings", table=table, placed=placed)
    assert f"        self.size = 4\n{expected}" in rule.unchanged_unless_unsafe(program)


ENGINE = """
    import torch
    from torch import nn
    from ignite.engine import create_supervised_trainer
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
    def run():
        flag = torch.cuda.is_available()
        device = "cuda" if flag else "cpu"
        model = {model}
        {between}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return create_supervised_trainer(model, optimizer, nn.MSELoss(){given})
"""


@pytest.mark.parametrize(
    ("model", "between", "given"),
    [
        ("Net()", "pass", ""),
        ("Net().to(device)", "pass", ", device=device"),
        ("Net()", "model.to(device)", ", device=device"),
        ("Net()", "model = wrap(model)", ", device=device"),
        ("Net()", "prepare(model)", ", device=device"),
        ("load()", "pass", ", device=device"),
        ("Net()", "pass", ", device=other"),
    ],
)
def test_models_of_engines_that_need_no_move(rule, model, between, given) -> None:
    assert rule.findings(ENGINE.format(model=model, between=between, given=given)) == ()


def test_an_engine_moves_batches_only(rule) -> None:
    program = ENGINE.format(model="Net()", between="pass", given=", device=device")
    assert "    model = Net().to(device)\n    pass\n" in rule.fixed(program)


def test_a_part_of_a_model(rule) -> None:
    program = """
        import torch
        from torchvision import models
        class Distance:
            def __init__(self, device):
                self.part = models.vgg16(weights=None).features[:16].eval()
                self.device = device
            def __call__(self, x):
                x = x.to(self.device)
                return self.part(x)
    """
    program = rule.unchanged_unless_unsafe(program)
    assert "models.vgg16(weights=None).to(device).features[:16].eval()\n" in program


def test_what_takes_a_model_apart_is_where_that_is(rule):
    program = """
        from torch import nn
        from torchvision.models.feature_extraction import create_feature_extractor

        def main(device, loader):
            net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            net.eval()
            taps = create_feature_extractor(net, return_nodes=["0"])
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                print(taps(x))

        main("cuda", [])
    """
    assert "net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(device)\n" in rule.fixed(program)


BRANCHES = """
    import torch
    from torchvision.models import resnet18, resnet50

    class Detector:
        def __init__(self, name):
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            if name == "small":
                self.model = resnet18(pretrained=True)
            elif name == "big":
                self.model = resnet50(pretrained=True)
            else:
                raise ValueError(name)
            {move}
            self.model.eval()

        def restore(self, name):
            self.__init__(name)
            self.model.load_state_dict(torch.load(name))

        def predict(self, x):
            with torch.no_grad():
                return self.model(x.to(self.device))
"""


@pytest.mark.parametrize("move", ["self.model.to(self.device)", "self.model = self.model.to(self.device)"])
def test_branches_that_build_what_is_moved_below_them(rule, move: str) -> None:
    assert rule.findings(BRANCHES.format(move=move)) == ()


@pytest.mark.parametrize(
    ("kind", "told"), [("torch.float16", 1), ("'torch.FloatTensor'", 0), ("torch.DoubleTensor", 0)]
)
def test_a_type_of_the_host_is_a_choice_of_the_host(rule, kind: str, told: int) -> None:
    """As `.cpu()` is. A move before the type would be taken back by it."""
    program = f"""
        import torch
        from torch import nn

        def score(loader):
            net = nn.Linear(3, 3).type({kind})
            for x in loader:
                print(net(x.cuda()))
    """
    assert len(rule.findings(dedent(program) + RUN)) == told


GIVEN = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
        def forward(self, x):
            return self.fc(x)

    def fit(model, loader, optimizer):
        {first}
        {second}
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    def main(rows):
        model = {made}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        fit({given}, DataLoader(rows), optimizer)
"""
PICKED = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def _given(first: str = "model.train()", second: str = PICKED, made: str = "Net()", given: str = "model") -> str:
    return GIVEN.format(first=first, second=second, made=made, given=given)


@pytest.mark.parametrize(("first", "second"), [("model.train()", PICKED), (PICKED, "model.train()")])
def test_moved_where_the_function_that_is_given_it_has_a_device(rule, first: str, second: str) -> None:
    after = rule.fixed(_given(first, second), unsafe=True)
    assert after.count("model.to(device)") == 1
    assert f"{PICKED}\n    model.to(device)\n" in after


def test_what_several_functions_are_given_is_moved_in_the_first(rule) -> None:
    evaluate = _given().partition("    def main")[0].partition("    def fit")[2].replace("(model", "_all(model", 1)
    program = _given().replace("    def main", f"    def test{evaluate}\n    def main")
    after = rule.fixed(f"{program}        test_all(model, DataLoader(rows), optimizer)\n", unsafe=True)
    assert after.count("model.to(device)") == 1


@pytest.mark.parametrize(
    ("first", "second", "made", "given"),
    [
        (PICKED, "model.to(device)", "Net()", "model"),
        (PICKED, "model.train()", 'Net().to("cuda" if torch.cuda.is_available() else "cpu")', "model"),
        (PICKED, "model.train()", "Net()", 'model.to("cuda" if torch.cuda.is_available() else "cpu")'),
        ('device = torch.device("cpu")', "model.train()", "Net()", "model"),
        ("device = next(model.parameters()).device", "model.train()", "Net()", "model"),
    ],
)
def test_given_to_functions_where_it_is(rule, first: str, second: str, made: str, given: str) -> None:
    assert rule.findings(_given(first, second, made, given)) == ()


def test_no_move_behind_a_use(rule) -> None:
    assert all(one.fix is None for one in rule.findings(_given("print(model(torch.zeros(3)))", PICKED)))


@pytest.mark.parametrize(("named", "safe"), [("", True), ("\n    def steps():\n        return [fit]\n", False)])
def test_what_others_may_give_a_function_is_not_surely_to_be_moved(rule, named: str, safe: bool) -> None:
    (found,) = rule.safeties(_given() + named)
    assert (found is Safety.SAFE) is safe


def test_what_a_module_gives_is_no_module(rule) -> None:
    program = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
        def forward(self, x):
            return self.fc(x)

    def weighted(outputs, weights):
        seen = outputs[:, 0]
        mask = (seen > 0).bool()
        return -weights[mask] * torch.log(seen[mask])

    def main(rows, weights):
        x = torch.tensor(rows, dtype=torch.float32)
        w = torch.tensor(weights, dtype=torch.float32)
        model = Net()
        for i in range(0, 9, 3):
            outputs = model(x[i:i + 3])
            weighted(outputs, w[i:i + 3]).sum().backward()
    """
    assert all("outputs.to(" not in repr(one.fix) for one in rule.findings(program))


@pytest.mark.parametrize(
    "to_host",
    ["net.type(torch.FloatTensor)", "net = net.type('torch.FloatTensor')", "net.eval().type(torch.FloatTensor)"],
)
@pytest.mark.parametrize("moved", ["net.to(device)", "net = net.to(device)"])
def test_a_type_of_the_host_takes_a_module_back(to_host: str, moved: str) -> None:
    code = f"""
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = torch.nn.Linear(3, 3)
        {moved}
        {to_host}
        print(net(torch.ones(2, 3)))
    """
    outcome = check(Source("train.py", dedent(code).encode()), Options(frozenset({"DVF104", "DVF202"})))
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()


def test_a_choice_in_a_script_is_moved_behind_it_and_not_behind_the_script(rule) -> None:
    program = """
import argparse
import torch
from zoo import deep, wide
parser = argparse.ArgumentParser()
args = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def fit(loader):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        torch.nn.functional.cross_entropy(model(x), y).backward()

if __name__ == "__main__":
    if args.deep:
        model = deep.Net(3)
    elif args.wide:
        model = wide.Net(4)
    else:
        model = wide.Net(5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(load())
    print("done")
"""
    moved = program.replace("    optimizer =", "    model.to(device)\n    optimizer =")
    assert rule.fixed(program, unsafe=True) == moved


BUILT = """
import torch
from torch import nn

def build(n):
    layers = [nn.Linear(n, n) for _ in range(2)]
    return nn.Sequential(*layers)

def fit(loader, device):
    student = build(4).to(device)
    teacher = build(4)
    for x in loader:
        x = x.to(device)
        loss = (student(x) - teacher(x)).pow(2).mean()
        loss.backward()
"""


@pytest.mark.parametrize("device", ["device", "0"])
def test_what_a_function_makes_for_two_is_moved_where_the_second_gets_it(rule, device: str) -> None:
    program = BUILT.replace(".to(device)", f".to({device})")
    assert rule.fixed(program, unsafe=True) == program.replace("teacher = build(4)", f"teacher = build(4).to({device})")


def test_what_a_function_makes_for_one_is_moved_where_it_is_made(rule) -> None:
    program = BUILT.replace("build(n)", "build(n, device)").replace("build(4)", "build(4, device)")
    program = program.replace(
        "    student = build(4, device).to(device)\n", "    student = nn.Linear(4, 4).to(device)\n"
    )
    assert "return nn.Sequential(*layers).to(device)\n" in rule.fixed(program, unsafe=True)
