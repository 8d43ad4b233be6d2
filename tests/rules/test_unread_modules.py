"""DVF202: modules of classes that cannot be read, told by their use."""

from textwrap import dedent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF202"

LOOP = """
        import torch
        from elsewhere import Encoder, EncoderAgent, build_encoder, place, prepare
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def fit(loader, options, path, device):
            {build}
            optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
            {between}
            for waves, marks in loader:
                waves, marks = waves.to(device), marks.to(device)
                loss = torch.nn.functional.cross_entropy(encoder(waves), marks)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("build", "between"),
    [
        ("encoder = Encoder(4).to(device)", ""),
        ("encoder = Encoder(4)", "encoder.to(device)"),
        ("encoder = Encoder(4)", "encoder.cuda()"),
        ("encoder = Encoder(4)", "encoder.place(device)"),
        ("encoder = Encoder(4)", "encoder.begin()"),
        ("encoder = Encoder(4)", "place(encoder)"),
        ("encoder = Encoder(4)", "encoder = prepare(encoder)"),
        ("encoder = Encoder(4, device=device)", ""),
        ("encoder = Encoder(4, device)", ""),
        ("encoder = Encoder(4, gpu=0)", ""),
        ("encoder = Encoder(options)", ""),
        ("encoder = Encoder(options.encoder)", ""),
        ("encoder = Encoder(**options.encoder)", ""),
        ("encoder = Encoder(torch.nn.Linear(3, 3).to(device))", ""),
        ("encoder = EncoderAgent(4)", ""),
        ("encoder = build_encoder(4)", ""),
        ("encoder = Encoder.from_file(path)", ""),
        ("with torch.device(device):\n                encoder = Encoder(4)", ""),
    ],
)
def test_what_may_be_placed(rule, build: str, between: str) -> None:
    assert rule.findings(dedent(LOOP.format(build=build, between=between))) == ()


def test_what_is_called_but_not_used_as_a_module(rule) -> None:
    program = dedent(LOOP.format(build="encoder = Encoder(4)", between=""))
    program = program.replace("encoder.parameters()", "weights")
    assert rule.findings(program) == ()


def test_what_works_on_the_host(rule) -> None:
    program = dedent(LOOP.format(build="encoder = Encoder(4)", between=""))
    assert rule.findings(program.replace("waves.to(device), marks.to(device)", "waves.cpu(), marks.cpu()")) == ()


def test_a_name_alone_does_not_make_a_module(rule) -> None:
    program = dedent("""
        import torch
        from zoo import models, records
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        field = models.Field(order=2)
        table = records.Field(order=2)
        points = torch.rand(5, 3).to(device)
        energy = field(points).sum()
        print(energy, table(points))
    """)
    assert rule.findings(program) == ()


@pytest.mark.parametrize("between", ["", "encoder.train()", "torch.save(encoder, path)"])
def test_in_the_function_that_trains_it(rule, between: str) -> None:
    program = dedent(LOOP.format(build="encoder = Encoder(4)", between=between))
    assert rule.safeties(program) == [Safety.UNSAFE]
    assert rule.fixed(program, unsafe=True) == program.replace("Encoder(4)", "Encoder(4).to(device)")


def test_in_a_script(rule) -> None:
    program = dedent("""
        import torch
        import soundnets
        from data import loader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        tagger = soundnets.zoo.Tagger(classes=12)
        tagger.load_state_dict(torch.load("tagger.pt", map_location="cpu"))
        tagger.eval()
        with torch.no_grad():
            for clip in loader:
                clip = clip.to(device)
                print(torch.nn.functional.softmax(tagger(clip), -1))
    """)
    assert rule.fixed(program, unsafe=True) == program.replace("classes=12)", "classes=12).to(device)")


def test_a_class_that_the_caller_gives_used_by_a_helper(rule) -> None:
    program = dedent("""
        import torch
        from torch import nn

        def one_pass(network, loader, device, optimizer):
            for image, label in loader:
                image, label = image.to(device), label.to(device)
                loss = nn.functional.nll_loss(network(image), label)
                loss.backward()
                optimizer.step()

        def trial(network_class, loader):
            network = network_class()
            optimizer = torch.optim.Adam(network.parameters())
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            for _ in range(3):
                one_pass(network, loader, device, optimizer)
    """)
    line = '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    assert rule.fixed(program, unsafe=True) == program.replace(line, line + "    network.to(device)\n")
