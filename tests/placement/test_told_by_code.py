"""What the code around a value tells of it: tests, constructors, generators, readers, the order of a method."""

import pytest

NOT_TOLD = {
    "what a helper leaves is no tensor": """
        def moved(batch, device):
            found = {}
            for key, value in batch.items():
                if isinstance(value, torch.Tensor):
                    found[key] = value.to(device)
                else:
                    found[key] = value
            return found
        def train(model, loader: torch.utils.data.DataLoader, device):
            model.to(device)
            for batch in loader:
                batch = moved(batch, device)
                model(**batch).loss.backward()
    """,
    "what a method leaves is no tensor": """
        class Trainer:
            def __init__(self, model, loader: torch.utils.data.DataLoader, device):
                self.device = device
                self.model = model.to(device)
                self.loader = loader
            def placed(self, inputs):
                found = inputs
                if self.device == "cuda":
                    moved = dict.fromkeys(inputs)
                    for key in inputs.keys():
                        if torch.is_tensor(inputs[key]):
                            moved[key] = inputs[key].cuda()
                        else:
                            moved[key] = inputs[key]
                    found = moved
                return found
            def train(self):
                for inputs in self.loader:
                    inputs = self.placed(inputs)
                    self.model(inputs).loss.backward()
    """,
    "what a list keeps is no tensor": """
        def moved(batch, device):
            found = []
            for one in batch:
                if not torch.is_tensor(one):
                    found.append(one)
                    continue
                found.append(one.to(device))
            return found
        def train(model, loader: torch.utils.data.DataLoader, device):
            model.to(device)
            for batch in loader:
                batch = moved(batch, device)
                model(*batch).loss.backward()
    """,
    "options that a module is made of": """
        from models import Transformer
        def step(args, model, loader: torch.utils.data.DataLoader):
            criterion = nn.MSELoss()
            for x, y in loader:
                out, adapted = model(x.cuda())
                loss = criterion(out, y.cuda()) + args.weight * adapted
                loss.backward()
        def main(args, loader):
            model = Transformer(3, args.hidden, args.heads, n=args.layers).cuda()
            step(args, model, loader)
    """,
    "parameters of a module that forgets a device": """
        class Wave(nn.Module):
            def __init__(self, n, m, device="cpu"):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(n, m))
                self.waves = nn.Parameter(torch.Tensor(n, m))
                self.register_buffer("steps", torch.zeros(n))
            def forward(self, x):
                return x @ (self.waves * self.scale) + self.steps
    """,
    "a tensor that a generator of the host fills": """
        def draw(levels, values, n, seed):
            source = torch.Generator()
            source.manual_seed(seed)
            uniform = torch.empty(values.shape[0], n, dtype=values.dtype)
            uniform.uniform_(0, 1, generator=source)
            return torch.searchsorted(levels, uniform) + values
    """,
    "a label that fills what is on the host": """
        def train(model, loader: torch.utils.data.DataLoader, n, cuda):
            if cuda:
                model.cuda()
            for inputs, labels in loader:
                chosen = torch.zeros(inputs.size(0), n)
                chosen.scatter_(1, labels.view(-1, 1), 1)
                if cuda:
                    inputs, chosen = inputs.cuda(), chosen.cuda()
                model(inputs, chosen).sum().backward()
    """,
    "a picture that the callee gives to numpy": """
        class Pictures:
            def infer(self, model, image, flip=False):
                found = model(image)
                if flip:
                    turned = image.numpy()[:, :, :, ::-1]
                    other = model(torch.from_numpy(turned.copy())).cpu().numpy()
                    found += torch.from_numpy(other.copy()).cuda()
                return found.exp()
            def all(self, model, image, flip=False):
                image = torch.from_numpy(np.expand_dims(image, axis=0))
                return self.infer(model, image, flip)
    """,
    "an attribute that is placed behind it": """
        class Weights:
            def __init__(self, weights, learn):
                self.weights = weights
                self.learn = learn
            def before(self, n):
                self.weights = torch.cat([self.weights, torch.zeros(n)])
                self.weights = torch.as_tensor(self.weights, device=self.learn.device)
    """,
    "an attribute that the constructor leaves, and a method places": """
        class Weights:
            def __init__(self, weights, learn):
                self.weights = torch.as_tensor(weights)
                self.learn = learn
            def before(self, n):
                self.weights = torch.cat([self.weights, torch.zeros(n)])
                self.weights = self.weights / torch.sum(self.weights) * n
                self.weights = torch.as_tensor(self.weights, device=self.learn.device)
    """,
    "a parameter that a function makes": """
        def positions(kind, n, d):
            if kind is None:
                table = torch.empty((n, d))
            else:
                table = torch.zeros((n, 1))
                nn.init.normal_(table, mean=0.0, std=0.1)
            return nn.Parameter(table)
        class Encoder(nn.Module):
            def __init__(self, kind, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = positions(kind, n, d)
            def forward(self, x):
                return F.dropout(self.layer(x) + self.table)
    """,
    "a parameter that a method makes": """
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = self.made(n, d)
            def made(self, n, d):
                return nn.Parameter(torch.zeros(n, d), requires_grad=False)
            def forward(self, x):
                return F.dropout(self.layer(x) + self.table)
    """,
    "a parameter that a static method makes": """
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = Encoder.made(n, d)
            @staticmethod
            def made(n, d):
                rows = torch.arange(n * d).view(n, d)
                return nn.Parameter(torch.sin(rows))
            def forward(self, x):
                return F.dropout(self.layer(x) + self.table)
    """,
    "a parameter that an initialiser fills": """
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = nn.init.xavier_uniform_(nn.Parameter(torch.empty(n, d)))
            def forward(self, x):
                return self.layer(torch.cat([x, self.table.expand(3, -1, -1)], dim=-1))
    """,
    "a parameter that two initialisers fill": """
        from torch.nn import init
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = init.normal_(init.zeros_(nn.Parameter(torch.empty(n, d))), std=0.1)
            def forward(self, x):
                return self.layer(torch.cat([x, self.table.expand(3, -1, -1)], dim=-1))
    """,
    "a wrapper whose class no import names": """
        from utils import *
        def train(model, optimizer, x, cuda):
            prior = torch.FloatTensor(np.log(x))
            prior = Variable(torch.unsqueeze(prior, 0))
            if cuda:
                prior = prior.cuda()
                model.cuda()
            rows = torch.FloatTensor(x)
            if cuda:
                rows = rows.cuda()
            rows = Variable(rows)
            loss = (model(rows) - prior).sum()
            loss.backward()
    """,
    "models of another loop, which moves them where they are": """
        class Agent:
            def __init__(self, models, device):
                self.models = models
                self.device = device
                for model in self.models.values():
                    if model is not None:
                        model.to(model.device)
            def mode(self, enabled):
                for model in self.models.values():
                    if model is not None:
                        model.enable(enabled)
    """,
    "what a library loads that is no module": """
        from transformers import RagRetriever, RagModel
        def load(name, device):
            config = RagRetriever.from_pretrained(name)
            model = RagModel.from_pretrained(name, retriever=config)
            model.to(device)
            return model
    """,
    "what stands beside an input that a mask is made of": """
        class Encoder(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.embedding = nn.Embedding(n, n)
                self.encoder = Layers(n)
            def forward(self, ids, mask=None, states=None, past=None):
                device = ids.device
                wide = self.get_extended(mask, ids.size(), device)
                return self.encoder(self.embedding(ids), mask=wide, states=states, past=past)
    """,
    "what stands beside an input that says how much is drawn": """
        from samplers import draw
        class Decoder(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layer = nn.Linear(n, n)
                self.mixed = Layers(n)
            def forward(self, x, width=None, states=None):
                noise = draw(width, device=x.device)
                return self.mixed(self.layer(x) + noise, states)
    """,
    "what another test moves": """
        class TestNet:
            def setUp(self):
                self.model = nn.Linear(3, 3)
            def test_forward(self):
                x = torch.randn(16, 3)
                print(self.model(x).size())
            def test_sample(self):
                self.model.cuda()
                print(self.model.weight.sum())
    """,
    "what another test of a runner moves": """
        import unittest
        class NetTest(unittest.TestCase):
            def setUp(self):
                self.net = nn.Linear(3, 3)
            def test_loss(self):
                loss = F.mse_loss(self.net(torch.randn(16, 3)), torch.zeros(16, 3))
                loss.backward()
            def test_on_card(self):
                self.net = self.net.to("cuda")
                self.net(torch.randn(16, 3, device="cuda"))
    """,
    "what another test keeps": """
        class TestRows:
            def setup_method(self):
                self.rows = torch.zeros(3)
            def test_sum(self):
                assert (self.rows + torch.ones(3)).sum() == 3
            def test_on_card(self):
                self.rows = self.rows.cuda()
                assert self.rows.is_cuda
    """,
}
TOLD = {
    "a table that is picked from for numpy": """
        TABLE = torch.tensor([[0, 0, 0], [255, 0, 0]])
        def colored(net, x, device):
            net.to(device)
            labels = net(x.to(device)).argmax(dim=1)
            return TABLE[labels].numpy()
    """,
    "what a test moves itself": """
        class TestNet:
            def setUp(self):
                self.model = nn.Linear(3, 3)
            def test_sample(self):
                self.model.cuda()
                x = torch.randn(16, 3)
                print(self.model(x).size())
    """,
    "what a test is given moved": """
        class TestNet:
            def setUp(self):
                self.model = nn.Linear(3, 3).cuda()
            def test_forward(self):
                x = torch.randn(16, 3)
                print(self.model(x).size())
    """,
    "what stands beside an input that a helper takes along": """
        from helpers import prepare
        def step(net: nn.Module, x, y, device):
            net.to(device)
            x = prepare(x, device)
            loss = F.cross_entropy(net(x), y)
            loss.backward()
    """,
    "a model that a library loads": """
        from transformers import AutoModel
        def load(name, x, device):
            model = AutoModel.from_pretrained(name)
            model.eval()
            return model(x.to(device))
    """,
    "tensors of another loop, which moves what they are called": """
        def train(model, loader: torch.utils.data.DataLoader, device):
            for rows in loader:
                rows = rows.to(device)
                model.to(device)(rows).sum().backward()
            for rows in loader:
                print(model(rows).sum())
    """,
    "a tensor that an initialiser fills": """
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = nn.init.xavier_uniform_(torch.empty(n, d))
            def forward(self, x):
                return F.dropout(self.layer(x) + self.table)
    """,
    "a tensor that a function makes": """
        def positions(n, d):
            table = torch.zeros((n, d))
            nn.init.normal_(table, mean=0.0, std=0.1)
            return table
        class Encoder(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.layer = nn.Linear(n, d)
                self.table = positions(n, d)
            def forward(self, x):
                return F.dropout(self.layer(x) + self.table)
    """,
    "a noise that meets what the call before has placed": """
        class Walk:
            def __init__(self, net, device):
                self.device = device
                self.net = net.to(device)
                self.state = torch.zeros(3, device=device)
            def step(self):
                noise = torch.randn(3)
                self.state = (self.state + noise).to(self.device)
                return self.net(self.state)
    """,
    "what a helper leaves may be a tensor": """
        def moved(batch, device):
            found = {}
            for key, value in batch.items():
                if key != "label":
                    found[key] = value.to(device)
                else:
                    found[key] = value
            return found
        def train(model, loader: torch.utils.data.DataLoader, device):
            model.to(device)
            for batch in loader:
                batch = moved(batch, device)
                model(batch["x"], batch["label"]).loss.backward()
    """,
    "a tensor that a module is made of, and keeps": """
        def main(n, loader: torch.utils.data.DataLoader, device):
            criterion = nn.CrossEntropyLoss(weight=torch.ones(n))
            model = nn.Linear(3, n).to(device)
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                criterion(model(x), y).backward()
    """,
    "a tensor that is no parameter": """
        class Wave(nn.Module):
            def __init__(self, n, m):
                super().__init__()
                self.layer = nn.Linear(n, m)
                self.waves = torch.ones(n, m)
            def forward(self, x):
                return self.layer(x) * self.waves
    """,
    "a tensor that no generator fills": """
        def draw(levels: torch.Tensor, values: torch.Tensor, n):
            uniform = torch.empty(values.shape[0], n, dtype=values.dtype)
            uniform.uniform_(0, 1)
            return torch.searchsorted(levels, uniform) + values
    """,
    "a label that fills what is on a device": """
        def train(model, loader: torch.utils.data.DataLoader, n, cuda):
            if cuda:
                model.cuda()
            for inputs, labels in loader:
                chosen = torch.zeros(inputs.size(0), n)
                if cuda:
                    inputs, chosen = inputs.cuda(), chosen.cuda()
                chosen.scatter_(1, labels.view(-1, 1), 1)
                model(inputs, chosen).sum().backward()
    """,
    "a picture that the callee copies back first": """
        class Pictures:
            def infer(self, model, image, flip=False):
                found = model(image)
                if flip:
                    turned = image.cpu().numpy()[:, :, :, ::-1]
                    other = model(torch.from_numpy(turned.copy()).cuda()).cpu().numpy()
                    found += torch.from_numpy(other.copy()).cuda()
                return found.exp()
            def all(self, model, image, flip=False):
                model = model.cuda()
                image = torch.from_numpy(np.expand_dims(image, axis=0))
                return self.infer(model, image, flip)
    """,
    "an attribute that was placed before it": """
        class Weights:
            def __init__(self, weights, learn):
                self.weights = weights
                self.learn = learn
            def before(self, n):
                self.weights = torch.as_tensor(self.weights, device=self.learn.device)
                self.weights = torch.cat([self.weights, torch.zeros(n)])
    """,
}


@pytest.mark.parametrize("program", NOT_TOLD.values(), ids=NOT_TOLD)
def test_what_the_code_around_places_is_not_told(placed, program):
    assert placed(program).births == []


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_the_code_around_leaves_is_told(placed, program):
    assert placed(program).births != []
