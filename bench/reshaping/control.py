"""Changes of which statements run when: conditions, loops, contexts."""

import ast

from reshaping.trees import (
    OWN,
    SUSPENDS,
    Function,
    NewNames,
    Statements,
    assigned,
    calls,
    each_statement,
    functions,
    has,
    inserted,
    read,
    without_docstring,
)


def conditions_inverted(tree: ast.Module) -> None:
    """`if c: A` and `else: B` are `if not c: B` and `else: A`."""

    def change(statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.If(orelse=[_, *_]):
                statement.test = ast.UnaryOp(ast.Not(), statement.test)
                statement.body, statement.orelse = statement.orelse, statement.body
        return [statement]

    each_statement(tree, change, module=True)


def left_early(tree: ast.Module) -> None:
    """What a function or a loop ends in, `if c: A`, is `if not c: return` (or `continue`) and `A`."""

    def changed(block: Statements, leave: ast.stmt) -> Statements:
        match block:
            case [*before, ast.If(test=test, body=body, orelse=[])]:
                return [*before, ast.If(ast.UnaryOp(ast.Not(), test), [leave], []), *body]
        return block

    for node in list(ast.walk(tree)):
        if isinstance(node, Function):
            node.body = changed(node.body, ast.Return(None))
        elif isinstance(node, ast.For | ast.While):
            node.body = changed(node.body, ast.Continue())


def within_try(tree: ast.Module) -> None:
    """The body of each function stands within `try: … finally: pass`."""
    for function in functions(tree):
        before, rest = without_docstring(function.body)
        function.body = [*before, ast.Try(body=rest, handlers=[], orelse=[], finalbody=[ast.Pass()])]


def within_context(tree: ast.Module) -> None:
    """The body of each function stands within a context that does nothing."""
    name = f"{OWN}context"
    for function in functions(tree):
        before, rest = without_docstring(function.body)
        function.body = [*before, ast.With([ast.withitem(ast.Call(read(name), [], []))], rest)]
    if calls(tree, name):
        inserted(tree, [ast.ImportFrom("contextlib", [ast.alias("nullcontext", name)], 0)])


def loops_by_next(tree: ast.Module) -> None:
    """`for x in xs` is `while True`, with `next`."""
    names = NewNames()

    def change(statement: ast.stmt) -> list[ast.stmt]:
        if not isinstance(statement, ast.For) or statement.orelse:
            return [statement]
        name = names.new()
        step = ast.Assign([statement.target], ast.Call(read("next"), [read(name)], []))
        end = ast.ExceptHandler(read("StopIteration"), None, [ast.Break()])
        body = [ast.Try(body=[step], handlers=[end], orelse=[], finalbody=[]), *statement.body]
        start = assigned(name, ast.Call(read("iter"), [statement.iter], []))
        return [start, ast.While(ast.Constant(True), body, [])]

    each_statement(tree, change, module=True)


def loops_counted(tree: ast.Module) -> None:
    """`for x in xs` is `for i, x in enumerate(xs)`."""
    names = NewNames()
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            counted = ast.Tuple([ast.Name(names.new(), ast.Store()), node.target], ast.Store())
            node.target, node.iter = counted, ast.Call(read("enumerate"), [node.iter], [])


def rows_unpacked_within(tree: ast.Module) -> None:
    """`for a, b in xs` is `for row in xs`, and `a, b = row` within."""
    names = NewNames()
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple | ast.List):
            name = names.new()
            node.body.insert(0, ast.Assign([node.target], read(name)))
            node.target = ast.Name(name, ast.Store())


def comprehensions_as_loops(tree: ast.Module) -> None:
    """`x = [f(y) for y in ys]` is a loop that appends."""
    names = NewNames()
    for function in functions(tree):
        uses = [one.id for one in ast.walk(function) if isinstance(one, ast.Name)]

        def change(statement: ast.stmt, uses: list[str] = uses) -> list[ast.stmt]:
            match statement:
                case ast.Assign(
                    targets=[ast.Name() as target],
                    value=ast.ListComp(elt=element, generators=[ast.comprehension(is_async=0) as part]) as value,
                ) if not has(value, *SUSPENDS, ast.Lambda):
                    inner = [one.id for one in ast.walk(value) if isinstance(one, ast.Name)]
                    bound = [one.id for one in ast.walk(part.target) if isinstance(one, ast.Name)]
                    if any(uses.count(one) != inner.count(one) for one in bound):
                        return [statement]
                    name = names.new()
                    append = ast.Call(ast.Attribute(read(name), "append", ast.Load()), [element], [])
                    body: Statements = [ast.Expr(append)]
                    for test in reversed(part.ifs):
                        body = [ast.If(test, body, [])]
                    loop = ast.For(part.target, part.iter, body, [])
                    return [assigned(name, ast.List([], ast.Load())), loop, assigned(target.id, read(name))]
            return [statement]

        each_statement(ast.Module([function], []), change)
