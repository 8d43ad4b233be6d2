"""Right programs of published shapes in which tensors of the host stay there: no rule may edit them."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

RIGHT = {
    "what it meets was made of it": """
        import torch
        def negatives(label, size):
            if label is None:
                label = torch.ones(size)
            other = label.new_zeros(size)
            return torch.cat([label, other])
        from shapes import convert
        def boxes(rows):
            rows = torch.tensor(rows)
            corners = convert(rows[:, :5]).view(-1, 8)
            return torch.cat([corners, rows[:, 5:7]], dim=-1).tolist()
    """,
    "what it meets was read with an index of the host": """
        import torch
        class Vocabulary:
            def encode(self, images: torch.Tensor):
                row = torch.ones((images.shape[0], 1), dtype=torch.int) * self.end
                tokens = self.table[images.to("cpu")]
                return torch.cat([tokens, row], dim=-1).to(images.device)
    """,
    "what it meets is made on the host by a function of the file": """
        import torch
        def rows(n):
            p = torch.sqrt(0.5 + torch.arange(n))
            if n > 1:
                p = torch.cat([p, torch.zeros(1)])
            return p
        def check(n):
            p = rows(n)
            return torch.sum((p - p[0] * torch.ones(n)) ** 2)
    """,
    "a test compares with what is expected": """
        import torch
        def parse(system, device=torch.device("cpu")):
            return torch.as_tensor(system, device=device)
        def test_parse():
            assert torch.allclose(parse([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    """,
    "the number of steps, the marks of a schedule": """
        import torch
        def prepare(scheduler, steps, device):
            noise = torch.zeros(3, device=device)
            sigmas = torch.linspace(0, 1, steps)
            timesteps, steps = retrieve_timesteps(scheduler, device=device, sigmas=sigmas)
            s = torch.tensor([1.0, 0.5])
            scheduler.set_timesteps(sigmas=s, device=device)
            return noise
    """,
    "lengths that a module hands on": """
        import torch
        class Decoder(torch.nn.Module):
            def forward(self, frames: torch.Tensor, ilens: torch.Tensor):
                return self.convolution(frames), ilens
            def stream(self, frame: torch.Tensor):
                return self.forward(frame, ilens=torch.tensor([self.size], dtype=torch.long))[0]
    """,
    "the memory of another tensor is used": """
        import torch
        def ids(length, device, out=None):
            if out is None:
                return torch.arange(0, length, device=device)
            return torch.arange(0, length, out=out)
    """,
    "numbers, drawn and multiplied": """
        import torch
        class Augment:
            def __call__(self, image):
                first = torch.randint(2, []).float()
                do = (torch.rand([]) < self.chance).float()
                second = torch.randint(2, []).float() * do
                third = torch.randn([]) * do
                return torch.stack([first, second, third])
    """,
    "the size of a layer is counted": """
        import torch
        def count(layer: torch.nn.Linear, x: torch.Tensor):
            return torch.prod(torch.LongTensor(list(x.size())))
    """,
    "the neighbours are of both kinds": """
        import torch
        class Trainer:
            def inputs(self, prompts, fields):
                device = self.accelerator.device
                marks = torch.zeros(3, device=device)
                tensors = [torch.tensor(one) for one in prompts]
                inputs = {"input_ids": pad(tensors), "mask": pad([torch.ones_like(one) for one in tensors])}
                for name, rows in fields.items():
                    inputs[name] = pad([torch.tensor(one) for one in rows])
                return inputs, marks
    """,
    "added to a table of the host, and moved together": """
        import torch
        class Walks(torch.nn.Module):
            def __init__(self):
                self.offsets = torch.tensor([0, 1, 2])
            def loss(self, walks):
                device = walks.device
                start = torch.arange(len(walks)) * 3
                start = start.unsqueeze(1)
                index = start + self.offsets.unsqueeze(0)
                index = index.view(-1).to(device)
                return index, torch.zeros(3).to(device)
    """,
    "a parameter that is said to be a list": """
        import torch
        def matrix(indices):
            \"\"\"The matrix of a permutation.

            Args:
                indices: A list of indices.
            \"\"\"
            made = torch.zeros((len(indices), len(indices)))
            for i, one in enumerate(indices):
                made[i, one] = 1
            return made
        def of(x):
            return matrix(torch.randperm(x))
    """,
    "what it meets is made on the host through several functions of the file": """
        import numpy as np
        import torch
        def transition(kind, n):
            if kind == "a":
                a = np.sqrt(np.diag(2 * np.arange(n, dtype=np.float64) + 1))
            else:
                a = 2 * np.pi * np.diag(np.arange(n), 1)
            return a
        def correction(n):
            p = torch.sqrt(0.5 + torch.arange(n))
            if n > 1:
                p = torch.cat([p, torch.zeros(1)])
            return p
        def decompose(kind, n):
            a = torch.as_tensor(transition(kind, n))
            p = correction(n)
            normal = a + torch.sum(p.unsqueeze(-2) * p.unsqueeze(-1), dim=-3)
            skew = normal + normal.transpose(-1, -2)
            return torch.sum((skew - skew[0, 0] * torch.eye(n)) ** 2)
        def several(kinds, n):
            return [decompose(one, n) for one in kinds]
        def combined(kinds, n):
            return several(kinds, n)
        class Kernel(torch.nn.Module):
            def __init__(self, kinds, n):
                super().__init__()
                self.error = combined(kinds, n)
    """,
    "a formula of tensors of the host, and of what a function gives": """
        import torch
        from scales import mel_of
        def banks(count, low, step):
            bins = torch.arange(count).unsqueeze(1)
            left, center, right = low + bins * step, low + (bins + 1.0) * step, low + (bins + 2.0) * step
            mel = mel_of(torch.arange(count)).unsqueeze(0)
            up = (mel - left) / (center - left)
            down = (right - mel) / (right - center)
            return torch.min(up, down)
    """,
    "what it is compared with may be a number": """
        import torch
        class Schedule:
            def index_of(self, step: float | torch.Tensor):
                marks = torch.arange(9)
                return (marks == step).nonzero()
            def later(self, step: "Union[int, torch.Tensor]"):
                return torch.arange(9) > step
            def noised(self, samples: torch.Tensor, at: torch.Tensor):
                at = at.to(samples.device)
                return [self.index_of(one) + self.later(one) for one in at]
    """,
    "one number, squeezed": """
        import torch
        def mask_along(spectrum: torch.Tensor, longest):
            start = (torch.rand(1) * longest).long().squeeze()
            mask = torch.arange(0, spectrum.size(-1), device=spectrum.device)
            return spectrum.masked_fill(mask >= start, 0.0)
    """,
    "a module that the class holds was given it before": """
        import numpy as np
        import torch
        class Voice(Base):
            def __init__(self, count):
                self.flow = Flow(count)
            def init_table(self, count):
                if count:
                    self.table = torch.nn.Embedding(count, count)
            def freeze(self):
                for one in self.flow.parameters():
                    one.requires_grad = False
            def infer(self, wave, speaker):
                y = spectrogram(wave)
                lengths = torch.tensor([y.size(-1)]).to(y.device)
                return self.convert(y, lengths, speaker)
            def convert(self, y, lengths, speaker):
                if self.embeds:
                    given = self.table(torch.from_numpy(np.array(speaker)).unsqueeze(0)).unsqueeze(-1)
                z, mask = self.posterior(y, lengths)
                return self.flow(z, mask, given=given)
    """,
    "the function that makes it moves it in the end": """
        import torch
        class Heads(torch.nn.Module):
            def __init__(self, projection):
                super().__init__()
                self.register_buffer("projection", projection)
            def forward(self, feats):
                reduced = [torch.nn.functional.conv2d(one, weight=self.projection).squeeze(1) for one in feats]
                points, strides = self.anchors(feats)
                return (points + torch.cat(reduced, dim=1)) * strides
            def anchors(self, feats=None, device=None):
                points, strides = [], []
                device = device or feats[0].device
                for feat, stride in zip(feats, self.strides):
                    points.append(torch.arange(feat.shape[-1]) + self.offset)
                    strides.append(torch.full([9, 1], stride))
                points, strides = torch.cat(points), torch.cat(strides)
                if device is not None:
                    points = points.to(device)
                    strides = strides.to(device)
                return points, strides
    """,
    "one number is asked for": """
        import torch
        def steps(t, h, w, device):
            longest = torch.Tensor([t, h, w]).amax()
            return torch.arange(0, longest, 1, device=device)
    """,
    "copied, or placed by a function": """
        import torch
        def fill(table: torch.Tensor, ids, model, param: torch.Tensor):
            entries = torch.tensor(ids, dtype=table.dtype) * 2
            table[: len(ids)].copy_(entries, non_blocking=True)
            set_module_tensor_to_device(model, "weight", "meta", value=torch.empty(*param.size()))
    """,
    "it goes with another tensor of the host, which is moved afterwards": """
        import torch
        def ids(embeds: torch.Tensor, device):
            text = torch.zeros(embeds.shape[1], 3)
            text[..., 1] = text[..., 1] + torch.arange(embeds.shape[1])[None, :]
            text = text.to(device=device)
            return embeds, text
        def drop(hidden: torch.Tensor, n):
            kept = torch.ones((hidden.shape[0],)) * n
            dropout = torch.randint(1, n, (hidden.shape[0],))
            kept[:2] = dropout[:2]
            kept = kept.to(hidden.device)
            return kept
    """,
    "what comes of it is moved": """
        import torch
        def mask(x: torch.Tensor):
            height, width = x.shape[-2:]
            ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width))
            inside = ys**2 + xs**2 <= 4
            return x * inside.unsqueeze(0).to(x.device)
        class Search:
            def pad(self, hypotheses, longest):
                total = torch.zeros(3, device=self.device)
                parts = []
                for one in hypotheses:
                    parts.append(torch.cat([torch.tensor(one), torch.tensor([0] * longest)]))
                return total, torch.stack(parts).to(self.device)
            def label(self, points: torch.Tensor, labels):
                if labels is None:
                    labels = torch.ones(points.shape[0])
                return torch.as_tensor(labels, device=self.device)
    """,
    "the size of what a tokenizer, or the host, gave": """
        import torch
        def encode(tokenizer, prefix, batch, device):
            tokens = tokenizer.pad(batch, return_tensors="pt")
            prefix = torch.tensor(prefix, dtype=tokens.input_ids.dtype)
            ids = torch.cat((prefix, tokens.input_ids[0]), dim=-1)
            return ids.to(device)
        def positions(size):
            coords = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size)))
            relative = (coords[:, :, None] - coords[:, None, :]).contiguous()
            index = torch.zeros(size=(size + 1, size + 1), dtype=relative.dtype)
            index[1:, 1:] = relative.sum(0)
            return index
    """,
    "a helper that says what it takes": """
        def cast(value, reference):
            \"\"\"Move `value` (a tensor or a tuple) to the place of `reference`.\"\"\"
            if isinstance(value, torch.Tensor):
                return value.to(device=reference.device)
            if isinstance(value, tuple):
                return tuple(cast(item, reference) for item in value)
            return value
        import torch
    """,
    "an index that was computed with a constant of the module": """
        import torch
        CODES = torch.arange(16, 256)
        COLOURS = torch.rand(240, 3)
        def nearest(rgb: torch.Tensor):
            distance = rgb @ COLOURS.T
            return CODES[distance.argmin(1)]
    """,
    "a parameter that its own item replaces": """
        import torch
        class Walks:
            def __init__(self):
                self.column = torch.arange(9)
            def walk(self, batch: torch.Tensor):
                return sample(self.column, batch)
        def sample(column: torch.Tensor, subset: torch.Tensor):
            chosen = torch.zeros(3, device=subset.device).long() + subset
            column = column[chosen] if column.numel() > 0 else chosen
            return column
    """,
    "compared in a loop with what is drawn on the host": """
        import torch
        def shuffle(x: torch.Tensor):
            order = torch.randperm(x.size(0))
            same = torch.arange(x.size(0))
            while (order == same).all():
                order = torch.randperm(x.size(0))
            return x[order]
    """,
    "lengths by the name of their argument": """
        import torch
        class Voice(torch.nn.Module):
            def decode(self, wave: torch.Tensor, tokens: torch.Tensor):
                frames = len(tokens) // 2
                return self.pitch(wave[None], feats_lengths=torch.LongTensor([frames]))
    """,
    "what comes of it is read by numpy": """
        import torch
        class Model(torch.nn.Module):
            def slope(self, utility, d, as_array=False):
                if as_array:
                    utility = torch.tensor(utility, dtype=self.points.dtype)
                steep = self.likelihood.sum(utility=utility, d=d)
                whole = steep + d
                return whole.numpy() if as_array else whole
    """,
    "what comes of it is read as a list": """
        import torch
        class Wrapper(torch.nn.Module):
            def generate(self, n):
                device = next(self.net.parameters()).device
                times = torch.linspace(0., 1., self.steps + 1)
                ids = torch.full((n,), self.mask_id, device=device)
                counts = (self.schedule(times[1:]) * self.length).long()
                for count in counts.tolist():
                    ids = self.net(ids, count)
                return ids
    """,
    "its elements are the bounds of slices": """
        import torch
        def parts(x: torch.Tensor, n, k):
            bounds = torch.linspace(0, x.shape[0], n + 1).to(torch.int)
            start = bounds[k]
            stop = bounds[k + 1]
            return x[start:stop]
    """,
    "a function that gives a number, in a class with a device": """
        import torch
        class Score:
            def reset(self):
                self.total = torch.zeros(3, device=self._device)
            def compute(self) -> float:
                value = distance(self.total)
                if torch.isnan(torch.tensor(value)):
                    print("not a number")
                return value
            def bleu(self, rows) -> float:
                hits = torch.zeros(self.order + 1)
                seen = self.count(rows, hits=hits)
                return self.penalty(hits, seen)
    """,
    "a number is asked for, though not a float is said to be returned": """
        import torch
        class Score:
            def compute(self):
                total = torch.zeros(3, device=self._device)
                value = distance(total)
                if torch.isnan(torch.tensor(value)) or torch.isinf(torch.tensor(value)):
                    print("not a number")
                return value
    """,
    "numbers are reduced to one": """
        import torch
        def search(encoded: torch.Tensor):
            found = {"scores": [0.0 for _ in range(encoded.size(0))]}
            for step in range(encoded.size(1)):
                found["scores"][0] += encoded[0, step]
            return torch.Tensor(found["scores"]).exp().mean()
    """,
    "what the first turn replaces": """
        import torch
        class Decoder(torch.nn.Module):
            def infer(self, memory, lengths):
                turns = torch.zeros([memory.size(0)], device=memory.device)
                frames, gates = (torch.zeros(1), torch.zeros(1))
                first = True
                while True:
                    frame, gate = self.decode(memory)
                    if first:
                        frames = frame.unsqueeze(0)
                        gates = gate
                        first = False
                    else:
                        frames = torch.cat((frames, frame.unsqueeze(0)), dim=0)
                        gates = torch.cat((gates, gate), dim=0)
                    turns += torch.sigmoid(gate)
                    if len(frames) == self.most:
                        break
                return frames, gates
    """,
    "one container of several that begin empty": """
        import torch
        def walk(layers, types, store: dict):
            edges = {kind: torch.empty(0, dtype=torch.int64) for kind in types}
            for layer in layers:
                for kind in types:
                    out = layer(kind)
                    store[kind] = torch.cat([store[kind], out.node])
                    edges[kind] = torch.cat([edges[kind], out.edge])
            return edges
    """,
    "a plain number": """
        import torch
        def encode(x: torch.Tensor, channels: int):
            mu = channels - 1.0
            if not x.is_floating_point():
                x = x.to(torch.float)
            mu = torch.tensor(mu, dtype=x.dtype)
            return torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    """,
    "rows for all that a dataset holds": """
        import torch
        def collect(loader, model, device):
            begin = 0
            for number, batch in enumerate(loader):
                found = model(batch.to(device))
                if number == 0:
                    rows = torch.zeros(len(loader.dataset), found.size(1))
                rows[begin : begin + found.size(0)] = found
                begin += found.size(0)
            return rows
    """,
    "compared, and given to what is moved as a whole": """
        import torch
        class Attention(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                n = x.shape[0]
                mask = torch.zeros(n, n).masked_fill(torch.tril(torch.ones(n, n)) == 0, -1e9).to(x.device)
                return x + mask
    """,
    "numbers of samples for what keeps them, flags for the caller": """
        import torch
        class Brain:
            def start(self):
                self.total = torch.zeros(3, device=self.device)
            def note(self, samples):
                ids = torch.arange(1, len(samples) + 1)
                self.mean_metric.append(ids, samples)
                self.spread_metric.append(ids, samples)
            def known(self):
                return torch.tensor([not one.requires_grad for one in self.weights])
    """,
    "drawn by weights of the host, named as the input": """
        import torch
        def half(n):
            mask, weights = torch.zeros(n).byte(), torch.ones(n).float()
            chosen = torch.multinomial(input=weights, num_samples=n // 2, replacement=False)
            mask[chosen] += 1
            return mask
    """,
    "coins that are thrown on the host": """
        import torch
        class Masking:
            def corrupt(self, ids, special=None):
                p = torch.full(ids.shape, self.p)
                special = torch.tensor(self.known(ids)) if special is None else special.bool()
                p.masked_fill_(special, value=0.0)
                hidden = torch.bernoulli(p).bool()
                swapped = torch.bernoulli(torch.full(ids.shape, 0.5)).bool() & hidden
                words = torch.randint(self.n, (4, 9))
                ids[swapped] = words[swapped]
                return ids
    """,
    "one of one, taken out: a number for a shift": """
        import torch
        def shifted(pair):
            x, y = pair
            channels, height, width = x.shape
            row = torch.randint(low=0, high=height, size=(1,))[0]
            column = torch.randint(height, (1,))[0] - height // 2
            return torch.roll(x, (height // 2 - row, column), dims=(0, 1))
    """,
    "a part of the way, for a number of elements": """
        import torch
        def fade(x: torch.Tensor):
            return torch.cos(x * (torch.pi / 2))
        def steps(state, n: int, fixed=None):
            device = state.device
            scores = torch.zeros(4, 9, device=device)
            if fixed is not None:
                n = len(fixed)
            for step in range(n):
                part = step / n
                left = fade(torch.tensor(part))
                hidden = torch.ceil(9 * left).long()
                _, best = torch.topk(scores, k=9 - hidden, dim=1)
            return best
    """,
    "two grids from which lists are made": """
        import torch
        class Positions(torch.nn.Module):
            def table(self, sizes):
                device = self.weight.device
                ids = [[], []]
                for h, w in sizes.tolist():
                    rows = torch.linspace(0, self.n - 1, h)
                    columns = torch.linspace(0, self.n - 1, w)
                    below = rows.int() * self.n
                    above = (rows.int() + 1).clip(max=self.n - 1)
                    right = columns.int()
                    indices = [(below[None].T + right[None]).flatten(), (above[None].T + right[None]).flatten()]
                    for i in range(2):
                        ids[i].extend(indices[i].tolist())
                return torch.tensor(ids, dtype=torch.long, device=device)
    """,
    "rows of a table that a module picks": """
        import torch
        class Offsets(torch.nn.Module):
            def __init__(self, n, mode, device):
                super().__init__()
                self.n, self.mode = n, mode
                if mode != "off":
                    self.table = torch.nn.Parameter(torch.zeros(n, 6, device=device))
            def forward(self, rows: torch.Tensor):
                if self.mode == "off":
                    return torch.eye(4)[None].tile(rows.shape[0], 1, 1)
                return self.table[rows, :].exp()
            def all(self):
                return self(torch.arange(0, self.n).long())
            def of(self, camera):
                return self(torch.tensor([camera.index], dtype=torch.long)).to(camera.device)
    """,
    "what is picked goes back to where the indices are": """
        import torch
        def offsets_of(n):
            offsets = torch.empty(2 * n + 1, dtype=torch.long)
            for i in range(2 * n):
                offsets[i] = i
            return offsets
        class Corruption(torch.nn.Module):
            def __init__(self, n, rows):
                super().__init__()
                self.rows, self.offsets = rows, offsets_of(n)
            def corrupt(self, batch: torch.Tensor):
                other = batch.unsqueeze(dim=1).repeat(1, 4, 1)
                r = batch[:, 1]
                first = self.offsets[2 * r].unsqueeze(dim=-1)
                last = self.offsets[2 * r + 2].unsqueeze(dim=-1)
                ids = self.rows[first + (torch.rand(4) * (last - first)).long()]
                other[torch.arange(4), 0] = ids
                return other
    """,
    "what pins a tensor is given that tensor, a backend names its device": """
        import torch
        class Offload:
            def keep(self, x, accelerator, device):
                self.buffer = accelerator().pin_memory(torch.empty_like(x, device="cpu"))
                return accelerator().pin_memory(torch.empty(3, device=device))
            def pin(self, tensor):
                return tensor.pin_memory(self.device())
    """,
    "the modules of a list are registered in a sequence, too": """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self, n, width):
                super().__init__()
                self.layers = [nn.Linear(width, width)]
                for _ in range(n):
                    self.layers.append(nn.Linear(width, width))
                acts = [nn.ReLU() for _ in self.layers]
                parts = sum(zip(self.layers, acts), ())[:-1]
                self.body = nn.Sequential(*parts)
            def forward(self, x):
                for one in self.layers:
                    x = one(x)
                return self.body(x)
    """,
    "functions of numpy that ask the tensor itself": """
        import numpy as np
        import torch
        def spots(model, x, device):
            mask = model(x.to(device))
            rows = np.nonzero(mask.detach())
            return np.squeeze(mask.detach()), rows.shape[0]
    """,
    "a flag of the object's own, called like that of tensors": """
        import torch
        class Model(torch.nn.Module):
            def __init__(self, cuda=False):
                super().__init__()
                self.is_cuda = cuda
            def fit(self, loader):
                for rows, sizes in loader:
                    if self.is_cuda:
                        rows = rows.cuda()
                    self.step(rows)
    """,
    "a generator for the device that another file makes the default": """
        import torch
        from torch.utils.data import DataLoader
        class Model(torch.nn.Module):
            def __init__(self, use_gpu=False):
                super().__init__()
                self.use_gpu = use_gpu
            def fit(self, rows):
                if self.use_gpu:
                    device = torch.device("cuda")
                else:
                    device = torch.device("cpu")
                loader = DataLoader(rows, batch_size=2, shuffle=True, generator=torch.Generator(device=device))
                for batch in loader:
                    if self.use_gpu:
                        batch = batch.cuda()
                    self.step(batch)
    """,
    "a checkpoint of which the model keeps a part": """
        import torch
        def restore(path):
            checkpoint = torch.load(path)
            config = checkpoint["config"]
            model = build(config).to(config["device"])
            model.load_state_dict(checkpoint["state_dict"])
            model.load_other_values(checkpoint.get("other_values"))
            return config, model
    """,
    "a number for a sum that somebody else keeps": """
        import torch
        def count(m, x, y):
            x = x[0]
            work = torch.DoubleTensor([2 * x.numel()])
            m.total += work
    """,
    "the parts of a sparse tensor of an old type, which takes none of a device": """
        import torch
        import numpy as np
        from models import Recommender
        class Graph(Recommender):
            def __init__(self, config, dataset):
                super().__init__(config, dataset)
                self.matrix = dataset.matrix()
                self.graph = self.adjacency().to(self.device)
            def centers(self, x):
                return torch.Tensor(x).to(self.device)
            def adjacency(self):
                m = self.matrix
                where = torch.LongTensor(np.array([m.row, m.col]))
                values = torch.FloatTensor(m.data)
                sparse = torch.sparse.FloatTensor(where, values, torch.Size(m.shape))
                return sparse
    """,
    "what a private function has read by numpy before": """
        import torch
        from sklearn.linear_model import LinearRegression
        class Adjust:
            @staticmethod
            def _adjust(theta: torch.Tensor, x: torch.Tensor, observed: torch.Tensor) -> torch.Tensor:
                line = LinearRegression()
                line.fit(X=x.numpy(), y=theta.numpy())
                change = line.predict(observed.numpy()) - line.predict(x.numpy())
                return theta + torch.from_numpy(change)
    """,
    "indices drawn by weights of the host, given by name": """
        import torch
        def halves(n):
            mask = torch.zeros(n).byte()
            weights = torch.ones(n).float()
            rows = torch.multinomial(input=weights, num_samples=n // 2, replacement=False)
            mask[rows] += 1
            return mask
    """,
    "lists, in a comprehension whose variable has the name of another's tensors": """
        import torch
        from typing import List
        def parts(n, *sizes) -> List[torch.tensor]:
            ends = torch.cumsum(torch.tensor(sizes), dim=0)
            rows = torch.randperm(n).tolist()
            return [rows[end - size : end] for end, size in zip(ends, sizes)]
        class Groups:
            def split(self, dataset, *sizes):
                ids = torch.tensor(dataset.ids)
                groups = torch.unique(ids)
                found = parts(len(groups), *sizes)
                found = [torch.isin(ids, groups[p]) for p in found]
                return [torch.where(p)[0].tolist() for p in found]
    """,
    "padded rows that may be anywhere, with indices like them": """
        import torch
        from torch.nn.utils.rnn import pad_sequence
        class Match(torch.nn.Module):
            def collect(self, stops, rows, scores):
                stops = torch.stack(stops)
                order = torch.arange(stops.shape[0])
                stops = stops[stops[order]]
                rows, others = (pad_sequence(one, batch_first=True, padding_value=-1) for one in [rows, scores])
                rows, others = (one[stops] for one in [rows, others])
                return rows, others
    """,
    "a sum of parts that are brought to the host": """
        import torch
        class Flow:
            def sample(self, condition, score=False):
                total = torch.zeros(condition.shape[0]) if score else None
                for i in range(4):
                    found = self.model.predict(condition[:, :i])
                    if score and total is not None:
                        part = -found["criterion"](found["logits"])
                        part = part.to("cpu")
                        part = torch.where(part == float("-inf"), 0.0, part)
                        total += part
                return total
    """,
    "indices that a constructor has registered": """
        import torch
        from tables import parts
        class Convolution(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                table, rows, columns = parts(size)
                self.register_buffer("rows", rows)
                self.register_buffer("table", table)
                degrees = torch.repeat_interleave(torch.arange(size), torch.arange(size))
                self.register_buffer("picked", degrees[self.rows])
            def forward(self, x):
                return self.table[self.rows] * x
    """,
    "nothing at all, in the place of weights that are given one by one": """
        import torch
        import torch.nn.functional as F
        class Attention(torch.nn.Module):
            def attend(self, x: torch.Tensor, bias: torch.Tensor):
                q = k = v = x.transpose(0, 1)
                joined = torch.cat((self.q.bias, self.k.bias, self.v.bias))
                return F.multi_head_attention_forward(
                    q, k, v, self.size, self.heads, torch.empty([0]), joined, None, None, False, 0.1,
                    self.out.weight, self.out.bias, attn_mask=bias, use_separate_proj_weight=True,
                    q_proj_weight=self.q.weight, k_proj_weight=self.k.weight, v_proj_weight=self.v.weight,
                )
    """,
    "joined on the host, and copied into a part of a tensor": """
        import torch
        import numpy as np
        class Times(Mixin):
            def start(self, n):
                return torch.zeros(n, device=self.device)
            def times(self, out, weights, n=None):
                stamps = torch.zeros((4, 5), dtype=torch.float32, device=out.sequences.device)
                for i in range(4):
                    found = walk(-weights[i].cpu().double().numpy())
                    jumps = np.diff(found) * 0.02
                    stamps[i] = torch.cat(
                        [torch.zeros(n), torch.tensor(jumps), torch.tensor([jumps[-1]])]
                    )
                return stamps
    """,
    "rows of what the caller's lengths pick, beside what is made on a device": """
        import torch
        class Extractor(Base):
            def extract(self, wave, lengths, device: str = "cpu"):
                window = torch.hamming_window(400, device=device, dtype=torch.float64)
                size = wave.shape[0]
                frames = wave.unfold(-1, 400, 160)
                if size > 1:
                    frames = frames.clone()
                    rows = torch.arange(size)[lengths != lengths.max()]
                    if rows.numel() > 0:
                        low = (lengths[rows] - 400) // 160 + 1
                        high = (lengths[rows] // 160) - 1
                        first = low.min()
                        last = high.max()
                        mask = torch.arange(last - first, device=device).expand(rows.shape[0], -1)
                        mask = ((low - first).unsqueeze(1) <= mask) & (mask < (high - first).unsqueeze(1))
                        kept = frames[rows, first:last].masked_fill_(mask.unsqueeze(-1), 0)
                        frames[rows, first:last] = kept
                return window * frames
    """,
    "given to a batch by name, and moved with it": """
        import torch
        class Voices:
            def empty(self):
                return torch.zeros(3, device=self.device)
            def complete(self, batch):
                ids = None
                if self.speakers is not None:
                    ids = [self.speakers[one] for one in batch["names"]]
                if ids is not None:
                    ids = torch.LongTensor(ids)
                batch["ids"] = ids
                return batch
    """,
    "only a model for another one, made elsewhere": """
        import torch
        def restore(args, inputs, buffers):
            for arg, inp in zip(args, inputs):
                size = torch.tensor(arg.size())
                arg.data = torch.empty([], device=arg.device).data
                model = torch.tensor(())
                buffers.append(model.new_empty([size.numel()], dtype=size.dtype, device=size.device))
    """,
    "what has a shape and a dtype may be the file's own": """
        import torch
        class Gathered:
            def __init__(self, parts, shape):
                self.parts = parts
                self.shape = shape
                self.dtype = parts[0].dtype
            def contiguous(self):
                return torch.cat(self.parts).view(self.shape)
        def as_tensors(state, empty=False, dtype=None):
            found = {}
            for name, tensor in state.items():
                target = dtype if tensor.dtype.is_floating_point else None
                if empty:
                    found[name] = torch.empty(tensor.shape, dtype=target or tensor.dtype)
                else:
                    found[name] = tensor.contiguous()
            return found
    """,
    "a parameter in one branch, an embedding in the other": """
        import torch
        class Softmax(torch.nn.Module):
            def __init__(self, n, sparse):
                super().__init__()
                self.sparse = sparse
                if sparse:
                    self.bias = torch.nn.Embedding(num_embeddings=n, embedding_dim=1, sparse=True)
                    self.bias.weight.data.fill_(0.0)
                else:
                    self.bias = torch.nn.Parameter(torch.zeros(n))
            def forward(self, targets: torch.Tensor):
                ids = torch.cat([targets, targets + 1], dim=0)
                if self.sparse:
                    return self.bias(ids.unsqueeze(1)).squeeze(2)
                return torch.nn.functional.embedding(ids, self.bias.unsqueeze(1)).squeeze(1)
    """,
}


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_no_edit(program: str) -> None:
    codes = frozenset(one.code for one in all_rules())
    outcome = check(Source("work.py", dedent(program).encode()), Options(codes))
    assert isinstance(outcome, Checked)
    assert [one.message for one in outcome.findings if one.fix is not None and one.fix.edits] == []
