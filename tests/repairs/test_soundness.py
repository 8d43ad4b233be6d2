"""Edits that are no Python, and moves of a value to its own device, are no repairs."""

import pytest
from devfix_codemods.findings import Safety

SUM = """
    def average(nets, model, device):
        model.to(device)
        state = model.state_dict()
        total = {{}}
        for key in state:
            total[key] = torch.zeros(3)
        for net in nets:
            net.to(device)
            given = net.state_dict()
            for key in total:
                {add}
        return total
"""


@pytest.mark.parametrize("add", ["total[key] += given[key]", "total[key] += given[key] - state[key]"])
def test_what_is_assigned_to_is_not_wrapped(repairs, add: str) -> None:
    compile(repairs.written(SUM.format(add=add), Safety.SUGGESTION), "train.py", "exec")
    assert ") +=" not in repairs.written(SUM.format(add=add), Safety.SUGGESTION)


AVERAGE = """
    class Average(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.register_buffer("decay", torch.tensor(0.9))
            for name, value in model.named_parameters():
                self.register_buffer(name, value.clone().detach().data)
        def forward(self, model):
            rest = 1.0 - self.decay
            given = dict(model.named_parameters())
            kept = dict(self.named_buffers())
            for key in given:
                kept[key] = kept[key].type_as(given[key])
                {update}
"""


@pytest.mark.parametrize(
    "update", ["kept[key].sub_(rest * (kept[key] - given[key]))", "kept[key].data.lerp_(given[key], rest)"]
)
def test_what_is_changed_in_place_is_not_copied(repairs, update: str) -> None:
    receiver = update.partition("(")[0]
    assert f"            {receiver}(" in repairs.written(AVERAGE.format(update=update), Safety.SUGGESTION)


COORDINATES = """
    class Coordinates(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer
        def forward(self, t, x):
            h, w = x.shape
            hh = torch.arange(h).to({place}).view(1, 1, h, 1)
            tt = t.to({place}).view(1, 1, 1, 1)
            return self.layer(torch.cat([x, tt, hh], 1))
"""


def test_what_follows_a_value_is_where_it_is(repairs) -> None:
    assert repairs.findings(COORDINATES.format(place="x")) == ()


def test_a_module_is_not_moved_to_its_own_parameters(repairs) -> None:
    program = """
        class Split(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.head = nn.Parameter(torch.zeros(size))
            def forward(self, x):
                return (x * self.head).sum()
        def main():
            embed = nn.Embedding(4, 4)
            crit = Split(4)
            optimizer = torch.optim.SGD(list(embed.parameters()) + list(crit.parameters()), lr=1)
            x = torch.rand(4).long()
            crit(embed(x).squeeze()).backward()
            optimizer.step()
        if __name__ == "__main__":
            main()
    """
    assert "crit.to(next(crit" not in repairs.written(program, Safety.SUGGESTION)


STATES = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n
            self.cell = nn.{cell}(n, n)
        def forward(self, x):
            state = {state}
            out = []
            for g in x:
                y, state = self.cell(g.view(1, 1, -1), state)
                out.append(y)
            return torch.stack(out)
"""


def test_a_state_of_two_tensors_is_not_moved_as_one(repairs) -> None:
    program = STATES.format(cell="LSTM", state="(torch.rand(1, 1, self.n), torch.rand(1, 1, self.n))")
    written = repairs.written(program, Safety.SUGGESTION)
    assert "state.to(" not in written
    assert written.count("device=x.device") == 2


def test_a_state_of_one_tensor_follows_the_input(repairs) -> None:
    program = STATES.format(cell="GRU", state="torch.rand(1, 1, self.n)")
    assert "state.to(g.device)" in repairs.written(program, Safety.SUGGESTION)


MADE_FOR_OTHERS = """
    class Head(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.fc = nn.Linear(size, 2)
        def forward(self, x):
            return self.fc(x)
    def small(**options):
        net = Head(4, **options)
        return net
    def large(**options):
        net = Head(8, **options)
        return net
    {test}:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Head(3).to(device)
        print(net(torch.zeros(3, 3).to(device)))
"""


def test_what_nothing_here_calls_reads_no_name_of_the_script(repairs) -> None:
    program = MADE_FOR_OTHERS.format(test='if __name__ == "__main__"')
    assert "options).to(device)" not in repairs.written(program, Safety.SUGGESTION)


def test_a_name_of_the_file_is_there(repairs) -> None:
    program = MADE_FOR_OTHERS.format(test="if True")
    assert "options).to(device)" in repairs.written(program, Safety.SUGGESTION)


def test_what_a_loop_asks_for_none_is_moved_where_it_is_none_no_more(repairs) -> None:
    program = """
        from prefetch import Prefetcher
        def train(net, loader):
            net = net.to("cuda")
            ahead = Prefetcher(loader)
            x, y = ahead.following()
            while x is not None:
                net(x, y.to("cuda")).sum().backward()
                x, y = ahead.following()
    """
    assert repairs.written(program, Safety.UNSAFE).count("if x is not None:") == 2


MEASURED = """
    class Model:
        def feed(self, data):
            self.size = np.array(data["y"].size())
            self.y = data["y"]
            self.x = data["x"].to(self.device)
            if self.noise.size(0) != 3:
                self.noise.resize_(3)
        def fit(self, net: nn.Module):
            net.to(self.device)
            return F.mse_loss(net(self.x), self.y)
"""


def test_what_is_only_measured_is_not_moved_there(repairs) -> None:
    assert 'data["y"].size()' in repairs.written(MEASURED, Safety.SUGGESTION)


def test_what_is_kept_there_is(repairs) -> None:
    kept = MEASURED.replace('np.array(data["y"].size())', 'data["y"]').replace('self.y = data["y"]\n', "pass\n")
    assert 'data["y"].to(self.device)' in repairs.written(kept, Safety.SUGGESTION)
