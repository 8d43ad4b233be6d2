"""DVF105: device masks and indices into tensors on the host."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF105"

SILENT = {
    "computed of what a caller gives, as its index is": """
        import torch
        def nearest(src: torch.Tensor, keys: torch.Tensor, limit: int):
            device = src.device
            order = torch.argsort(keys)
            found = order[torch.argsort(src)]
            within = torch.arange(found.numel(), device=device) - src
            return found[within < limit]
        def pairs(src: torch.Tensor, points, limit):
            return nearest(src, points.cpu().norm(dim=1), limit)
    """,
    "numpy reads what is computed of it, without a copy": """
        import torch
        def bounds(y: torch.Tensor):
            upper, lower = torch.eye(y.size(0)), -torch.eye(y.size(0))
            rows = upper[(y == 1).squeeze(-1)]
            both = torch.cat([rows, lower], dim=0)
            return both.numpy()
    """,
    "a host index into a device tensor": """
        import torch
        x = torch.ones(3).cuda()
        i = torch.arange(3)
        x[i]
    """,
    "both on the host": """
        import torch
        x, i = torch.ones(3), torch.arange(3)
        x[i]
    """,
    "a number": """
        import torch
        def f(x: torch.Tensor):
            ids = torch.arange(3)
            return ids[x.size(0)] + ids[int(x[0])] + ids[x.argmax().item()]
    """,
    "a slice": """
        import torch
        def f(x: torch.Tensor):
            return torch.arange(9)[: x.size(0)]
    """,
    "an index that was brought to the host": """
        import torch
        def f(x: torch.Tensor):
            return torch.arange(9)[x.cpu()]
    """,
    "made where its index is": """
        import torch
        def f(x: torch.Tensor):
            return torch.arange(9, device=x.device)[x > 1]
    """,
    "like its index": """
        import torch
        def f(x: torch.Tensor):
            return torch.zeros_like(x)[x > 1] + x.new_ones(3)[x > 1]
    """,
    "written at an index, which is brought along": """
        import torch
        def f(x: torch.Tensor):
            keep = torch.ones(3)
            keep[x] = 0
            return keep
    """,
    "turned around, with its dimensions in a list": """
        import torch
        def f(inputs):
            x, i = torch.tensor(inputs[0]), torch.tensor(inputs[1])
            return x[torch.flip(i, [1])] + x[torch.roll(i, (1,), (-1,))]
    """,
    "a mask that is computed of what it picks from": """
        import torch
        class Pipeline:
            def __init__(self, tokenizer, encoder):
                self.tokenizer = tokenizer
                self.encoder = encoder
            def cut(self, texts, device):
                ids = self.tokenizer(text=texts, return_tensors="pt")["input_ids"]
                for i, text in enumerate(texts):
                    tokens = ids[i]
                    tokens = tokens[tokens != self.tokenizer.image_token_id][2:-3]
                return self.encoder(**self.tokenizer(text=texts, return_tensors="pt").to(device))
        def noise(x, n):
            device = x.device
            return torch.zeros(n).to(device)
    """,
    "one element of what was drawn, which has no dimension": """
        import torch
        def draw(scores):
            free = torch.zeros(9, dtype=torch.bool)
            k = torch.multinomial(scores.exp(), 1)[0]
            free[free.nonzero()[k]] = 1
            return torch.arange(9)[torch.multinomial(scores.exp(), 1)[0]]
    """,
    "moved to CUDA only after it was read": """
        import torch
        def encoded(labels, n, use_cuda):
            rows = torch.eye(n)[labels.long()]
            if use_cuda:
                rows = rows.cuda()
            return rows.contiguous()
    """,
    "given by a function of the file that makes it on the host, at least in one way": """
        import torch
        from kernels import compiled
        def _graph(n):
            rows, columns = torch.arange(n), torch.arange(n).unsqueeze(-1)
            rows, columns = torch.broadcast_tensors(rows, columns)
            return torch.stack((rows[rows < columns], columns[rows < columns]))
        def graph(n, backend="python"):
            if backend == "python":
                return _graph(n)
            return compiled().graph(n)
        def tree(scores, n, backend="python"):
            if backend == "python":
                return _tree(scores, n)
            return compiled().tree(scores, n)
        def _tree(scores, n):
            grid = graph(n)
            seen = torch.zeros(n, dtype=torch.bool)
            seen[grid[:, scores.argmax().item()]] = True
            return seen[grid].any(0)
    """,
    "one label after the other": """
        import torch
        def count(labels, guesses):
            table, total = torch.zeros(9, 9), torch.zeros(9)
            for i in range(len(labels)):
                total += table[labels[i]]
            for i, guess in enumerate(guesses):
                total += table[labels[i], guess]
            return total
    """,
    "an index that the function has stored itself": """
        import torch
        def assign(layers, indices, name, size):
            for layer in layers:
                layer.ids[name] = indices[:4].clone()
            counts = torch.bincount(indices, minlength=size)
            scales = torch.zeros(size)
            scales[counts > 0] = 1.0
            for layer in layers:
                layer.scale(scales[layer.ids[name].long()])
    """,
    "made by a caller, and handed on by a function between": """
        import torch
        def format(preds, target):
            return preds.flatten(), target.flatten()
        def by_group(preds: torch.Tensor, target: torch.Tensor, groups: torch.Tensor):
            preds, target = format(preds, target)
            order = torch.argsort(groups)
            return preds[order], target[order]
        def rates(preds: torch.Tensor, groups: torch.Tensor):
            target = torch.zeros(4)
            return by_group(preds, target, groups)
    """,
    "what a class keeps on the host": """
        import torch
        class Store:
            def __init__(self):
                self.rows = torch.zeros(3, 3)
            def put(self, x: torch.Tensor):
                self.rows[x] += 1
    """,
    "what was brought to the host": """
        import torch
        def f(x: torch.Tensor, y: torch.Tensor):
            history = y.cpu()
            return history[x]
    """,
    "an array": """
        import numpy as np
        import torch
        def f(x: torch.Tensor):
            return np.arange(9)[x > 1]
    """,
    "a list": """
        import torch
        def f(x: torch.Tensor):
            return [1, 2, 3][x]
    """,
    "a dataset": """
        import torch
        class D(torch.utils.data.Dataset):
            def __init__(self):
                self.x = torch.zeros(3)
            def __len__(self):
                return 3
            def __getitem__(self, i: torch.Tensor):
                return self.x[i]
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_the_indexed_tensor_is_made_where_its_index_is(rule) -> None:
    program = """
        import torch
        def f(x: torch.Tensor):
            ids = torch.arange(len(x)).view(-1, 1)
            return ids[x > 0]
    """
    assert "torch.arange(len(x), device=x.device).view(-1, 1)" in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]


def test_one_of_several_indices(rule) -> None:
    program = """
        import torch
        def f(x: torch.Tensor):
            table = torch.zeros(3, 3)
            return table[:, x]
    """
    assert "torch.zeros(3, 3, device=x.device)" in rule.fixed(program)


def test_what_is_counted_at_an_index(rule) -> None:
    program = """
        import torch
        def f(x: torch.Tensor):
            counts = torch.zeros(3)
            counts[x] += 1
            return counts
    """
    assert "torch.zeros(3, device=x.device)" in rule.fixed(program)


def test_numpy_reads_a_copy(rule) -> None:
    program = """
        import torch
        def bounds(y: torch.Tensor):
            upper = torch.eye(y.size(0))
            rows = upper[y == 1]
            return rows.cpu().numpy()
    """
    assert "torch.eye(y.size(0), device=y.device)" in rule.fixed(program)


PART = """
    import torch
    from solvers import Solver

    def scales(n, device):
        solver = Solver(n){moved}
        steps = torch.arange(n, device=device)
        scale = 1 / torch.as_tensor({part}).real
        return scale[steps > 1]
"""


@pytest.mark.parametrize("part", ["solver.table", "solver.tables.first"])
def test_what_is_converted_of_an_object_that_was_moved(rule, part: str) -> None:
    assert rule.findings(PART.format(moved=".to(device)", part=part)) == ()


@pytest.mark.parametrize("part", ["solver.table.tolist()", "[1.0, 2.0]"])
def test_what_is_converted_of_a_list(rule, part: str) -> None:
    assert rule.findings(PART.format(moved=".to(device)", part=part))


COPIED = """
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def nearest(query, table):
        query, table = query.to(device), table.to(device)
        found = torch.cdist(query, table).topk(2).indices
        {lines}
"""
ON_HOST = {
    "the index is copied as well": "return table.cpu()[found.cpu()]",
    "both stay on the device": "return table[found].cpu()",
    "a number": "return table.cpu()[found[0, 0]]",
    "the index of the copy": "kept = table.cpu()\n        return kept[kept.argmax(dim=0)]",
    "a number of a row": "return table.cpu()[found[:, 1:][0][0]]",
    "a slice": "return table.cpu()[: len(found)]",
    "what a caller gives": "return table",
    "copied where the index is, too": "table, found = table.cpu(), found.cpu()\n        return table[found]",
    "a table of where the caller is": "table = table.to(query.device)\n        return table[found]",
}


@pytest.mark.parametrize("lines", ON_HOST.values(), ids=ON_HOST.keys())
def test_copies_on_the_host_with_their_indices(rule, lines: str) -> None:
    assert rule.findings(COPIED.format(lines=lines)) == ()


def test_an_index_that_a_caller_gives_may_be_on_the_host(rule) -> None:
    program = """
        import torch
        def picked(x: torch.Tensor, rows: torch.Tensor):
            return x.cpu()[rows]
    """
    assert rule.findings(program) == ()


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("return table.cpu()[found]", "return table.cpu()[found.cpu()]"),
        ("table = table.detach().cpu().float()\n        return table[:, found]", "return table[:, found.cpu()]"),
        (
            "found = found[:, 1:]\n        return [table.cpu()[found[i]] for i in range(3)]",
            "table.cpu()[found[i].cpu()]",
        ),
        ("table = table.to('cpu')\n        return table[found > 1]", "return table[(found > 1).cpu()]"),
    ],
)
def test_an_index_into_a_copy_on_the_host(rule, lines: str, after: str) -> None:
    program = COPIED.format(lines=lines)
    assert after in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]
    assert "picks from what was copied to the host" in rule.finding(program).message


def test_a_buffer_that_says_where_the_module_is_is_no_device(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Decoder(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("_device", torch.zeros(0))
                self.embed = nn.Embedding(size, size)
                self.head = nn.Linear(size, size)
            @property
            def device(self):
                return self._device.device
            def search(self, memory, n):
                rows = torch.arange(len(memory))
                running = torch.full((len(memory), 1), n).long().to(self.device)
                for _ in range(n):
                    outputs = self.head(self.embed(running)).argmax(dim=-1)
                    kept = (outputs != n).nonzero().squeeze(1)
                    rows, running = rows[kept], running[kept]
                return rows
    """
    assert "torch.arange(len(memory), device=self.device)" in rule.fixed(program, unsafe=True)
    buffer = 'self.register_buffer("_device", torch.zeros(0))'
    set_here = program.replace(buffer, "self._device = torch.device(size.place)")
    assert "torch.arange(len(memory), device=self._device)" in rule.fixed(set_here, unsafe=True)
