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
