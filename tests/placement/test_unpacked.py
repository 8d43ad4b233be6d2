"""What a function returns in a display, and its callers unpack by position."""

import pytest

PROGRAM = """
    import matplotlib.pyplot as plt
    def prepare(image, device):
        raw = image.copy()
        image = torch.from_numpy(image).to(device)
        return image, raw
    def main(image, device):
        image, raw = prepare(image, device)
        {}
"""


def test_one_place_is_not_that_of_its_neighbour(placed) -> None:
    assert placed(PROGRAM.format("plt.imshow(raw.numpy())")).births == []


def test_each_place_is_found(placed) -> None:
    (reader,) = placed(PROGRAM.format("plt.imshow(image.numpy())")).conflicts
    assert reader.confidence > 0.86


def test_all_returns_count(placed) -> None:
    program = """
        def load(n, device, flag):
            if flag:
                return None
            return torch.zeros(n), torch.ones(n).to(device)
        def main(n, device):
            left, right = load(n, device, False)
            return left + right
    """
    assert placed(program).births == ["torch.zeros(n)"]


SHORTER = """
    def load(path, device):
        if not path.exists():
            return None, None
        options, net, head = torch.load(path)
        net = net.to(device)
        return options, net, head
    def main(path, device: torch.device, loader):
        options, net, head = load(path, device)
        head = head.to(device)
        criterion = nn.CrossEntropyLoss()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            criterion({}, y).backward()
"""


def test_what_a_shorter_return_gives_is_not_unpacked_there(placed) -> None:
    assert placed(SHORTER.format("head(net(x))")).births == []


def test_what_stays_on_the_host_beside_a_shorter_return_is_found(placed) -> None:
    program = """
        def load(n, device):
            if n == 0:
                return None, None
            return n, torch.zeros(n, device=device), torch.ones(n)
        def main(n, device: torch.device):
            n, left, right = load(n, device)
            return left + right
    """
    assert placed(program).births == ["torch.ones(n)"]


LOADED = """
    import pickle
    def load(path, device):
        if path is None:
            return {nothing}
        with open(path, "rb") as file:
            options, net, head, pool = pickle.load(file)
        {moved}
        return options, net, head, pool
    def main(path, batches, device):
        options, net, head, pool = load(path, device)
        head = head.to(device)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], options.rate)
        for x, y in batches:
            loss = F.cross_entropy(head(pool(net(x.to(device)))), y.to(device))
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize("nothing", ["None", "None, None", "None, None, None, None"])
def test_a_place_is_that_of_the_displays_that_have_it(placed, nothing: str) -> None:
    """A caller that unpacks four ends where it gets two: none of these is another one's neighbour."""
    assert placed(LOADED.format(nothing=nothing, moved="net = net.to(device)")).births == []


def test_a_module_that_no_function_moves_belongs_to_those_that_come_with_it(placed) -> None:
    assert placed(LOADED.format(nothing="None, None", moved="print(net)")).births == ["net"]


def test_displays_of_several_lengths(placed) -> None:
    program = """
        def load(n, device, flag):
            if flag:
                return torch.zeros(n), torch.ones(n).to(device)
            return torch.full((n,), 2.0), torch.ones(n).to(device), torch.eye(n)
        def main(n, device):
            left, right, *_ = load(n, device, False)
            return left + right
    """
    assert placed(program).births == ["torch.zeros(n)", "torch.full((n,), 2.0)"]


def test_what_stands_behind_a_star_is_not_counted(placed) -> None:
    program = """
        def load(n, device):
            return *n.parts(), torch.ones(3).to(device)
        def main(n, device):
            first, second = load(n, device)
            return second + torch.zeros(3)
    """
    (found,) = placed(program).conflicts
    assert found.confidence < 0.75  # that of any part
