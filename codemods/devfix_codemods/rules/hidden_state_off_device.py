"""The state of a recurrent network is made on the host.

## What it does

Finds hidden and cell states that are made on the host and given to an RNN, an LSTM, a GRU or one of their cells, and
makes them where the input, or the network, is.

## Why it fails

    RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor
    at cpu

## Before

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.width)
        return self.gru(x, h0)

## After

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.width, device=x.device)
        return self.gru(x, h0)

## Fix safety

Safe: the call fails today wherever the network is not on the host, and where it is, nothing changes.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.findings import Finding, Fix, Step
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import HOST
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _division, _following
from devfix_codemods.rules._attributes import births
from devfix_codemods.rules._moves import text_of


def check(program: Program) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for meeting in (*program.facts.meetings, *program.facts.followings):
        made = births(meeting)
        on_host = meeting.misplaced.place == HOST or meeting.misplaced.value.sources
        if meeting.context.worker or not made or not on_host or not _division.is_state(program, meeting):
            continue
        if made[0] not in seen and _division.code_for(program, meeting) == RULE.code:
            seen.add(made[0])
            yield _finding(program, meeting, made[0])


def _finding(program: Program, meeting: Meeting, birth: ast.AST) -> Finding:
    name = text_of(program, meeting.misplaced.node)
    network = next(one for one in meeting.operands if one.role == "module")
    called, born = text_of(program, network.node), program.source.span(birth)
    found = _following.following(program, meeting)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the state `{name}` is made on the host, but `{called}` and its input may be on a device",
        span=program.source.span(meeting.node),
        origin=born,
        trail=(
            Step(born, "it is made here, on the host"),
            Step(program.source.span(meeting.node), f"and given to `{called}` here"),
        ),
        fix=Fix(found.safety, f"Make the state on `{found.device}`", found.edits) if found is not None else None,
        advice=None if found is not None else f"make `{name}` on the device of the input of `{called}`",
    )


def _owns(conflict: Conflict) -> bool:
    made = conflict.birth.birth in {Birth.FACTORY, Birth.ARRAY}
    return made and conflict.is_of_state and not conflict.is_of_attribute


RULE = Rule(
    "DVF107",
    "hidden-state-off-device",
    ((b"torch", b"LSTM"), (b"torch", b"GRU"), (b"torch", b"RNN")),
    check,
    owns=_owns,
)
