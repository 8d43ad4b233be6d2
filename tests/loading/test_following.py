"""What is done with a loaded value, wherever the program takes it."""

from textwrap import dedent

import pytest
from devfix_codemods.assumptions.index import Index
from devfix_codemods.loading.calls import Calls
from devfix_codemods.loading.following import Following
from devfix_codemods.loading.uses import Use, Uses
from devfix_codemods.placement.arguments import loaded_to
from devfix_codemods.program import Program
from devfix_codemods.source import Source

USES = {
    "model.load_state_dict(saved)": {Use.FEEDS},
    "model.load_state_dict({k: v for k, v in saved.items()})": {Use.FEEDS, Use.APART},
    "own = model.state_dict()\n    own.update(saved)\n    model.load_state_dict(own)": {
        Use.FEEDS,
        Use.APART,
        Use.READS,
    },
    "scheduler.load_state_dict(saved['lr'])": {Use.FEEDS_NUMBERS, Use.APART},
    "x = saved.to('cuda')\n    return x": {Use.MOVED},
    "return saved.float()": {Use.RETURNED},
    "saved.cuda()\n    return saved(x)": {Use.MOVED},
    "return saved(x)": {Use.RUN},
    "return saved['epoch'] + 1": {Use.APART, Use.READS},
    "return saved['config']": {Use.APART, Use.OPTIONS},
    "n = 0\n    n = saved['n'] if x else n\n    return n + 1": {Use.APART, Use.READS},
    "for key in saved:\n        print(x[key])": {Use.READS},
    "for part in saved:\n        other(part)": {Use.APART, Use.GIVEN},
    "return np.mean(saved['x'])": {Use.APART, Use.ON_HOST},
    "keep(saved)": {Use.HELD},
    "return saved.encode(x)": {Use.RUN, Use.RETURNED},
    "return list(map(other, saved))": {Use.APART, Use.GIVEN},
    "return filter(other, saved)": {Use.OTHER},
    "print(len(saved), f'{saved}')": {Use.READS},
    "a, b = first(saved, x)\n    b.load_state_dict(a)": {Use.FEEDS},
    "store.saved = saved\n    store.run()": {Use.HELD},
}


def uses(body: str) -> Uses:
    program = dedent("""
        import numpy as np
        import torch
        from others import Model, other, scheduler

        def first(one, two):
            return one, two

        def keep(one):
            store.x = one

        class Store:
            def fill(self, path):
                self.x = torch.load(path)
            def mean(self):
                return np.mean(self.x)

        def run(path, x, store):
            model = Model()
            saved = torch.load(path)
            BODY
    """).replace("BODY", body or "pass")
    one = Program(Source("train.py", program.encode()))
    index = Index(one.placement, one.source)
    calls = Calls(index)
    found = {load.call.function.name: load for load in calls.loads()}
    return Following(index, calls).of_load(found["fill" if not body else "run"])


@pytest.mark.parametrize(("body", "wanted"), USES.items(), ids=USES)
def test_uses(body: str, wanted: set[Use]) -> None:
    assert uses(body).found.keys() == wanted


def test_what_a_method_reads_of_an_attribute() -> None:
    assert uses("").found.keys() == {Use.HELD, Use.ON_HOST}


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("torch.load(a, b)", "b"),
        ("torch.load(a, map_location=b)", "b"),
        ("torch.hub.load_state_dict_from_url(a, c, b)", "b"),
        ("torch.load(a)", None),
        ("torch.load(a, weights_only=b)", None),
        ("torch.hub.load_state_dict_from_url(a, b)", None),
    ],
)
def test_what_says_the_place(call: str, wanted: str | None) -> None:
    one = Program(Source("train.py", f"import torch\ndef f(a, b, c):\n    {call}\n".encode()))
    (made,) = Index(one.placement, one.source).calls
    place = loaded_to(made)
    assert (place.extra if place is not None else None) == wanted
