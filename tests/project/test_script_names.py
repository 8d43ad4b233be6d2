"""A device that a file has only where it is run as a script, in functions that other files import."""

import pytest

from .test_project import patched

HEAD = """
    import torch
    from torch import nn

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(x)
"""
NETS = (
    HEAD
    + """
    def build(x):
        {read}
        net = Head()
        return net(x)

    {test}:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(build(torch.zeros(3, 4).to(device)))
"""
)
SCRIPT = 'if __name__ == "__main__"'


def built(test: str, read: str = "x = x + 1", importing: str = "from nets import build") -> str:
    texts = {"nets.py": NETS.format(test=test, read=read), "run.py": f"    {importing}\n"}
    return patched(texts, "nets.py")


def test_other_files_have_no_such_name() -> None:
    assert "Head().to(device)" not in built(SCRIPT)


@pytest.mark.parametrize(
    ("test", "read", "importing"),
    [
        (SCRIPT, "x = x + 1", "from nets import Head"),
        (SCRIPT, "x = x.to(device)", "from nets import build"),
        ("if True", "x = x + 1", "from nets import build"),
    ],
)
def test_who_runs_it_has_the_name(test: str, read: str, importing: str) -> None:
    assert "Head().to(device)" in built(test, read, importing)


OWNERS = (
    HEAD
    + """
    class Runner:
        def run(self, x):
            {read}
            net = Head()
            return net(x)

    if __name__ == "__main__":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(Runner().run(torch.zeros(3, 4).to(device)))
"""
)


def test_a_class_reads_no_name_of_the_script_that_it_did_not_read() -> None:
    for importing in ("from nets import Runner", "import json"):
        texts = {"nets.py": OWNERS.format(read="x = x + 1"), "run.py": f"    {importing}\n"}
        assert "Head().to(device)" not in patched(texts, "nets.py")


def test_a_class_that_reads_it_reads_it_again() -> None:
    texts = {"nets.py": OWNERS.format(read="x = x.to(device)"), "run.py": "    from nets import Runner\n"}
    assert "Head().to(device)" in patched(texts, "nets.py")
