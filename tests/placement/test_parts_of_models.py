"""Models that another model is built of belong where that goes, not where the file has a device."""

import pytest

HEAD = """
    import torchvision
    device = torch.device("cuda")
"""


@pytest.mark.parametrize(
    "kept",
    [
        "self.body = nn.Sequential(*list(net.children())[:-1])",
        "self.body = net.features",
        "self.body = nn.ModuleList([net.layer1, net.layer2])",
    ],
)
def test_a_model_of_which_another_keeps_parts(placed, kept: str) -> None:
    program = f"""{HEAD}
    class Encoder(nn.Module):
        def __init__(self, size):
            super().__init__()
            net = torchvision.models.resnet50()
            {kept}
            self.linear = nn.Linear(net.fc.in_features, size)
    """
    assert placed(program).births == []


def test_a_model_that_a_function_calls_beside_a_device(placed) -> None:
    program = f"""{HEAD}
    def main(x):
        net = torchvision.models.resnet50()
        print(device)
        return net(x)
    """
    assert placed(program).births == ["torchvision.models.resnet50()"]


def test_a_model_that_the_constructor_calls(placed) -> None:
    program = f"""{HEAD}
    class Encoder(nn.Module):
        def __init__(self, picture):
            super().__init__()
            net = torchvision.models.resnet50()
            self.size = net(picture).shape[-1]
    """
    assert placed(program).births == ["torchvision.models.resnet50()"]


def test_a_model_that_no_module_keeps(placed) -> None:
    program = f"""{HEAD}
    class Trainer:
        def __init__(self):
            net = torchvision.models.resnet50()
            self.body = net.features
        def step(self, x):
            print(device)
            return self.body(x)
    """
    assert placed(program).births == ["torchvision.models.resnet50()"]


BUILT = """
    import library
    def main(options, words, loader):
        encoder = library.Encoder(options)
        net = library.Net(encoder, library.Decoder(options))
        {moved}
        table = nn.Embedding(words, 8).cuda()
        encoder.fix(table)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in loader:
            net(x.cuda()).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize("moved", ["net.cuda()", "net = net.cuda()", "net.cuda().train()"])
def test_models_that_another_one_is_made_of_are_moved_with_it(placed, moved: str) -> None:
    assert placed(BUILT.format(moved=moved)).births == []


@pytest.mark.parametrize("moved", ["net.train()", "net.cpu()"])
def test_a_model_made_of_others_that_is_not_moved(placed, moved: str) -> None:
    assert placed(BUILT.format(moved=moved)).births == ["library.Net(encoder, library.Decoder(options))"]
