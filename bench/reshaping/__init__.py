"""Changes of shape that leave what a program does as it is: each takes a syntax tree, and changes it in place.

What devfix finds may not depend on them. Python's own `ast` makes them, so that comments and layout are lost: a program
is compared with `ast.unparse` of itself. What a change cannot keep (a `yield`, a name that an inner scope binds as
well) it leaves alone.
"""

import ast

from reshaping import control, names, statements
from reshaping.trees import Reshaping

RESHAPINGS: dict[str, Reshaping] = {
    one.__name__.replace("_", " "): one
    for one in (
        statements.arguments_named,
        statements.chains_named,
        statements.values_named_first,
        statements.names_printed,
        statements.names_annotated,
        statements.passed_through,
        statements.choices_as_statements,
        statements.choices_as_expressions,
        control.conditions_inverted,
        control.left_early,
        control.within_try,
        control.within_context,
        control.loops_by_next,
        control.loops_counted,
        control.rows_unpacked_within,
        control.comprehensions_as_loops,
        names.torch_aliased,
        names.functions_of_torch_imported,
        names.self_renamed,
        names.devices_named,
        names.locals_renamed,
        names.arguments_by_keyword,
    )
}
"""All of them, by what they do."""


def reshaped(source: str, change: Reshaping | None = None) -> str:
    """`source` in another shape; where the change finds nothing to change, what `ast.unparse` makes of it.

    Raises SyntaxError where `source` is no Python.
    """
    tree = ast.parse(source)
    if change is not None:
        change(tree)
    return ast.unparse(ast.fix_missing_locations(tree))
