"""Conditions that are asked twice: one condition where nothing changed in between, two where what they read did."""

import pytest

PROGRAM = """
class Cache:
    def __init__(self):
        self.ready = False
        self.items = []

    def set_up(self):
        self.ready = True

    def grow(self):
        self.add(1)

    def add(self, item):
        self.items.append(item)

    def run(self, seen, other, key, values, device):
        net = nn.Linear(3, 3).to(device)
        x = torch.zeros(3)
{body}
"""
CHANGED = {
    "a key is set": """
        if key in seen:
            x = x.to(device)
        seen[key] = 1
        if key in seen:
            net(x)
    """,
    "a key is deleted": """
        if key not in seen:
            x = x.to(device)
        del seen[key]
        if key not in seen:
            net(x)
    """,
    "on one of two paths": """
        if key in seen:
            x = x.to(device)
        else:
            seen[key] = 1
        if key in seen:
            net(x)
    """,
    "the subject of a match": """
        match other.type:
            case "cuda":
                x = x.to(device)
        other.type = key
        match other.type:
            case "cuda":
                net(x)
    """,
    "another case": """
        match key:
            case "cuda":
                x = x.to(device)
        match key:
            case "mps":
                net(x)
    """,
    "a length": """
        if len(seen) > 2:
            x = x.to(device)
        seen.append(key)
        if len(seen) > 2:
            net(x)
    """,
    "whether it is empty": """
        if seen:
            x = x.to(device)
        seen.update(other)
        if seen:
            net(x)
    """,
    "an item": """
        if seen[key]:
            x = x.to(device)
        seen[key] = True
        if seen[key]:
            net(x)
    """,
    "a part of a condition": """
        if other and len(self.items) > 2:
            x = x.to(device)
        self.items.append(key)
        if other and len(self.items) > 2:
            net(x)
    """,
    "an attribute that is set": """
        if self.ready:
            x = x.to(device)
        self.ready = True
        if self.ready:
            net(x)
    """,
    "an attribute that a method sets": """
        if self.ready:
            x = x.to(device)
        self.set_up()
        if self.ready:
            net(x)
    """,
    "what another method fills": """
        if self.items:
            x = x.to(device)
        self.grow()
        if self.items:
            net(x)
    """,
    "in another turn of a loop": """
        if seen:
            x = x.to(device)
        for one in values:
            if seen:
                net(x)
            seen.append(one)
    """,
}
SAME = {
    "nothing changes": """
        if key in seen and self.ready and len(self.items) > 2:
            x = x.to(device)
        if key in seen and self.ready and len(self.items) > 2:
            net(x)
    """,
    "something else changes": """
        if key in seen and self.ready:
            x = x.to(device)
        other[key] = 1
        self.grow()
        if key in seen and self.ready:
            net(x)
    """,
    "it changes before": """
        seen[key] = 1
        if len(seen) > 2:
            x = x.to(device)
        if len(seen) > 2:
            net(x)
    """,
    "it changes on the other path": """
        if key in other:
            x = x.to(device)
            if key in seen:
                x = torch.zeros(3).to(device)
        else:
            seen[key] = 1
            x = torch.zeros(3)
            if key in other:
                net(x)
    """,
    "it changes on a path that ends": """
        if seen:
            x = x.to(device)
        if other:
            seen.append(key)
            return
        if seen:
            net(x)
    """,
    "cases of a match": """
        match key:
            case "cuda":
                x = x.to(device)
        match key:
            case "cuda":
                net(x)
    """,
    "a case, and a comparison": """
        match other.type:
            case "cuda" | "mps":
                x = x.to(device)
            case "cpu" as name:
                return name
            case _:
                return None
        if other.type != "cpu":
            net(x)
    """,
    "what it holds is not asked": """
        if seen is not None and isinstance(other, dict):
            x = x.to(device)
        seen.append(key)
        other[key] = 1
        if seen is not None and isinstance(other, dict):
            net(x)
    """,
}


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED)
def test_two_conditions(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == ["torch.zeros(3)"]


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_one_condition(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == []
