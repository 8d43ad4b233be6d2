"""What is a device by its name, and what merely gets one; which objects are tensors, and which indices pick several."""

import pytest

BUFFER = """
    class Buffer:
        def __init__(self, n):
            self.{counter} = 0
            self.state = np.zeros((n, 3))
            self.reward = np.zeros((n, 1))
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def sample(self, n):
            ind = np.random.randint(0, self.{counter}, size=n)
            return (torch.FloatTensor(self.state[ind]).to(self.device), torch.FloatTensor(self.reward[ind]){moved})
"""


@pytest.mark.parametrize("counter", ["size", "count"])
def test_an_object_with_a_size_and_a_device_is_no_tensor(placed, counter: str) -> None:
    assert placed(BUFFER.format(counter=counter, moved="")).births == ["torch.FloatTensor(self.reward[ind])"]


@pytest.mark.parametrize("counter", ["size", "count"])
def test_what_the_object_moves_is_moved(placed, counter: str) -> None:
    assert placed(BUFFER.format(counter=counter, moved=".to(self.device)")).births == []


MODEL = """
    from models import Encoder, Model
    def main(options, rows, x):
        encoder = Encoder(3).to({device})
        head = nn.Linear(3, 3){moved}
        return head(Model(encoder)(x.to({device})))
"""


@pytest.mark.parametrize("device", ["options.device", "options.get('device')", "options.devices.first()"])
def test_devices_by_what_is_called(placed, device: str) -> None:
    assert "nn.Linear(3, 3)" in placed(MODEL.format(device=device, moved="")).births


@pytest.mark.parametrize("device", ["options.device", "options.get('device')", "options.devices.first()"])
def test_what_they_move(placed, device: str) -> None:
    assert "nn.Linear(3, 3)" not in placed(MODEL.format(device=device, moved=f".to({device})")).births


MADE_OF_MOVED = """
    from models import Encoder, Model
    def main(device, x, y):
        encoder = Encoder(3).to(device)
        model = Model(encoder, 3){moved}
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        loss = F.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
"""


def test_what_is_made_of_what_was_moved_is_no_device(placed) -> None:
    assert placed(MADE_OF_MOVED.format(moved="")).births == ["Model(encoder, 3)"]


def test_what_is_made_of_it_and_moved(placed) -> None:
    assert placed(MADE_OF_MOVED.format(moved=".to(device)")).births == []


PICKED = """
    def main(rows, device):
        net = nn.Linear(3, 3).to(device)
        labels = torch.ones(3)
        picked = {picked}
        return F.mse_loss(net(torch.rand(3, 3, device=device))[picked], labels[picked])
"""


@pytest.mark.parametrize("picked", ["np.where(rows != 0)", "[0, 2]"])
def test_what_several_indices_pick_has_its_elements(placed, picked: str) -> None:
    assert placed(PICKED.format(picked=picked)).of("torch.ones(3)").confidence > 0.9


def test_one_element_may_meet_a_device(placed) -> None:
    found = placed("""
        def main(x, device):
            labels = torch.ones(3)
            return x.to(device) * labels[1]
    """)
    assert found.births == []
