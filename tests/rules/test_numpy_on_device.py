"""DVF402: tensors that may be on a device, and readers that know only the host."""

from pathlib import Path
from textwrap import dedent

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF402"

SILENT = {
    "computed of plain values, by functions that are kept": """
        import torch
        import torch.nn.functional as F
        class Poisson(Base):
            def __init__(self, transform):
                self.transform = transform
            def evaluate(self, y, predictions):
                target = torch.tensor(y, dtype=torch.float32)
                values = torch.tensor(predictions, dtype=torch.float32)
                rate = self.transform(values[:, 0])
                return F.mse_loss(rate, target).detach().numpy(), F.l1_loss(target, rate).detach().numpy()
    """,
    "the data of an image of torchio": """
        import torch
        import torchio as tio
        def bias(subject: tio.Subject, device):
            subject = tio.RandomBiasField()(subject)
            return subject.image.data.squeeze().numpy(), subject["image"].data.numpy()
    """,
    "the parameters of a module that the function builds": """
        import torch
        from torch import nn
        def start(size):
            net = nn.Linear(size, size)
            named = dict(net.named_parameters())
            return [one.detach().numpy() for one in net.parameters()], named["weight"].detach().numpy()
    """,
    "in the branches of a flag": """
        import numpy as np
        import torch
        class Trainer:
            def step(self, x):
                out = self.model(x.to(self.where))
                if self.is_gpu:
                    rows = torch.max(out, 1)[1].cpu().data.numpy()
                else:
                    rows = torch.max(out, 1)[1].data.numpy()
                return rows
            def short(self, x, on_gpu):
                out = self.model(x)
                rows = out.detach().numpy() if not on_gpu else out.detach().cpu().numpy()
                if on_gpu and x.dim() > 1:
                    out = out.cpu()
                return rows, out.detach().numpy()
            def early(self, x):
                out = self.model(x)
                if self.use_gpu:
                    return out.detach().cpu().numpy()
                return out.detach().numpy()
    """,
    "pinned memory": """
        import numpy as np
        import torch
        def read(staged, rows: torch.Tensor, device):
            rows.to(device)
            if staged.pinned:
                return staged.data[:3].numpy()
            return rows.numpy() if rows.is_pinned() else rows.cpu().numpy()
    """,
    "given to a module that is made for it": """
        import torch
        from torch import nn
        def predict(net, x, device):
            logits = net(x.to(device))
            rows = torch.nn.Softmax()(logits.cpu().squeeze()).detach().numpy()
            cost = nn.MSELoss(reduction="none")(logits.cpu()[0], x).detach().numpy()
            soft = nn.Softmax(dim=-1)
            return rows, cost, soft(logits.cpu().squeeze()).detach().numpy()
    """,
    "given by what gets only what is made on the host": """
        import numpy as np
        import torch
        def evaluate(grid, size):
            x, y = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="xy")
            xy = torch.stack([x, y], dim=2).view(-1, 2)
            rows = np.empty((size, 3))
            rows[:, 1] = grid(torch.cat((xy, xy[:1])), chunk=3).detach().numpy()
            rows[:, 2] = grid(xy).squeeze().detach().numpy()
            return rows
    """,
    "in a function for the host": """
        import torch
        def _sample_cpu(grid, out):
            return grid.detach().numpy(), out.numpy()
        def _sample(grid):
            return grid.detach().numpy()
        def sample(grid, device):
            if grid.device.type == "cpu":
                return _sample(grid)
            return fast(grid.to(device))
    """,
    "brought to the host where the device is another": """
        import torch
        HOST = "cpu"
        def run(model, x, device):
            out = model(torch.from_numpy(x).to(device))
            if device != HOST:
                out = out.to(HOST)
            return out.numpy()
        def predict(self, x):
            out = self.model(x.to(self.device))
            if self.use_cuda:
                out = out.cpu()
            rows = out.numpy() if x.dim() else None
            return rows
    """,
    "arrays that are written to, which a copy would swallow": """
        import numpy as np
        import torch
        def fill(model, x, rows, device):
            out = model(x.to(device))
            out.detach().numpy()[:] = rows
            out.detach().numpy()[0] += 1
            out.detach().numpy().fill(0)
            np.copyto(out.detach().numpy(), rows)
            np.add(rows, 1, out=out.detach().numpy())
    """,
    "tensors of nobody knows what library": """
        import numpy as np
        from .tensor import Tensor
        from . import device
        def largest(tensor: Tensor, rows):
            rows[:] = np.maximum(rows, tensor.numpy()[:])
            return tensor.numpy()
    """,
    "brought to the host before": """
        import torch
        def run(model, x, device):
            a = model(x).cpu().numpy()
            b = model(x).detach().cpu().float().clamp_(0, 1).numpy()
            c = model(x).to("cpu").detach().numpy()
            d = model(x).to(torch.device("cpu"), torch.float32).numpy()
            out = model(x).cpu()
            e = out.squeeze().detach().numpy()
    """,
    "given by a model that was taken to the host": """
        import torch
        def run(model, x):
            model = model.to(torch.device("cpu"))
            model.eval()
            x = torch.tensor(x).to(torch.device("cpu"), dtype=torch.int64)
            return model(x, mask=x > 0)[0].detach().numpy()
        def export(model, x):
            model.cuda()
            fit(model, x.cuda())
            model.cpu()
            return model.forward(x).detach().numpy()
        def show(model, path):
            device = torch.device("cpu")
            model.to(device)
            return model(torch.load(path)).detach().numpy()
    """,
    "given by a model that gets what was taken to the host": """
        import torch
        def run(model, batch, device):
            batch = batch.to("cpu")
            return model(batch).detach().numpy()
    """,
    "lists that all callers in the file fill on the host": """
        from typing import List
        import torch
        class Trainer:
            def evaluate(self, loader, device):
                outputs, targets = list(), []
                for x, y in loader:
                    outputs.append(self.model(x.to(device)).detach().cpu())
                    targets.append(y.to(device).cpu())
                return self.metrics(outputs, targets), self.metrics(targets=targets, outputs=outputs)
            def metrics(self, outputs: List[torch.Tensor], targets: List[torch.Tensor]):
                return score(torch.cat(outputs, dim=0).numpy(), torch.cat(targets, dim=0).numpy())
    """,
    "what a trainer gives that is no module": """
        import torch
        from trainer import Trainer
        def run(trainer):
            history = trainer.train(epochs=3, device="cuda")
            features, labels = trainer.extract(trainer.loader)
            return features.numpy(), labels.numpy()
    """,
    "given by a model for what was made on the host": """
        import torch
        def predictor(broadcast, device):
            def predict(data):
                features = torch.from_numpy(data.reshape((1, len(data)))).float()
                model = broadcast.value
                return model(features).detach().numpy().flatten()
            return predict
        class Runner:
            def run(self, rows):
                batch = torch.tensor([[float(one) for one in rows]])
                return self.model.forward(batch).detach().numpy(), self.net(torch.zeros(1, 3)).detach().numpy()
    """,
    "given in a script by a model for what was made on the host": """
        import torch
        import matplotlib.pyplot as plt
        def train(model, device):
            model.to(device)
        layer = load_layer("w.pt")
        x = torch.randn(4, 16)
        y = layer(x)
        plt.hist(y.flatten().detach().numpy(), bins=60)
    """,
    "given by a model for what was an array": """
        import numpy as np
        import torch
        def export(path, load, device):
            array = load(path)
            np.save("input.npy", array)
            image = torch.tensor(array).float()
            net, options = load_net(path)
            out = net(image)
            np.save("style.npy", out[1].detach().numpy())
    """,
    "the model is built here, and the file says the host": """
        from hashlib import sha256
        import torch
        from nets import Net
        def other(model, device):
            return model.to(device)
        def train(config, lr, report):
            model = Net(hidden=3)
            start = sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
            report({"device": "cpu", "start": start})
    """,
    "brought to the host on some path": """
        import torch
        def run(model, x, device):
            out = model(x)
            if out.is_cuda:
                out = out.cpu()
            return out.detach().numpy()
    """,
    "given back where the caller's tensor was": """
        import numpy as np
        import torch
        from tools import get_device
        def separate(model, wav):
            before = get_device(wav, default="cpu")
            out = model(wav.to(get_device(model)))
            return out.to(before)
        def separate_array(model, wav: np.ndarray):
            wav = torch.from_numpy(wav)
            out = separate(model, wav)
            return out.data.numpy()
    """,
    "lists of what was brought to the host, of numbers, or of more than tensors": """
        import numpy as np
        import torch
        def run(model, loader, device):
            model.eval()
            a, b, c, d = [], [], [], []
            for x in loader:
                out = torch.softmax(model(x.to(device)), -1)
                a.append(out.cpu())
                b.append(out.mean().item())
                c.append(out.cpu() if x is None else x)
                d.append(out)
            d = [one.cpu() for one in d]
            e = torch.stack([out, out]).cpu()
            return np.concatenate(a), np.mean(b), np.array(c), np.stack(d), np.array([out.shape, len(out)]), np.mean(e)
    """,
    "a move whose result is thrown away is another rule's": """
        import torch
        def run(model, x, device):
            out = model(x)
            out.cpu()
            return out.detach().numpy()
    """,
    "on a branch that asks where it is": """
        import torch
        def run(model, x):
            out = model(x)
            return out.detach().numpy() if out.device.type == "cpu" else out.detach().cpu().numpy()
    """,
    "made on the host": """
        import numpy as np
        import torch
        device = torch.device("cuda")
        a = torch.zeros(3, requires_grad=True).detach().numpy()
        b = torch.from_numpy(np.ones(3)).float().numpy()
        c = torch.cat([torch.zeros(1), torch.ones(2)]).numpy()
        d = torch.stack([torch.tensor(1.0), torch.tensor(2.0)]).mean().detach().numpy()
        e = torch.load("x.pt", map_location="cpu").numpy()
        f = (torch.rand(3) * 2 + 1).numpy()
    """,
    "attributes made on the host": """
        import torch
        class Buffer:
            def __init__(self, device):
                self.values = torch.zeros(8)
            def read(self):
                return self.values.detach().numpy()
    """,
    "an attribute that is called data": """
        import torch
        class Image:
            def __init__(self, path, device):
                self.data = read(path)
            def array(self):
                return self.data.numpy()
    """,
    "no tensor": """
        import torch
        def constant(dtype, device):
            return dtype.numpy()
    """,
    "entries of what is given": """
        import torch
        def postprocess(outputs, device):
            return outputs["logits"][0].numpy()
    """,
    "data": """
        import torch
        from torch.utils.data import Dataset
        class Images(Dataset):
            def __getitem__(self, i):
                return self.encoder(self.images[i]).detach().numpy()
        class Flip(torch.nn.Module):
            pass
        class ToArrayTransform:
            def __call__(self, image: torch.Tensor, device):
                return image.numpy()
        def collate_images(images: torch.Tensor, device):
            return images.numpy()
    """,
    "batches as the loader gives them": """
        import torch
        def collect(loader, device):
            return [labels.numpy() for _ in range(3) for images, labels in loader]
        def walk(loader, device):
            for labels in loader:
                yield labels.numpy()
    """,
    "tensors of another framework": """
        import tensorflow as tf
        import torch
        def run(model, x, device):
            return model(x).numpy()
    """,
    "a script without devices": """
        import torch
        net = torch.nn.Linear(2, 2)
        print(net(torch.zeros(2)).detach().numpy())
    """,
    "functions of numpy that ask the tensor's own methods": """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader
        for x in DataLoader(data):
            x = x.to("cuda").view(-1)
            errors.append(np.mean(x))
    """,
    "given to a function of a library together with what was brought to the host": """
        import torch
        from graphs.utils import coalesce
        def spectrum(edges: torch.Tensor, num_nodes=None):
            edges = edges.to(torch.device("cpu"))
            values = torch.full((edges.size(1),), 2.0)
            values = torch.cat([values, values])
            edges, values = coalesce(edges, values, num_nodes=num_nodes)
            values = values - 1
            return edges.detach().numpy(), values.detach().numpy()
    """,
    "made of arrays, and drawn by a library": """
        import numpy as np
        import torch
        from torchvision.utils import draw_segmentation_masks
        def show(image: np.ndarray, mask: np.ndarray, device):
            image = torch.from_numpy(image)
            mask = torch.from_numpy(mask)
            return draw_segmentation_masks(image, mask, colors=["red"]).detach().numpy()
    """,
    "all callers of a private function bring it to the host": """
        import torch
        class Tagger:
            def predict(self, features: torch.Tensor, device):
                scores = torch.softmax(features, 1).cpu()
                return self._tags(features.cpu(), 3) + self._tags(scores, count=4)
            def _tags(self, scores: torch.Tensor, count: int):
                return scores.numpy()[:count]
    """,
    "behind a branch that returns for a device": """
        import torch
        def scaled(x: torch.Tensor, edges: torch.Tensor):
            if x.device.type == "cuda":
                return on_device(x)
            return np.interp(x.numpy(), edges.numpy(), levels)
    """,
    "a function that builds the model that it trains, and moves nothing": """
        import torch
        class Estimator:
            def predictor(self, device):
                return Predictor(device=device)
            def train(self, loader):
                net = self.network(self.width)
                optimizer = torch.optim.Adam(net.parameters(), lr=self.rate)
                total = 0.0
                for x, y in loader:
                    loss = -net(x).log_prob(y).mean()
                    loss.backward()
                    optimizer.step()
                    total += loss.detach().numpy().item()
                return net
    """,
    "computed with what was brought to the host": """
        import numpy as np
        import torch
        class Expert:
            def score(self, features, source, mode):
                masks = self.model(features.to(self.device))
                if mode == "none":
                    found = torch.squeeze(masks[0].cpu() * source["stft"])
                    return np.transpose(found.data.numpy())
                found = torch.expm1(masks[0].cpu() * torch.log1p(source["stft"].abs())) * source["phase"]
                found = torch.squeeze(found)
                return np.transpose(found.data.numpy())
    """,
    "given back by a function that got it on the host": """
        import torch
        from actors import Actor
        class Agent:
            def act(self, obs):
                action: torch.Tensor = self.actor(obs.to(self.device))
                action = Actor.rescale(action=action.cpu(), low=self.low)
                return action.data.numpy()
    """,
    "copied by numpy itself, on demand": """
        import torch
        def turned(views, model, loader, device):
            views = views.to(device)
            net = torch.nn.Linear(3, 3).to(device)
            for x, y in loader:
                x = x.to(device)
                print(model(net(x), y), x.numpy(force=True), views[0].numpy(force=True))
    """,
    "arrays": """
        import numpy as np
        import torch
        def run(model, matrix, x, device):
            print(np.sum(matrix.data), np.mean(model.predict(x)), np.argmax(model(x)))
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program):
    assert rule.findings(program) == ()


@pytest.mark.parametrize("path", ["tests/test_a.py", "image_processing.py", "pkg/transforms/crop.py", "my_dataset.py"])
def test_files_of_tests_and_of_data_are_left_alone(path):
    source = Source(path, b"import torch\ndef f(model, x, device):\n    return model(x).detach().numpy()\n")
    assert check(source, Options(frozenset({CODE}))) == Checked(())


@pytest.mark.parametrize("path", ["nets/transformer.py", "video_transformers.py", "train_image_classifier.py"])
def test_files_of_models_are_none_of_data(path):
    source = Source(path, b"import torch\ndef f(model, x, device):\n    return model(x).detach().numpy()\n")
    found = check(source, Options(frozenset({CODE})))
    assert isinstance(found, Checked)
    assert len(found.findings) == 1


REPAIRED = {
    "in a file that imports nothing of torch": (
        """
        import numpy
        def highlight(activation, text):
            activation = activation.detach().numpy()
            return numpy.arange(min(activation), max(activation), 0.1)
        """,
        "activation = activation.detach().cpu().numpy()",
    ),
    "the rows of what is turned": (
        """
        import torch
        def show(grid):
            x, y = grid.T.detach().numpy()
            return x, y
        """,
        "x, y = grid.T.detach().cpu().numpy()",
    ),
    "what a model gives": (
        """
        import torch
        def run(model, x, device):
            return model(x.to(device)).numpy()
        """,
        "return model(x.to(device)).cpu().numpy()",
    ),
    "what is detached": (
        """
        import torch
        def run(step, x, device):
            loss = step(x)
            return loss.detach().numpy()
        """,
        "return loss.detach().cpu().numpy()",
    ),
    "a parameter that is a tensor": (
        """
        import torch
        def report(values: torch.Tensor, device):
            return values.flatten().numpy()
        """,
        "return values.flatten().cpu().numpy()",
    ),
    "the weights of a part, in a file that never speaks of devices": (
        """
        import torch
        class Tagger(torch.nn.Module):
            def scores(self):
                return self.crf.transitions.detach().numpy()
        """,
        "return self.crf.transitions.detach().cpu().numpy()",
    ),
    "what a part gives, unpacked": (
        """
        import torch
        class Calculator:
            def calculate(self, graph):
                energies, forces = self.potential(graph)
                self.results.update(energy=energies.detach().numpy())
        """,
        "energy=energies.detach().cpu().numpy()",
    ),
    "none at first": (
        """
        import torch
        class Decoder(torch.nn.Module):
            def decode(self, x, device):
                scores = None
                if self.ctc is not None:
                    scores = self.ctc.log_softmax(x)
                return scores.detach().numpy()
        """,
        "return scores.detach().cpu().numpy()",
    ),
    "given to a function of numpy": (
        """
        import numpy as np
        import torch
        def run(model, x, device):
            logit = model.forward(x)
            while np.isnan(logit.data.max()):
                logit = model.forward(x)
        """,
        "while np.isnan(logit.data.max().cpu()):",
    ),
    "similarities": (
        """
        import numpy as np
        from sentence_transformers import SentenceTransformer, util
        scores = util.cos_sim(query, corpus)[0]
        best = np.argpartition(-scores, range(5))
        """,
        "best = np.argpartition(-scores.cpu(), range(5))",
    ),
    "on a device, by the flow": (
        """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader
        loader = DataLoader(data)
        for x, y in loader:
            x = x.to("cuda").view(-1)
            errors.append(np.median(x))
        """,
        "errors.append(np.median(x.cpu()))",
    ),
    "labels of a batch that was moved": (
        """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader
        for images, labels in DataLoader(data):
            labels = labels.to("cuda")
            seen.extend(labels.numpy())
        """,
        "seen.extend(labels.cpu().numpy())",
    ),
    "plotted": (
        """
        import matplotlib.pyplot as plt
        import numpy as np
        import torch
        from torch.utils.data import DataLoader
        figure, axes = plt.subplots()
        for x in DataLoader(data):
            x = x.cuda().view(4, 4)
            axes.imshow(x, cmap="gray")
        """,
        'axes.imshow(x.cpu(), cmap="gray")',
    ),
    "plotted with its errors": (
        """
        import matplotlib.pyplot as plt
        import torch
        from torch.utils.data import DataLoader
        figure, axes = plt.subplots()
        for spread in DataLoader(data):
            spread = spread.cuda().view(4, 4)
            axes.errorbar([1, 2, 3, 4], means, yerr=spread)
        """,
        "axes.errorbar([1, 2, 3, 4], means, yerr=spread.cpu())",
    ),
    "the loss of a model that was handed in": (
        """
        import torch
        def train(net, parts, device):
            optimizer = torch.optim.Adam(net.parameters())
            for x in parts:
                loss = net(x).mean()
                total.append(loss.detach().numpy())
        """,
        "total.append(loss.detach().cpu().numpy())",
    ),
    "a private function that is given a result of a model as well": (
        """
        import torch
        class Tagger:
            def predict(self, model, x, device):
                return self._tags(x.cpu()) + self._tags(model(x.to(device)))
            def _tags(self, scores: torch.Tensor):
                return scores.numpy()
        """,
        "return scores.cpu().numpy()",
    ),
    "the gradients of a module that was handed in": (
        """
        import torch
        from collections import OrderedDict
        def gradients(loss, names, set_to):
            loss = set_to(loss)
            by_name = OrderedDict(loss.named_parameters())
            return [by_name[name].grad.detach().view(-1).numpy() for name in names]
        """,
        "by_name[name].grad.detach().view(-1).cpu().numpy()",
    ),
    "an operation gets brackets": (
        """
        import torch
        def run(model, x, device):
            return (model(x.to(device)) + 1).numpy()
        """,
        "return (model(x.to(device)) + 1).cpu().numpy()",
    ),
}


MOVED_ON_SOME_PATH = {
    "under a flag": """
        import numpy as np
        import torch
        def evaluate(args, loader):
            for i, (x, y) in enumerate(loader):
                if args.cuda:
                    x = x.cuda()
                rows = np.array({})
    """,
    "and wrapped as it was before torch 0.4": """
        import numpy as np
        from torch.autograd import Variable
        def evaluate(args, loader):
            for x, y in loader:
                if args.cuda:
                    x, y = x.cuda(), y.cuda()
                x, y = Variable(x), Variable(y)
                rows = np.asarray({})
    """,
    "in both arms, to two devices": """
        import numpy as np
        import torch
        def evaluate(loader, first, second):
            for x, y in loader:
                x = x.to(first) if len(x) > 4 else x.to(second)
                rows = np.array({})
    """,
}
NOT_MOVED = {
    "wrapped, and moved nowhere": """
        import numpy as np
        from torch.autograd import Variable
        def evaluate(loader):
            for x, y in loader:
                rows = np.asarray(Variable(x))
    """,
    "a list in the other arm": """
        import numpy as np
        import torch
        def evaluate(args, x):
            rows = np.array(x.cuda().tolist() if args.cuda else [1, 2])
    """,
    "moved for the model alone": """
        import numpy as np
        import torch
        def evaluate(args, net, loader):
            for x, y in loader:
                given = x.cuda() if args.cuda else x
                net(given)
                rows = np.array(x)
    """,
}


@pytest.mark.parametrize("program", NOT_MOVED.values(), ids=NOT_MOVED)
def test_silent_where_nothing_is_moved(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize("program", MOVED_ON_SOME_PATH.values(), ids=MOVED_ON_SOME_PATH)
def test_what_is_moved_on_some_path_is_a_tensor(rule, program: str) -> None:
    assert rule.fixed(program.replace("{}", "x")) == dedent(program.replace("{}", "x.cpu()"))


@pytest.mark.parametrize(("program", "wanted"), REPAIRED.values(), ids=REPAIRED)
def test_copied_to_the_host(rule, program, wanted):
    assert set(rule.safeties(program)) <= {Safety.SAFE, Safety.UNSAFE}
    assert wanted in rule.fixed(dedent(program), unsafe=True)


@pytest.mark.parametrize("reads", ["x.numpy(), x.numpy()", "np.array(x), x.numpy()", "np.array(x), np.array(x)"])
@pytest.mark.parametrize("moved", ["x = x.to(device)", "if device:\n        x = x.to(device)"])
def test_several_reads_in_one_statement(rule, reads: str, moved: str) -> None:
    program = f"import numpy as np\nimport torch\ndef f(x, device):\n    {moved}\n    print({reads})\n"
    copied = reads.replace("x.numpy()", "x.cpu().numpy()").replace("(x)", "(x.cpu())")
    assert f"    print({copied})\n" in rule.fixed(program, unsafe=True)


def test_several_reads_of_attributes_in_one_statement(rule) -> None:
    program = """
        import numpy as np
        import torch
        def f(args):
            if args.n:
                args.buf = args.buf.to("cuda")
            print(np.array(args.buf), args.buf.numpy())
    """
    assert "print(np.array(args.buf.cpu()), args.buf.cpu().numpy())" in rule.fixed(program, unsafe=True)


FORCED = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(3, 3).to(device)
found = model(torch.zeros(2, 3).to(device)).detach()
print(found.numpy(force={}))
"""


@pytest.mark.parametrize("force", ["True", "options.force"])
def test_what_may_be_forced_is_not_copied(rule, force: str) -> None:
    assert rule.findings(FORCED.format(force)) == ()


def test_what_is_not_forced_is_copied(rule) -> None:
    assert "found.cpu().numpy(force=False)" in rule.fixed(FORCED.format("False"), unsafe=True)


def test_what_may_be_a_number_is_not_copied(rule) -> None:
    program = """
        import numpy as np
        import torch
        from models import Net
        def train(loader, device):
            model = Net().to(device)
            meters = np.zeros(2)
            for batch in loader:
                batch = batch.to(device)
                loss, accuracy = model(batch)
                loss.backward()
                meters = meters + np.array([1.0, accuracy * 100])
    """
    assert rule.findings(program) == ()


MIXED = """
import numpy as np
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(3, 3).to(device)

def nearest(values, value):
    values = np.asarray(values)
    return np.abs(values - value).argmin()

for batch in loader:
    batch = batch.to(device)
    steps = model(batch).detach()
    first = nearest(steps, 3)
"""


@pytest.mark.parametrize("other", ["steps.cpu().numpy()", "np.linspace(0, 1, 3)", "[1, 2, 3]"])
def test_what_some_caller_gives_as_an_array_has_no_copy(rule, other: str) -> None:
    assert rule.findings(f"{MIXED}    second = nearest({other}, 4)\n") == ()


def test_what_all_callers_give_as_tensors_is_copied(rule) -> None:
    assert "np.asarray(values.cpu())" in rule.fixed(f"{MIXED}    second = nearest(steps[1:], 4)\n", unsafe=True)


KEPT = """
import torch
class Poisson(Base):
    def __init__(self, transform):
        self.transform = transform
    def evaluate(self, y{said}, device):
        {more}
        rate = self.transform({given})
        return rate.detach().numpy()
"""


@pytest.mark.parametrize(
    ("said", "more", "given"),
    [
        (": torch.Tensor", "values = torch.tensor(y)", "values"),
        ("", "values = torch.tensor(y).to(device)", "values"),
        ("", "values = y", "values"),
    ],
)
def test_what_may_be_computed_of_a_tensor_from_anywhere_is_copied(rule, said: str, more: str, given: str) -> None:
    assert "rate.detach().cpu().numpy()" in rule.fixed(KEPT.format(said=said, more=more, given=given), unsafe=True)


PAIR = """
import torch
class Process:
    def predict(self, x: torch.Tensor, whole):
        mean, spread = posterior(self.gram(x))
        spread = spread * self.scale
        {guard}mean = mean{first}.numpy()
        spread = spread.detach().numpy()
        return mean, spread
"""


@pytest.mark.parametrize(
    ("guard", "first", "wanted"),
    [
        ("", ".detach()", "mean = mean.detach().cpu().numpy()"),
        ("", "", "mean = mean.numpy()"),
        ("", ".cpu().detach()", "mean = mean.cpu().detach().numpy()"),
        ("if whole:\n            ", ".detach()", "mean = mean.detach().cpu().numpy()"),
    ],
)
def test_what_is_detached_beside_it_is_copied_too(rule, guard: str, first: str, wanted: str) -> None:
    fixed = rule.fixed(PAIR.format(guard=guard, first=first), unsafe=True)
    assert "spread = spread.detach().cpu().numpy()\n" in fixed
    assert f"{wanted}\n" in fixed


BESIDE = """
import matplotlib.pyplot as plt
import torch
from masks import Mask, parse

def decode(code, *, device=None):
    return Mask(parse(code), device=device)

def show(boxes, code, device):
    for box in boxes:
        box = box.to(device)
        mask = {decoded}
        plt.imshow(torch.dstack((box, mask * 0.5)))
"""
ELSEWHERE = {
    "given the device": "decode(code, device=device)",
    "moved": "decode(code).to(device)",
    "given what has a device": "decode(box)",
    "given who knows what": "decode(code, **options)",
}


@pytest.mark.parametrize("decoded", ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_image_beside_what_a_helper_placed(rule, decoded: str) -> None:
    assert "torch.dstack((box, mask * 0.5)).cpu()" in rule.fixed(BESIDE.format(decoded=decoded), unsafe=True)


def test_what_stands_beside_may_be_anywhere(rule):
    program = """
    import torch
    def losses(model, converter, batch):
        coords, tokens = converter(batch)
        skipped = tokens == 1
        loss = cross_entropy(model.forward(coords), tokens)
        loss = loss[0].detach().numpy()
        skipped = skipped[0].numpy()
        return loss, skipped
    def other(converter, batch, device):
        return converter(batch).numpy()
    """
    fixed = rule.fixed(dedent(program), unsafe=True)
    assert "loss[0].detach().cpu().numpy()" in fixed
    assert "skipped[0].numpy()" in fixed
    assert "converter(batch).cpu()" not in rule.fixed(dedent(program))


BROUGHT = {
    "elements that were brought": """
    import torch
    def act(actor, states, device):
        actions = {}
        for key, state in states.items():
            actions[key] = actor(state.to(device)).detach().cpu()
        return {key: actor.rescaled(actions[key]).numpy() for key in actions}
    """,
    "by a lambda": """
    import torch
    def columns(self, rewards, values, device):
        rewards_t, values_t = (t.to(device="cpu") for t in (rewards.to(device), values.to(device)))
        return map(lambda t: t.view(-1, 1).numpy(), (rewards_t, values_t))
    """,
    "of a function whose name ends as that of a model": """
    import torch
    def infer_on_torch_model(model, data):
        return data.frame, model(data.rows)
    def evaluate(model, test_data, device):
        frame, end = infer_on_torch_model(model, test_data)
        if test_data.scale:
            end = test_data.unscaled(end)
        return end[:, 0].numpy()
    """,
}


@pytest.mark.parametrize("program", BROUGHT.values(), ids=BROUGHT)
def test_what_was_brought_to_the_host_elsewhere(rule, program: str) -> None:
    assert rule.findings(dedent(program)) == ()


# Once for a loop

FRAMES = """
import matplotlib.pyplot as plt
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def show(model, loader):
    for x in loader:
        frames = x.to(device) * 2
        for i in range(frames.shape[1]):
            plt.imshow(frames[0, i])
            {inside}
        {below}
"""
EACH = {
    "a model gets a part": {"inside": "model(frames[0, i])"},
    "more than parts are read": {"inside": "keep(frames)"},
    "it is read below": {"below": "model(frames)"},
    "the loop binds it": {"inside": "frames = frames + 1"},
    "a function inside reads it": {"inside": "later = lambda: frames"},
}


@pytest.mark.parametrize("parts", EACH.values(), ids=EACH)
def test_a_part_is_copied_where_more_than_readers_see_it(rule, parts) -> None:
    program = FRAMES.format(**{"inside": "pass", "below": "pass", **parts})
    assert "plt.imshow(frames[0, i].cpu())" in rule.fixed(program, unsafe=True)


def test_a_tensor_from_outside_of_both_loops_is_copied_in_parts(rule) -> None:
    program = """
        import matplotlib.pyplot as plt
        import torch
        def show(loader, device):
            for x, y in loader:
                x = x.to(device) * 2
                for _ in range(2):
                    for i in range(3):
                        plt.imshow(x[0, i])
    """
    assert "plt.imshow(x[0, i].cpu())" in rule.fixed(program, unsafe=True)


def test_a_list_of_tensors_is_copied_in_parts(rule) -> None:
    program = """
        import matplotlib.pyplot as plt
        import torch
        def show(loader, device):
            for xs in loader:
                xs = [x.to(device) for x in xs]
                for i in range(3):
                    plt.imshow(xs[i])
    """
    assert "xs.cpu()" not in "".join(str(one.fix) for one in rule.findings(program))


def test_lists_of_tensors(rule) -> None:
    program = """
        import numpy as np
        import torch
        def run(model, loader, device):
            model.eval()
            losses = []
            for x in loader:
                loss = torch.softmax(model(x.to(device)), -1).mean()
                losses.append(loss)
            return np.mean(losses), np.array([1.0, loss])
    """
    fixed = rule.fixed(program, unsafe=True)
    assert "np.mean([one.detach().cpu() for one in losses]), np.array([1.0, loss.cpu()])" in fixed
    assert set(rule.safeties(program)) <= {Safety.SAFE, Safety.UNSAFE}


SCORED = """
    import torch
    class Trainer:
        def __init__(self, model, device):
            self.device = device
            self.model = model.to(device)
        def evaluate(self, batches):
            outputs = list()
            for x in batches:
                y = self.model(x.to(self.device))
                outputs.append({kept})
            return self.scores(outputs)
        def scores(self, outputs: list[torch.Tensor]):
            return torch.cat(outputs, dim=0).numpy().mean()
{more}
"""


@pytest.mark.parametrize("kept", ["y.detach().cpu()", 'y.detach().to("cpu")', "y.cpu().argmax(-1)"])
def test_what_all_callers_take_to_the_host(rule, kept: str) -> None:
    assert rule.findings(SCORED.format(kept=kept, more="")) == ()


@pytest.mark.parametrize(
    ("kept", "more"),
    [
        ("y.detach()", ""),
        ("y.detach().cpu()", "        def once(self, x):\n            return self.scores([self.model(x)])"),
        ("y.detach().cpu()", "        def again(self, *outputs):\n            return self.scores(*outputs)"),
        (
            "y.detach().cpu()",
            "        @staticmethod\n        def of(trainer, outputs):\n            return trainer.scores(outputs)",
        ),
    ],
)
def test_what_one_caller_does_not(rule, kept: str, more: str) -> None:
    assert "torch.cat(outputs, dim=0).cpu().numpy()" in rule.fixed(SCORED.format(kept=kept, more=more), unsafe=True)


@pytest.mark.parametrize(
    "before",
    [
        "model.cpu()\n    save(model)\n    model.cuda()",
        "if not torch.cuda.is_available():\n        save(x.cpu())",
    ],
)
def test_a_model_that_goes_back_to_a_device(rule, before) -> None:
    program = f"import torch\ndef run(model, x):\n    {before}\n    return model(x).detach().numpy()\n"
    assert "model(x).detach().cpu().numpy()" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("name", ["groups_cpu", "host_groups", "self.groups_cpu"])
def test_a_name_of_the_host(rule, name: str) -> None:
    program = """
import torch
class Groups:
    def f(self, {given}, groups, device):
        groups = groups.to(device)
        return {name}.numpy(), {name}.detach().numpy(), groups.cpu().numpy()
"""
    assert rule.findings(program.format(name=name, given=name.removeprefix("self."))) == ()


SETTLED = {
    "two at once": """
def f(model, x: torch.Tensor, on_gpu):
    a, b = model(x)[0], model(x)[1]
    if on_gpu:
        a, b = a.cpu(), b.cpu()
    return a.detach().numpy(), b.detach().numpy()
""",
    "drawn from what was brought": """
def f(model, parts, sizes):
    out = []
    for part in parts:
        one, size = model(part)
        out.append(one)
    out = torch.cat(out)
    out, sizes = out.cpu(), sizes.cpu()
    return [one[..., :size].numpy() for one, size in zip(out, sizes)]
""",
    "through a library": """
def f(edges: torch.Tensor, more: torch.Tensor, count: int):
    pairs = torch.cat([edges, more], dim=1)
    pairs = pairs.to(torch.device("cpu"))
    weights = torch.full((edges.size(1),), 2.0)
    pairs = torch.cat([pairs, pairs], dim=1)
    pairs, weights = coalesce(pairs, weights, count)
    return pairs.detach().numpy()
""",
    "no tensor": """
def f(z, x: torch.Tensor):
    z = z.detach().double() if isinstance(z, torch.Tensor) else torch.as_tensor(np.asarray(z))
    return z.to(x.device) * x
def train(model, loader):
    model.to(DEVICE)
    for x in loader:
        x = x.to(DEVICE)
        f(torch.relu(x), x)
""",
    "a branch of its own": """
def f(size, device):
    if device.type == "cuda":
        return fast(size)
    def g(*args):
        return [one.data.numpy() for one in args], args[0].data.numpy()
    return g
""",
    "the other branch returns, within a loop": """
def f(tensors: list[torch.Tensor]):
    for one in tensors:
        if one.is_cuda:
            return fast(one)
        show(one.detach().numpy())
""",
    "a function of the host": """
def f(path, image: torch.Tensor, steps):
    device = torch.device("cpu")
    model = load(path, device=device)
    state = model.start(image, device=device)
    for step in range(steps):
        logits, state = model(image, state)
        show(logits.numpy(), logits.detach().numpy())
""",
}


@pytest.mark.parametrize("name", SETTLED)
def test_what_the_code_around_settles(rule, name: str) -> None:
    head = (
        "import numpy as np\nimport torch\nfrom torch_geometric.utils import coalesce\nDEVICE = torch.device('cuda')\n"
    )
    assert rule.findings(head + SETTLED[name]) == ()


OPEN = {
    "a tensor of two": """
def f(model, x: torch.Tensor):
    a, b = model(x)[0], model(x)[1].cpu()
    return a.detach().numpy()
""",
    "drawn from the other": """
def f(model, x: torch.Tensor):
    a, b = model(x), model(x).cpu()
    return [a.detach().numpy() for a, b in zip(a, b)]
""",
    "the branch of the tensor": """
def f(a):
    return a.detach().numpy() if isinstance(a, torch.Tensor) else a
""",
    "a device beside the host": """
def f(model, a: torch.Tensor):
    device = torch.device("cpu")
    other = model(a.cuda())
    return a.detach().numpy(), device
""",
}


@pytest.mark.parametrize("name", OPEN)
def test_what_it_leaves_open(rule, name: str) -> None:
    assert "a.detach().cpu().numpy()" in rule.fixed(
        "import torch\nDEVICE = torch.device('cuda')\n" + OPEN[name], unsafe=True
    )


def test_a_function_and_an_attribute_that_are_made_of_each_other(rule) -> None:
    program = """
        import torch
        def pad(u):
            return torch.flip(u, [0])
        class Wave:
            def __init__(self, size):
                self.u = torch.zeros(size)
            def step(self):
                self.u = pad(self.u)
            def show(self):
                return self.u.numpy()
    """
    assert rule.findings(program) == ()


RUNNERS = """
    import torch
    def fast(x: torch.Tensor):
        return x.cuda()
    def kernel(a):
        return a
    if torch.cuda.is_available():
        device = "cuda"
    {bound}
"""


@pytest.mark.parametrize(
    "bound",
    [
        "scan_cpu = lambda x: torch.from_numpy(kernel(x.detach().numpy()))",
        'runners = {"cuda": fast, "cpu": lambda x: torch.from_numpy(kernel(x.detach().numpy()))}',
        "run(on_host=lambda x: kernel(x.detach().numpy()))",
    ],
)
def test_a_lambda_of_the_host(rule, bound: str) -> None:
    assert rule.findings(RUNNERS.format(bound=bound)) == ()


def test_a_lambda_of_any_place(rule) -> None:
    program = RUNNERS.format(bound="scan = lambda x: torch.from_numpy(kernel(x.detach().numpy()))")
    assert "kernel(x.detach().cpu().numpy())" in rule.fixed(program, unsafe=True)


BRANCHES = """
import torch


def predict(net, x, {flag}, device):
    out = net(x.to(device))
    if {test}:
        return out.detach().numpy()
    return 0
"""


@pytest.mark.parametrize(
    ("flag", "test"),
    [("on_gpu", "on_gpu"), ("n_gpu", "not n_gpu"), ("multi_gpu", "not multi_gpu"), ("pinned", "not pinned")],
)
def test_a_branch_that_does_not_tell_of_the_host(rule, flag: str, test: str) -> None:
    assert len(rule.findings(BRANCHES.format(flag=flag, test=test))) == 1


@pytest.mark.parametrize("made", ["torch.ones(3).to(device)", "torch.stack(x)"])
def test_a_call_that_gets_what_may_be_anywhere(rule, made: str) -> None:
    program = f"""
        import torch
        def run(grid, x, device):
            rows = {made}
            return grid(rows).detach().numpy()
    """
    assert len(rule.findings(program)) == 1


GIVEN_BACK = """
    import numpy as np
    import torch
    def as_tensor(x, device):
        if {asks}:
            return x
        try:
            return torch.as_tensor(np.asarray(x))
        except ValueError:
            return torch.as_tensor(x)
    def run(device):
        y = torch.zeros(3, device=device)
        return as_tensor(y, device) + as_tensor([1.0], device)
"""


@pytest.mark.parametrize("asks", ["isinstance(x, torch.Tensor)", "torch.is_tensor(x)"])
def test_tensors_that_were_given_back_before(rule, asks: str) -> None:
    assert rule.findings(GIVEN_BACK.format(asks=asks)) == ()


WARP = """
    import numpy as np
    import torch
    from library import {base}
    class Warp({base}):
        def apply(self, x: torch.Tensor):
            return np.roll(x.detach().numpy(), 3)
"""


@pytest.mark.parametrize(("base", "copied"), [("RandomTransform", False), ("Augmenter", False), ("Layer", True)])
def test_a_transform_by_its_base(rule, base: str, copied: bool) -> None:
    assert bool(rule.findings(WARP.format(base=base))) is copied


HANDED = """
    import torch
    def run(model, device):
        persist(host(model.to(device).weight))
    def host(t: torch.Tensor) -> torch.Tensor:
        return t.detach().to(device="cpu", dtype=torch.float32).contiguous()
    def made():
        encoder = {made}
        persist(encoder.to(torch.float32))
    def persist(weight: torch.Tensor):
        return weight.numpy()
"""


@pytest.mark.parametrize(("made", "copied"), [("torch.randn(3) * 0.1", False), ("torch.randn(3).cuda()", True)])
def test_what_is_called_as_a_model_may_be_a_tensor_of_the_host(rule, made: str, copied: bool) -> None:
    assert bool(rule.findings(HANDED.format(made=made))) is copied


ARRAY = """
    import numpy as np
    import torch
    def convert(model, parts, device):
        model.to(device)
        def to_array(t):
            if hasattr(t, "detach"):
                return t.detach(){copied}.numpy()
            {branch}
                return t.numpy()
            return np.array(t)
        return [to_array(one) for one in parts]
"""


@pytest.mark.parametrize(
    ("copied", "branch", "found"),
    [
        (".cpu()", 'elif hasattr(t, "numpy"):', 0),
        ("", 'elif hasattr(t, "numpy"):', 1),
        ("", 'if hasattr(t, "numpy"):', 1),
    ],
)
def test_what_has_not_what_all_tensors_have(rule, copied: str, branch: str, found: int) -> None:
    assert len(rule.findings(ARRAY.format(copied=copied, branch=branch))) == found


CLUSTERS = """
    import torch
    class Clusters:
        def find(self, points, others):
            moved = {moved}
            {line}
            return points.detach().numpy(), moved
        def to(self, device):
            self.model.to(device)
"""


@pytest.mark.parametrize(
    ("moved", "line", "copied"),
    [
        ("self.integrate(others)", "moved = points[0].numpy()", True),
        ("self.integrate(points)", "moved = moved.numpy()", True),
        ("self.integrate(others)", "moved = moved.numpy()", False),
        ("self.integrate(points)", "if self.plot: moved = moved.numpy()", False),
        ("self.integrate(points)", "moved = moved.numpy() if self.plot else 0", True),
        ("self.integrate(points).cpu()", "moved = moved.numpy()", False),
    ],
)
def test_what_is_computed_of_the_same_is_read_beside_it(rule, moved: str, line: str, copied: bool) -> None:
    after = rule.fixed(CLUSTERS.format(moved=moved, line=line), unsafe=True)
    assert "points.detach().cpu().numpy(), moved" in after
    assert (line not in after) is copied


def test_an_entry_is_no_array_before_it_gets_one(rule) -> None:
    program = """
        import torch
        def arrays(d, keys, device):
            for k in keys:
                if isinstance(d[k], torch.Tensor):
                    d[k] = d[k].detach().numpy()
            return d
    """
    assert "d[k] = d[k].detach().cpu().numpy()" in rule.fixed(program, unsafe=True)


QUANTIZED = """
    import numpy as np
    import torch
    from formats import Variable
    DEVICE = torch.device("cuda")
    def quantize(value):
        if not isinstance(value, Variable) or value.dtype == "int8":
            return value
        value = value.to({type}).numpy()
        return np.rint(value.reshape(value.shape[0], -1))
"""


@pytest.mark.parametrize(("given", "copied"), [('"float32"', False), ("'int8'", False), ("torch.float32", True)])
def test_no_tensor_takes_text_for_a_type(rule, given: str, copied: bool) -> None:
    assert bool(rule.findings(QUANTIZED.format(type=given))) is copied


DISTANCE = """
    import torch
    from torch import nn
    from {package} import {base}
    from distances import between
    class Distance({base}):
        @staticmethod
        def forward(ctx, x):
            distance, signs = between(x.detach().numpy())
            ctx.signs = torch.tensor(signs)
            return torch.tensor(distance)
        @staticmethod
        def {name}(ctx, outer):
            return {gradient}
"""


@pytest.mark.parametrize(
    ("package", "base", "name", "gradient", "edited"),
    [
        ("torch.autograd", "Function", "backward", "outer * ctx.signs", True),
        ("torch.autograd", "Function", "backward", "outer * ctx.signs.to(outer.device)", True),
        ("torch.autograd", "Function", "vjp", "outer * ctx.signs", True),
        ("torch.nn", "Module", "backward", "outer * ctx.signs", True),
    ],
)
def test_a_gradient_is_where_the_tensor_is(
    rule, package: str, base: str, name: str, gradient: str, edited: bool
) -> None:
    found = rule.findings(DISTANCE.format(package=package, base=base, name=name, gradient=gradient))
    assert [one.fix is not None for one in found] == [edited]


EITHER = """
    import numpy as np
    import torch
    from torch.utils.data import DataLoader
    def columns(mat, flip):
        if isinstance(mat, {kind}):
            if flip:
                mat = np.transpose(mat)
            return np.swapaxes(mat[..., ::2], -1, -2)
        return torch.transpose(mat[..., ::2], -1, -2)
    def run(data, flip):
        for x in DataLoader(data):
            x = x.to("cuda")
            print(columns(torch.relu(x), flip))
"""


@pytest.mark.parametrize(("kind", "found"), [("np.ndarray", False), ("(list, np.ndarray)", False)])
def test_what_is_an_array_there_is_no_tensor(rule, kind: str, found: bool) -> None:
    assert bool(rule.findings(EITHER.format(kind=kind))) is found


ENCODED = """
    import torch
    from transformers import AutoModel, AutoTokenizer
    class Similarity:
        def __init__(self, name):
            self.tokenizer = AutoTokenizer.from_pretrained(name)
            self.model = AutoModel.from_pretrained(name)
        def encode(self, sentences, device):
            inputs = self.tokenizer(sentences, return_tensors="pt", padding=True){moved}
            outputs = self.model(**inputs)
            return outputs.last_hidden_state[:, 0, :].detach().numpy()
"""


@pytest.mark.parametrize(("moved", "found"), [("", False), (".to(device)", False)])
def test_what_a_model_gives_for_an_encoding_is_where_that_is(rule, moved: str, found: bool) -> None:
    assert bool(rule.findings(ENCODED.format(moved=moved))) is found


@pytest.mark.parametrize(("module", "told"), [(".tensor", False), ("tensor", False), ("torch", True)])
def test_a_tensor_of_the_projects_own_kind_has_no_copy(tmp_path: Path, module: str, told: bool) -> None:
    (tmp_path / "tensor.py").write_text("class Tensor:\n    def numpy(self):\n        return self.array\n")
    program = f"import torch\nfrom {module} import Tensor\ndef take(x: Tensor, device):\n    return x.numpy()\n"
    source, project = Source(str(tmp_path / "bridge.py"), program.encode()), Project(DiskFiles(str(tmp_path)))
    outcome = check(source, Options(frozenset({CODE})), project)
    assert isinstance(outcome, Checked)
    assert bool(outcome.findings) is told


SHARED = """
import numpy as np
import torch
def split(matrix):
    return matrix[:, 0, 0], matrix[:, 1, 1]
def project(matrix: torch.Tensor, x):
    fx, fy = split(matrix)
    return torch.reshape(fx, [3, 1]) * x
def project_array(matrix, x):
    fx, fy = split(matrix)
    return {read} * x
"""


@pytest.mark.parametrize(
    ("read", "told"), [("np.reshape(fx, [3, 1])", []), ("fx.numpy().reshape(3, 1)", [Safety.UNSAFE])]
)
def test_what_may_be_an_array_is_no_more_than_a_suggestion(rule, read: str, told: list[Safety]) -> None:
    assert [one.fix.safety for one in rule.findings(SHARED.format(read=read))] == told


def test_a_message_is_one_line(rule) -> None:
    program = """
        import torch
        x = torch.rand(3, device="cuda")
        y = (
            x.detach()
            .mul(2)
        ).numpy()
    """
    assert rule.finding(program).message == "`x.detach() .mul(2)` may be on a device, but is read on the host"


UNPACKED_BESIDE = """
    import numpy as np
    import torch

    class Measure:
        def __init__(self, rows, opt):
            self.rows, self.opt = rows, opt

        def measure(self, model):
            features, targets = [], []
            for data in self.rows:
                {unpacked}
                found = model(image{moved})
                features.extend(found.cpu().detach().numpy())
                targets.extend(target.numpy())
            return np.vstack(features), np.hstack(targets)
"""


@pytest.mark.parametrize(
    ("unpacked", "moved", "copied"),
    [
        ("image, target = data[1], data[0]", ".to(self.opt.device)", False),
        ("image, target = data", ".to(self.opt.device)", False),
        ("image, target = data[1], data[0]", "", True),
        ("image, target = data[1], model.targets", ".to(self.opt.device)", True),
    ],
)
def test_what_a_batch_gave_beside_what_is_moved_needs_no_copy(rule, unpacked: str, moved: str, copied: bool) -> None:
    assert bool(rule.findings(UNPACKED_BESIDE.format(unpacked=unpacked, moved=moved))) is copied


@pytest.mark.parametrize(("batch", "copied"), [("next(rows)", False), ("rows.next()", False), ("loader.next()", True)])
def test_what_the_iterator_of_a_loader_gives_is_on_the_host(rule, batch: str, copied: bool) -> None:
    program = f"""
        import numpy as np
        import torch
        def accuracy(dataset):
            loader = torch.utils.data.DataLoader(dataset, batch_size=4)
            rows = iter(loader)
            found, wanted = {batch}
            return np.mean(found.data.numpy() == wanted.data.numpy())
    """
    assert bool(rule.findings(program)) is copied


NO_TENSOR_HERE = """
    import numpy as np
    import torch
    def scaled(x, std{default}):
        {test}:
            std = np.array(std)
        return x * std
    def use(x, std):
        return scaled(x, torch.exp(std))
    def use_there(x, std):
        return scaled(x, torch.exp(std.cuda()))
"""


@pytest.mark.parametrize(
    ("default", "test", "copied"),
    [
        ("", "if len(x) > 3", True),
        ("=None", "if std is not None", True),
        ("=1.0", "if len(x) > 3", False),
        ("=1.0", "if torch.is_tensor(std)", True),
        ("=1.0", "if isinstance(std, torch.Tensor)", True),
        ("", "if isinstance(std, tuple)", False),
        ("", "if isinstance(std, (list, tuple))", False),
        ("", "if not isinstance(std, torch.Tensor)", False),
    ],
)
def test_what_may_be_a_number_or_is_a_row_has_no_copy(rule, default: str, test: str, copied: bool) -> None:
    assert any(rule.safeties(NO_TENSOR_HERE.format(default=default, test=test))) is copied


TABLES = """
import numpy as np
import torch
def evaluate(batches, table, groups):
    for result in batches:
        mean = result[0].cpu().numpy()
    for columns, kept in groups(table):
        true = table[:, columns]
        held = score(true, kept)
        picked = true[kept]
        valid = {read}
    return held, valid, mean
def score(true, mask):
    ...
"""


@pytest.mark.parametrize(("read", "found"), [("np.isfinite(picked)", 0), ("picked.numpy()", 1)])
def test_what_nothing_shows_to_be_a_tensor_is_a_suggestion_at_most(rule, read: str, found: int) -> None:
    assert len(rule.findings(TABLES.format(read=read))) == found


def test_what_is_copied_beside_it_is_a_tensor(rule) -> None:
    program = """
        import matplotlib.pyplot as plt
        import numpy as np
        import torch
        class Planes(torch.nn.Module):
            def show(self, name):
                plt.imsave("plane.png", np.log(self.coverages[name].cpu().numpy() + 1))
                plt.plot(self.coverages[name].mean(0))
    """
    assert "plt.plot(self.coverages[name].mean(0).cpu())" in rule.fixed(program, unsafe=True)


DECODED = """
import torch
from nets import Net, decode, encode
def main(args, device):
    primer = torch.tensor(encode(args.f)){placed}
    model = Net(args.n).to(device)
    decode(primer[:args.n].numpy(), "a.mid")
    return model.generate(primer[:args.n])
"""


@pytest.mark.parametrize(("placed", "told"), [("", False), (".to(device)", True)])
def test_what_is_on_a_device_shares_no_memory_with_an_array(rule, placed: str, told: bool) -> None:
    assert bool(rule.findings(DECODED.format(placed=placed))) is told


ARRAYS = """
import numpy as np
import torch
def rows(boxes, scores, others):
    flat = scores.view(-1)
    {said}
    return np.concatenate((boxes, {read}), 1)
"""


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("", "flat[:, np.newaxis]"),
        ("best = flat.argmax(axis=1)", "flat"),
        ("best = flat[:, 1:].max(axis=1, keepdims=True)", "flat[:, 1:] > 0.5"),
    ],
)
def test_what_may_be_an_array_is_only_suggested_to_be_copied(rule, said: str, read: str) -> None:
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(ARRAYS.format(said=said, read=read)))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("", "flat[:, None]"),
        ("best = flat.argmax(dim=1)", "flat"),
        ("best = others[:, 1:].max(axis=1, keepdims=True)", "flat[:, 1:] > 0.5"),
    ],
)
def test_what_is_a_tensor_is_copied(rule, said: str, read: str) -> None:
    assert rule.safeties(ARRAYS.format(said=said, read=read)) == [Safety.UNSAFE]


@pytest.mark.parametrize(("said", "told"), [("np.ndarray", False), ("torch.Tensor", True)])
def test_what_a_name_is_said_to_be(rule, said: str, told: bool) -> None:
    program = f"""
        import numpy as np
        import torch
        def ravelled(table, least):
            rows: {said} = table[0] if least else table
            return np.ravel(rows)
    """
    assert bool(rule.findings(program)) is told


@pytest.mark.parametrize(("function", "told"), [("take_along_axis", False), ("searchsorted", True)])
def test_what_numpy_only_picks_from_stays_a_tensor(rule, function: str, told: bool) -> None:
    program = f"""
        import numpy as np
        import torch
        def matched(indices):
            first, second = torch.rand(20, 3).cuda(), torch.rand(20, 3).cuda()
            second = np.{function}(second, indices)
            return second.shape, first
    """
    assert bool(rule.findings(program)) is told


DECLARED = "import numpy as np\nimport torch\ndef f(order: torch.Tensor, junk: torch.Tensor):\n    {line}\n"


@pytest.mark.parametrize("line", ["return np.in1d(order, junk)", "return np.unique(junk)"])
def test_what_is_only_called_a_tensor_may_be_an_array(rule, line: str) -> None:
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(DECLARED.format(line=line)))


@pytest.mark.parametrize("line", ["return junk.numpy()", "print(junk.mean())\n    return np.unique(junk)"])
def test_what_is_used_as_one_is_one(rule, line: str) -> None:
    assert Safety.UNSAFE in rule.safeties(DECLARED.format(line=line))


@pytest.mark.parametrize("line", ["np.random.shuffle(junk)", "np.copyto(order, junk)", "np.fill_diagonal(junk, 0)"])
def test_what_is_changed_in_place_is_not_copied(rule, line: str) -> None:
    assert rule.findings(DECLARED.format(line=f"print(order.mean(), junk.mean())\n    {line}")) == ()


def test_what_is_read_is(rule) -> None:
    program = "import numpy as np\nimport torch\ndef f(x: torch.Tensor):\n    return np.sort(x.mean(0))\n"
    assert rule.findings(program) != ()


OF_A_CLASS = """
from numbers import Number
import numpy as np
import torch
def density(value, std):
    scale = np.log(std) if {test} else {other}
    return value - scale
def use(value, std):
    return torch.exp(density(value, std.cuda()))
"""


@pytest.mark.parametrize(
    ("test", "other", "copied"),
    [
        ("isinstance(std, Number)", "torch.log(std)", False),
        ("not torch.is_tensor(std)", "torch.log(std)", False),
        ("torch.is_tensor(std)", "np.log(std + 1)", True),
    ],
)
def test_what_is_asked_for_a_class_of_another_module(rule, test: str, other: str, copied: bool) -> None:
    assert any(rule.safeties(OF_A_CLASS.format(test=test, other=other))) is copied


LISTS_TOO = """
import numpy as np
import torch
def words(out):
    {first}
    return np.argmax({read}, axis=-1)
def main(model, x, device):
    model.to(device)
    return words(model(x.to(device)))
"""


@pytest.mark.parametrize(
    ("first", "read", "copied"),
    [
        ("out = out.cpu().data.numpy() if not isinstance(out, list) else out", "out", False),
        ("out = out.softmax(-1) if not isinstance(out, list) else out", "out", False),
        ("out = out.cpu().softmax(-1)", "out.data.numpy()", False),
        ("out = out.softmax(-1) if len(out) > 1 else out", "out.data.numpy()", True),
        ("out = out.softmax(-1)", "out.data.numpy()", True),
    ],
)
def test_what_comes_from_a_branch_for_lists_is_not_copied(rule, first: str, read: str, copied: bool) -> None:
    edits = [one.fix.edits for one in rule.findings(LISTS_TOO.format(first=first, read=read)) if one.fix]
    assert len(edits) == copied


MADE_ARRAYS = """
import numpy as np
import pandas as pd
import torch
class Net(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.path = path
    def save(self, found):
        table = pd.DataFrame(found)
        table.to_excel(self.path)
    def show(self, rows, ax):
        for index in range(len(rows)):
            ax.imshow(rows[index].reshape((4, 4)))
    def run(self, x, read, ax):
        out = self(x.cuda())
        wanted = read()
        {use}
        return out
"""


@pytest.mark.parametrize(
    ("use", "copied"),
    [
        ("self.save(wanted[: len(x)] - np.concatenate(wanted))", False),
        ("self.show([out[0].cpu().numpy(), out[1].cpu().numpy()], ax)", False),
        ("largest = np.max(np.abs(wanted)); wanted = torch.from_numpy(wanted).cuda(); out = out + wanted", False),
        ("self.save(out.detach().exp())", True),
        ("largest = np.max(np.abs(out)); out = out + torch.from_numpy(wanted).cuda()", True),
    ],
)
def test_arrays_by_what_they_are_made_of_and_given_to(rule, use: str, copied: bool) -> None:
    assert any(rule.safeties(MADE_ARRAYS.format(use=use))) is copied


SAME_NAMES = """
import numpy as np
import torch
from torch import optim
class First:
    def as_array(self, x):
        return x.numpy()
    def run(self):
        out, other = self.compute()
        return self.as_array(out.cpu()), self.as_array(other.cpu())
class Second{base}:
    {body}
    def run(self):
        out, other = self.compute()
        return self.as_array(out{copied}), other
"""
OWN = "def as_array(self, x):\n        return x.cpu().numpy()"


@pytest.mark.parametrize(
    ("base", "body", "copied", "found"),
    [
        ("", OWN, "", False),
        ("(First)", "pass", ".cpu()", False),
        ("(First)", OWN, "", False),
        ("(First)", "pass", ".cuda()", True),
        ("(Third)", "pass", ".cuda()", True),
    ],
)
def test_methods_of_one_name_have_their_own_callers(rule, base: str, body: str, copied: str, found: bool) -> None:
    program = SAME_NAMES.format(base=base, body=body, copied=copied)
    assert any(rule.safeties(program)) is found


TAGGER = """
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from zoo import Base, CRF

    class Tagger(Base):
        def __init__(self, device):
            self.crf = CRF(4)
            self.to(device)

        def score(self, sentences):
            rows, lengths = self._rows_of(sentences)
            rows = pad_sequence(rows, batch_first=True)
            lengths = lengths.sort(dim=0, descending=True)
            rows = {sorted}
            return self.crf(rows), self.crf.transitions.detach().numpy()

        def _rows_of(self, sentences):
            rows = list(map(lambda one: one.get_tensor(), sentences))
            return rows, torch.LongTensor([len(one) for one in sentences])
"""


def test_what_meets_the_host_in_arithmetic_is_there(rule) -> None:
    assert rule.findings(TAGGER.format(sorted="rows * lengths.values")) == ()


def test_what_an_index_on_the_host_picks_from_may_be_on_a_device(rule) -> None:
    fixed = rule.fixed(TAGGER.format(sorted="rows[lengths.indices]"))
    assert "self.crf.transitions.detach().cpu().numpy()" in fixed


@pytest.mark.parametrize(
    "asked",
    [
        "sparse.issparse(x)",
        "sparse.isspmatrix_csr(x)",
        "np.isscalar(x)",
        "np.shape(x)",
        "np.iterable(x)",
        "pandas.api.types.is_list_like(x)",
    ],
)
def test_who_only_asks_what_it_is_reads_nothing(rule, asked: str) -> None:
    program = f"""
        import numpy as np
        import pandas
        import torch
        from scipy import sparse
        def f(x):
            x = x.to("cuda")
            return x if {asked} else None
    """
    assert rule.findings(program) == ()
