"""A model that a function is given, and whose results it copies to the host: what a loop feeds it is moved to it."""

import pytest
from devfix_codemods.findings import Safety

FED = """
    from torch.utils.data import DataLoader
    def predict({model}, {loader}):
        found = []
        for x, y in {loop}:
            {moved}
            out = {fed}
            found.append({kept})
        return found
"""
RIGHT = {"model": "model", "loader": "data", "loop": "DataLoader(data)", "moved": "pass", "fed": "model(x)"}
COPY = "out.softmax(-1).detach().cpu()"


def _program(**changed: str) -> str:
    return FED.format(**{**RIGHT, "kept": COPY, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"kept": "out.detach()"},
        {"kept": "y.cpu()"},
        {"moved": "x = x.cuda()"},
        {"moved": "mask = torch.ones(3).cuda()"},
        {"model": "describe", "fed": "describe(x)"},
        {"fed": "model(y.shape)"},
        {"loop": "data.rows"},
        {"model": "*models", "fed": "models[0](x)"},
        {"model": "criterion", "fed": "criterion(x)"},
    ],
    ids=str,
)
def test_what_is_no_model_elsewhere_or_is_moved(repairs, changed: dict[str, str]) -> None:
    assert all(one.fix is None or "parameters()" not in one.fix.title for one in repairs.findings(_program(**changed)))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"kept": "out.cpu()"},
        {"kept": "out[0].cpu().numpy()"},
        {"kept": "torch.softmax(out, -1).cpu()"},
        {"fed": "model.encode(x)"},
        {"loader": "loader", "loop": "loader"},
    ],
    ids=str,
)
def test_what_a_loop_feeds_it(repairs, changed: dict[str, str]) -> None:
    added = repairs.added(_program(**changed), Safety.UNSAFE)
    assert added == ["x = x.to(next(model.parameters()).device, non_blocking=True)"]


def test_a_mapping_is_only_suggested(repairs) -> None:
    program = _program(fed='model(x, x["mask"])')
    assert repairs.added(program, Safety.UNSAFE) == []
