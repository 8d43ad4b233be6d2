"""What a function returns in a display, and its callers unpack by position."""

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
