"""What is said of a conflict: message, place, trail, tier, links, and that one cause is one finding."""

from dataclasses import replace

import pytest
from devfix_codemods import engine
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Checked
from devfix_codemods.repairs.cuts import SUGGESTION, UNSAFE
from devfix_codemods.repairs.findings import same_cause
from devfix_codemods.rules import Rule
from devfix_codemods.source import Source

from tests.repairs.conftest import OWNERS

SAFE_ONE = """
    def main(x: torch.Tensor, device):
        near = x.to(device)
        far = torch.zeros(3)
        return near @ far
"""
UNSAFE_ONE = """
    def main(batch, net: nn.Module):
        x, y = batch
        x = x.cuda()
        return F.mse_loss(net(x), y)
"""
SUGGESTED = """
    from torch.utils.data import DataLoader
    def train(data, model, device):
        for x in DataLoader(data):
            model(x.to(device))
    def test(data, model, device):
        for x in DataLoader(data):
            model(x)
"""
FLAGGED = """
    def main(batch, net: nn.Module, use_cuda):
        x, y = batch
        if use_cuda:
            net, x = net.cuda(), x.cuda()
        return F.mse_loss(net(x), y)
"""
HEAD = 4
"""How many lines stand before each program."""

RULES = {
    "DVF101": UNSAFE_ONE,
    "DVF102": """
        from transformers import AutoModel, AutoTokenizer
        def main(text, device):
            tokenizer, model = AutoTokenizer.from_pretrained("x"), AutoModel.from_pretrained("x").to(device)
            return model(**tokenizer(text, return_tensors="pt"))
    """,
    "DVF104": SAFE_ONE,
    "DVF202": "def main(x, device):\n    net = nn.Linear(3, 3)\n    return net(x.to(device))",
    "DVF203": """
        class Trainer:
            def __init__(self, device):
                self.net = nn.Linear(3, 3).to(device)
                self.noise = torch.zeros(3)
            def step(self):
                return self.net(self.noise)
    """,
    "DVF402": "def main(x: torch.Tensor):\n    return x.cuda().numpy()",
}


@pytest.mark.parametrize(("code", "program"), RULES.items(), ids=RULES.keys())
def test_whose_conflict_it_is(repairs, code: str, program: str) -> None:
    assert repairs.finding(program).code == code


class TestTiers:
    @pytest.mark.parametrize(
        ("program", "safety"),
        [(SAFE_ONE, Safety.SAFE), (UNSAFE_ONE, Safety.UNSAFE), (SUGGESTED, Safety.SUGGESTION)],
        ids=["safe", "unsafe", "suggestion"],
    )
    def test_the_tier_is_that_of_the_confidence(self, repairs, program: str, safety: Safety) -> None:
        one = repairs.finding(program)
        assert one.fix.safety is safety
        least = {Safety.SAFE: 0.86, Safety.UNSAFE: UNSAFE, Safety.SUGGESTION: SUGGESTION}[safety]
        assert least <= one.confidence < 1

    def test_safe_fixes_are_written_unasked(self, repairs) -> None:
        assert repairs.added(SAFE_ONE, Safety.SAFE) == ["far = torch.zeros(3, device=device)"]

    def test_unsafe_ones_are_not(self, repairs) -> None:
        assert repairs.added(UNSAFE_ONE, Safety.SAFE) == []
        assert repairs.added(UNSAFE_ONE, Safety.UNSAFE) == ["y = y.cuda()"]

    def test_suggestions_are_never_written_unasked(self, repairs) -> None:
        assert repairs.added(SUGGESTED, Safety.UNSAFE) == []
        assert repairs.added(SUGGESTED, Safety.SUGGESTION) == ["x = x.to(device)"]

    def test_suggestions_are_not_even_told_unasked(self, repairs) -> None:
        assert repairs.findings(SUGGESTED, suggestions=False) == ()

    @pytest.mark.parametrize("program", RULES.values(), ids=RULES.keys())
    def test_each_finding_says_how_sure_it_is(self, repairs, program: str) -> None:
        one = repairs.finding(program)
        assert SUGGESTION <= one.confidence < 1
        assert one.links


class TestWords:
    def test_the_value_and_what_it_meets(self, repairs) -> None:
        one = repairs.finding(SAFE_ONE)
        assert one.message == "`torch.zeros(3)` stays on the host, but meets `near` on `device`"
        assert one.fix.title == "Make it on `device`"

    def test_the_operation_that_fails_and_the_birth(self, repairs) -> None:
        one = repairs.finding(SAFE_ONE)
        assert (one.span.line, one.origin.line) == (HEAD + 4, HEAD + 3)

    def test_the_way_between(self, repairs) -> None:
        one = repairs.finding(SAFE_ONE)
        assert [(step.span.line - HEAD, step.note) for step in one.trail] == [
            (3, "`torch.zeros(3)` is made here, on the host"),
            (4, "it meets `near` here"),
            (2, "`x` is moved here"),
        ]

    def test_a_move_is_no_meeting(self, repairs) -> None:
        notes = [step.note for step in repairs.finding(UNSAFE_ONE).trail]
        assert notes[1] == "it meets `net(x)` here"
        assert notes[2] == "`x` is moved here"
        assert len(notes) == 3

    def test_what_does_not_meet_is_not_said_to(self, repairs) -> None:
        one = repairs.finding(SUGGESTED)
        assert one.message == "`x` stays on the host, but belongs with a value on `device`"
        assert one.span == one.origin
        assert [step.span.line - HEAD for step in one.trail] == [6, 4]

    def test_numpy(self, repairs) -> None:
        one = repairs.finding("def main(x: torch.Tensor):\n    y = x.cuda()\n    return y.mul(2).numpy()")
        assert one.message == "`y.mul(2)` may be on a device, but is read on the host"
        assert one.span.line == HEAD + 3

    @pytest.mark.parametrize(
        ("program", "place", "end"),
        [
            (
                """
                class Net(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.one = nn.Linear(3, 3)
                    def forward(self, x):
                        return self.one(x) + torch.zeros(3)
                def main(x, device):
                    return Net().to(device)(x.to(device))
                """,
                "`self.one(x)`, which lives where the caller put `x`",
                "`x` lives where the caller put it",
            ),
            (
                """
                class Net(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.one = nn.Linear(3, 3)
                    def sample(self):
                        return self.one(torch.zeros(3))
                def main(x, device):
                    return Net().to(device)(x.to(device))
                """,
                "the parameters of `self.one`",
                "the module's own tensors are where the module was moved",
            ),
        ],
    )
    def test_places_without_a_name(self, repairs, program: str, place: str, end: str) -> None:
        one = repairs.finding(program)
        assert one.message == f"`torch.zeros(3)` stays on the host, but meets {place}"
        assert one.trail[-1].note == end

    def test_links_name_the_constraints_of_the_path(self, repairs) -> None:
        assert repairs.finding(SAFE_ONE).links == ("operation",)
        assert repairs.finding(UNSAFE_ONE).links[:2] == ("unpacked-beside-moved", "operation")
        assert repairs.finding(SUGGESTED).links == ("loader-item", "loop-one")


class TestOneCause:
    def test_many_uses_of_one_value_are_one_finding(self, repairs) -> None:
        program = """
            def main(x: torch.Tensor, device):
                near, far = x.to(device), torch.zeros(3)
                a, b = near @ far, near + far
                return a, b, torch.cat([near, far])
        """
        assert repairs.finding(program).origin.line == HEAD + 2

    def test_two_values_are_two(self, repairs) -> None:
        program = """
            def main(x: torch.Tensor, device):
                near = x.to(device)
                one = torch.zeros(3)
                two = torch.ones(3)
                return near @ one + near @ two
        """
        assert [one.origin.line - HEAD for one in repairs.findings(program)] == [3, 4]

    def test_a_flagged_value_is_one(self, repairs) -> None:
        assert len(repairs.findings(FLAGGED)) == 1

    def test_the_same_birth_is_the_same_cause(self, repairs) -> None:
        one = repairs.finding(SAFE_ONE)
        assert same_cause(one, one)

    def test_other_births_and_edits_are_others(self, repairs) -> None:
        program = """
            def main(x: torch.Tensor, device):
                near = x.to(device)
                one = torch.zeros(3)
                two = torch.ones(3)
                return near @ one + near @ two
        """
        one, other = repairs.findings(program)
        assert not same_cause(one, other)
        assert not same_cause(other, one)

    def test_what_moves_the_same_name_is_the_same_cause(self, repairs) -> None:
        one = repairs.finding(UNSAFE_ONE)
        other = Finding("DVF103", "discarded-move", "", one.span, None, (), one.fix)
        assert same_cause(one, other)

    def test_what_says_nothing_of_either_is_not(self, repairs) -> None:
        one = repairs.finding(UNSAFE_ONE)
        assert not same_cause(one, Finding("DVF103", "discarded-move", "", one.span))


@pytest.mark.parametrize(("can_repair", "code"), [(False, "DVF104"), (True, "DVF302")])
def test_who_cannot_repair_a_cause_leaves_it_to_who_can(repairs, monkeypatch, can_repair: bool, code: str) -> None:
    (told,) = repairs.findings(SAFE_ONE)
    fix = told.fix if can_repair else None
    other = replace(told, code="DVF302", name="other", fix=fix, advice="look at it")
    rule = Rule("DVF302", "other", ((b"torch",),), lambda _: [other])
    monkeypatch.setattr(engine, "all_rules", lambda: (*OWNERS, rule))
    options = replace(repairs.options, select=repairs.options.select | {"DVF302"})
    outcome = engine.check(Source("train.py", repairs.plain(SAFE_ONE).encode()), options)
    assert isinstance(outcome, Checked)
    assert [one.code for one in outcome.findings] == [code]


@pytest.mark.parametrize(
    "loop",
    [
        "batch in loader",
        "i, batch in enumerate(loader)",
        "i, batch in tqdm(enumerate(loader))",
        "other, batch in zip(names, loader)",
        "i, (other, batch) in enumerate(zip(names, loader))",
    ],
)
def test_a_message_names_the_element_and_not_all_that_a_loop_binds(repairs, loop: str) -> None:
    found = repairs.finding(f"""
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        def main(data, names, device):
            net = nn.Linear(3, 3).to(device)
            loader = DataLoader(data)
            for {loop}:
                net(batch)
    """)
    assert found.message.startswith("`batch` stays on the host")
    assert found.trail[0].note == "`batch` comes from the loader here, on the host"
