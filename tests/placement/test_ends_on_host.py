"""What makes numbers, lists or arrays of a tensor, or picks with it, asks for no device."""

import pytest

BESIDE = """
    def main(x, y, rows, device):
        mask = torch.ones(3, 3, device=device)
        bias = torch.zeros(3, device=device)
        other = torch.zeros(3, device=device)
        made = torch.{made}
        {used}
        return x.to(device) * mask + bias * other
"""

ON_HOST = {
    "a list": ("linspace(0, 1, 10)", "print(list(reversed(made.int().tolist())))"),
    "a number": ("tensor(rows, dtype=torch.float)", "print(float(made.mean()))"),
    "an item": ("arange(3)", "print((made * 2)[0].item())"),
    "an array": ("arange(3)", "print(made.numpy())"),
    "an index": ("randperm(3)", "x = x[made]"),
    "an index in a row": ("arange(3)", "x = x[made.unsqueeze(1), rows]"),
    "a copy": ("arange(3)", "print(made.cpu())"),
}


@pytest.mark.parametrize(("made", "used"), ON_HOST.values(), ids=ON_HOST)
def test_what_ends_on_the_host(placed, made: str, used: str) -> None:
    assert f"torch.{made}" not in placed(BESIDE.format(made=made, used=used)).births


ELSEWHERE = {
    "given": ("linspace(0, 1, 10)", "y.run(made)"),
    "given and a list": ("linspace(0, 1, 10)", "y.run(made); print(made.tolist())"),
    "met": ("arange(3)", "print((made * mask).sum().item())"),
    "kept": ("arange(3)", "y.rows = made"),
    "picked from": ("arange(3)", "y.run(made[mask])"),
    "handed on": ("zeros(3)", "y.run(made.view(-1))"),
    "returned": ("arange(3)", "if rows: return made"),
}


@pytest.mark.parametrize(("made", "used"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_does_not(placed, made: str, used: str) -> None:
    assert f"torch.{made}" in placed(BESIDE.format(made=made, used=used)).births


BATCH = """
    def judge(net, loader, device):
        for batch in loader:
            x = batch["x"].to(device)
            y = batch["y"]
            guess = net(x).argmax(dim=1){copied}
            {used}
"""
MET = {
    "compared": "print((guess == y).sum())",
    "compared, in another shape": "print((guess.reshape(-1) == y.reshape(-1)).sum())",
    "computed with": "print((3 * guess + y).sum())",
    "read": "print(accuracy(guess.tolist(), y.numpy()))",
    "read by parts": "for a, b in zip(y, guess): print(np.unique(a.numpy()), b)",
}


@pytest.mark.parametrize("used", MET.values(), ids=MET)
def test_what_meets_a_copy_on_the_host_is_meant_to_stay_beside_what_is_moved(placed, used: str) -> None:
    assert placed(BATCH.format(copied=".cpu()", used=used)).births == []


@pytest.mark.parametrize("used", ["print((guess == y).sum())", "print(score(guess, y))"])
def test_what_meets_something_else_is_not(placed, used: str) -> None:
    assert placed(BATCH.format(copied="", used=used)).births == ["batch['y']"]


def test_what_is_collected_and_read_stays_in_the_second_loop(placed) -> None:
    program = """
        def train(net, loader, others, device):
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                F.cross_entropy(net(x), y).backward()
            found = []
            for x, y in others:
                print(net(x.to(device)))
                found.append(y{})
            return {}
    """
    assert placed(program.format("", "torch.cat(found).numpy()")).births == []
    assert placed(program.format("", "found")).births == ["y"]


def test_what_a_reader_may_write_through_is_on_the_host_as_well(placed) -> None:
    program = """
        def train(net, loader, others):
            for x, y in others:
                show(net(x.cuda()), {})
            for x, y in loader:
                x, y = x.cuda(), y.cuda()
                F.cross_entropy(net(x), y).backward()
    """
    assert placed(program.format("y.data.numpy()")).births == []
    assert placed(program.format("y.data")).births == ["y"]


def test_what_is_left_in_a_row_is_where_the_row_was(placed) -> None:
    program = """
        def train(net, rows, others, device):
            for x, y in rows:
                x, y = x.to(device), y.to(device)
                net(x).sum().backward()
            for x, y in others:
                print(net({}), y.numpy())
    """
    assert placed(program.format("x.to(device)")).births == []
    assert placed(program.format("x")).births == ["x", "y"]
