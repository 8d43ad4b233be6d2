"""Displays that move their values, but one."""

import pytest
from devfix_codemods.findings import Safety

LOOP = """
    from torch.utils.data import DataLoader
    def train(net, data, flag):
        for x, y in DataLoader(data):
            if flag:
                {}
            print(judge(x, y))
"""


@pytest.mark.parametrize(
    ("display", "repaired"),
    [
        ("x, y = x.cuda(), y", "x, y = x.cuda(), y.cuda()"),
        ("x, y = x, y.to('cuda')", "x, y = x.to('cuda'), y.to('cuda')"),
    ],
)
def test_who_names_a_value_in_a_row_of_moves_means_to_move_it(repairs, display: str, repaired: str) -> None:
    assert repaired in repairs.written(LOOP.format(display), Safety.UNSAFE)


def test_that_it_is_meant_is_no_proof(repairs) -> None:
    program = LOOP.format("x, y = x.cuda(), y")
    assert repairs.written(program, Safety.SAFE) == repairs.plain(program).split("functional as F\n")[1]


@pytest.mark.parametrize("display", ["x, n = x.cuda(), y", "x, y = x.cuda(), y.tolist()", "x, y = x.cpu(), y"])
def test_what_gets_another_name_or_is_on_the_host_is_none(repairs, display: str) -> None:
    program = LOOP.format(display)
    assert repairs.written(program, Safety.UNSAFE) == repairs.plain(program).split("functional as F\n")[1]


LEARNER = """
    class Learner:
        def loss(self, net, x, y, flags):
            {}
            return self.compare(net(x), y, flags)
"""


@pytest.mark.parametrize("display", ["x, y = x.to(self.device), move(y)", "x, n = x.to(self.device), y"])
def test_a_parameter_beside_one_that_is_moved_may_stay(repairs, display: str) -> None:
    assert repairs.added(LEARNER.format(display), Safety.UNSAFE) == []


@pytest.mark.parametrize("display", ["x, y = x.to(self.device), y", "x, y = x, y.to(self.device)"])
def test_one_that_the_row_names_again_is_meant_to_be_moved(repairs, display: str) -> None:
    (added,) = repairs.added(LEARNER.format(display), Safety.UNSAFE)
    assert added == "x, y = x.to(self.device), y.to(self.device)"


ENCODED = """
    class Texts(torch.utils.data.Dataset):
        def encode(self, tokenizer, texts, device):
            t = {}
            self.ids, self.mask = t["ids"], t["mask"].to(device)
"""


def test_parts_of_something_else_may_stay(repairs) -> None:
    assert repairs.added(ENCODED.format("tokenizer(texts)"), Safety.UNSAFE) == []
    assert repairs.added(ENCODED.format('tokenizer(texts, return_tensors="np")'), Safety.UNSAFE) == []


def test_parts_of_an_encoding_are_moved_together(repairs) -> None:
    (added,) = repairs.added(ENCODED.format('tokenizer(texts, return_tensors="pt")'), Safety.UNSAFE)
    assert added == 't = tokenizer(texts, return_tensors="pt").to(device)'


CONVERTED = """
    from torch.utils.data import DataLoader
    class Trainer:
        def fit(self, data):
            for x in DataLoader(data):
                x = x.to(self.device)
                self.net(x)
        def predict(self, data):
            for x in DataLoader(data):
                {}
"""


def test_what_is_converted_is_a_tensor(repairs) -> None:
    written = repairs.written(CONVERTED.format("print(self.net(x.float())[0])"), Safety.UNSAFE)
    assert written.count("x = x.to(self.device)\n") == 2


def test_what_is_only_handed_on_may_be_a_list(repairs) -> None:
    written = repairs.written(CONVERTED.format("print(self.predict_rows(x))"), Safety.UNSAFE)
    assert written.count("x = x.to(self.device)\n") == 1


GIVEN = """
    from torch.utils.data import DataLoader
    net = nn.Linear(3, 3)
    net.cuda()
    def judge(x, y, z):
        x, y, z = x.cuda(), y.cuda(), z
        mask = z < 3
        out = net(x)
        return F.l1_loss(out[mask], z[mask])
    def main(data):
        for x, y, z in DataLoader(data):
            print(judge(x, y, z))
"""


def test_what_a_function_leaves_is_moved_there_and_not_where_it_is_unpacked(repairs) -> None:
    assert repairs.added(GIVEN, Safety.UNSAFE) == ["x, y, z = x.cuda(), y.cuda(), z.cuda()"]
