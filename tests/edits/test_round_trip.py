"""Any edits in any file: the result means what the edits say, and lines without an edit stay as they were."""

import ast
from difflib import SequenceMatcher
from itertools import pairwise

from devfix_codemods.edits.apply import apply
from devfix_codemods.edits.operations import Edit, InsertStatement, RemoveStatement, ReplaceExpression
from devfix_codemods.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st

PROGRAM = '''\
#!/usr/bin/env python
# head
# naïve

"""Dóc."""
import os, sys; import  torch   # odd

# about f
@d(1 , 2)  # beside
def f( a,b = (1,2) , *c ):

    x = a+b   # sum
    # inner
    if x : y = [ i for i in c if i ]
    elif not a: return (yield)
    else:
        y = g(j*2 for j in c)
        # end of else

    with open( x ) as h, k: z = h ; w = -z**2
    return {'ä': (y , z), **w}, \\
        lambda q: q if y else (z or w)


class C ( B ):   # class
    \'\'\'Doc "of" C.\'\'\'
    é = '🚀', 1.5 .real
    try:
        m : int = f(é,
                    # why
                    k = 'a' "b",
                    )
    except (A, B): pass
    finally:
      n = m[0 , 1:2]; del m


for o in 1, 2:
    while o: o -= 1; print(o)
    else: print ( 'done' )
# the end
'''
CODES = [
    "__node__.to(device)",
    "g(__node__, 1)",
    "__node__ + 1",
    "1 - __node__",
    "-__node__",
    "__node__ ** 2",
    "not __node__",
    "a or __node__",
    "__node__ if a else b",
    "lambda: __node__",
    "[__node__]",
]
STATEMENTS = ["n()", "if n:\n    m()", "n(); m()", "n()\nm()", "# why\nn()"]
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "cp1252"])


@st.composite
def _files(draw: st.DrawFn) -> Source:
    """The program with its line ends, its encoding and its end chosen at random."""
    encoding = draw(ENCODINGS)
    program = PROGRAM if encoding != "cp1252" else PROGRAM.replace("🚀", "€").replace("# head", "# coding: cp1252")
    lines = program.rstrip("\n").split("\n")
    count = len(lines) - 1
    mixed = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=count, max_size=count)
    # lone carriage returns hide the encoding from the standard library
    uniform = st.sampled_from(["\n", "\r\n"] if encoding == "cp1252" else ["\n", "\r\n", "\r"])
    ends = draw(mixed | uniform.map(lambda end: [end] * count))
    last = (
        draw(st.sampled_from(["", "\n", "\r\n", "\n\n  \n"]))
        if ends[0] != "\r"
        else draw(st.sampled_from(["", "\r", "\r \r"]))
    )
    text = "".join(line + end for line, end in zip(lines, [*ends, last]))
    return Source("any.py", text.encode(encoding))


def _editable(tree: ast.Module) -> list[ast.expr]:
    """The expressions that stand for themselves: no targets, slices or stars."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    indices = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    return [
        node
        for node in nodes
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        and not isinstance(node, ast.Starred | ast.Slice)
        and not (id(node) in indices and isinstance(node, ast.Tuple))
    ]


def _blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    fields = (getattr(node, name, None) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody"))
    return [field for field in fields if isinstance(field, list) and field]


class _Replace(ast.NodeTransformer):
    """The same replacement on the tree of the standard library."""

    def __init__(self, target: ast.expr, code: str) -> None:
        self._target, self._code = target, ast.parse(code, mode="eval").body

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._target:
            return _Fill(self._target).visit(self._code)
        return self.generic_visit(node)


class _Fill(ast.NodeTransformer):
    def __init__(self, node: ast.expr) -> None:
        self._node = node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._node if node.id == "__node__" else node


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@settings(max_examples=60, deadline=None)
@given(_files(), st.data())
def test_expressions_mean_what_the_edits_say(source: Source, data: st.DataObject) -> None:
    wanted = ast.parse(source.text)
    chosen = data.draw(st.lists(st.sampled_from(_editable(wanted)), max_size=6, unique_by=id))
    codes = [data.draw(st.sampled_from(CODES)) for _ in chosen]
    edits = [ReplaceExpression(source.span(node), code) for node, code in zip(chosen, codes)]
    for node, code in zip(chosen, codes):
        wanted = _Replace(node, code).visit(wanted)
    after = Source("any.py", apply(source, data.draw(st.permutations(edits))))
    assert ast.dump(ast.parse(after.text)) == ast.dump(wanted)
    _assert_only_named_lines_change(source, after, edits)


@settings(max_examples=60, deadline=None)
@given(_files(), st.data())
def test_statements_go_where_the_edits_say(source: Source, data: st.DataObject) -> None:
    wanted = ast.parse(source.text)
    edits: list[Edit] = []
    for block in data.draw(st.lists(st.sampled_from(_blocks(wanted)), max_size=4, unique_by=id)):
        index = data.draw(st.integers(0, len(block) - 1))
        if "elif" in source.segment(source.span(block[index])).split(" ")[0]:
            continue  # goes before or after its whole chain
        edits.append(data.draw(_statement_edits(source, block, index)))
    after = Source("any.py", apply(source, edits))
    assert ast.dump(ast.parse(after.text)) == ast.dump(wanted)


@st.composite
def _statement_edits(draw: st.DrawFn, source: Source, block: list[ast.stmt], index: int) -> Edit:
    """An edit at a statement of `block`, made in `block` too. What holds other statements is never removed."""
    anchor = block[index]
    if draw(st.booleans()) and not hasattr(anchor, "body"):
        block[index : index + 1] = [] if len(block) > 1 else [ast.Pass()]
        return RemoveStatement(source.span(anchor))
    where, code = draw(st.sampled_from(["before", "after"])), draw(st.sampled_from(STATEMENTS))
    at = index + (where == "after")
    block[at:at] = ast.parse(code).body
    return InsertStatement(source.span(anchor), where, code)


def _assert_only_named_lines_change(before: Source, after: Source, edits: list[ReplaceExpression]) -> None:
    """Expressions are edited within their lines, and no line comes or goes."""
    old, new = _lines(before.data), _lines(after.data)
    assert len(old) == len(new)
    named = {line for edit in edits for line in (edit.span.line, edit.span.end_line)}
    assert all(a == b for line, (a, b) in enumerate(zip(old, new), start=1) if line not in named)


@settings(max_examples=60, deadline=None)
@given(_files(), st.data())
def test_inserts_only_add_lines(source: Source, data: st.DataObject) -> None:
    names = {id(node): node for block in _blocks(source.tree) for node in block}
    alone = [node for node in names.values() if _is_alone(source, node)]
    anchors = data.draw(st.lists(st.sampled_from(alone), min_size=1, max_size=5, unique_by=id))
    edits = [
        InsertStatement(source.span(node), data.draw(st.sampled_from(["before", "after"])), "new()") for node in anchors
    ]
    old, new = _lines(source.data.rstrip()), _lines(apply(source, edits).rstrip())
    kept = [line for line in new if line.strip() != b"new()"]
    assert [line.strip() for line in kept] == [line.strip() for line in old]
    # the end of the last line alone may be another
    assert all(a == b for a, b in zip(old[:-1], kept))


def _is_alone(source: Source, node: ast.stmt) -> bool:
    """Whether a statement has its lines for itself."""
    span = source.span(node)
    before = source.lines[span.line - 1][: span.column]
    after = source.lines[span.end_line - 1][span.end_column :].strip()
    chained = source.segment(span).startswith("elif")
    return not before.strip() and (not after or after.startswith("#")) and not chained


@settings(max_examples=40, deadline=None)
@given(_files(), st.data())
def test_any_subset_of_edits_can_be_made(source: Source, data: st.DataObject) -> None:
    """What a review refuses leaves its part of the file alone."""
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    edits = [ReplaceExpression(source.span(node), f"{node.id}_") for node in calls]
    chosen = [edit for edit in edits if data.draw(st.booleans())]
    after = apply(source, chosen)
    refused = {edit.span.line for edit in edits} - {edit.span.line for edit in chosen}
    old, new = _lines(source.data), _lines(after)
    assert all(old[line - 1] == new[line - 1] for line in refused)
    blocks = SequenceMatcher(None, source.data, after, autojunk=False).get_matching_blocks()
    added = sum(second.b - first.b - first.size for first, second in pairwise(blocks))
    assert len(after) - len(source.data) == len(chosen) <= added + blocks[0].b
