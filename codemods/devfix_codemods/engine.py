"""One file through all of it: trigger, parse, analyse, edit, verify; notebooks as the programs of their cells."""

import re
import sys
from dataclasses import dataclass, replace
from functools import partial

from devfix_codemods import guards, suppressions
from devfix_codemods.checking import Found, found_by, suited
from devfix_codemods.edits import lines
from devfix_codemods.edits.depth import with_deep_stack
from devfix_codemods.edits.errors import EditError, NotEditable
from devfix_codemods.edits.newer_python import is_newer_python
from devfix_codemods.findings import Fix
from devfix_codemods.fixing import applied
from devfix_codemods.notebooks.cells import ForeignNotebookError
from devfix_codemods.notebooks.notebook import is_notebook, may_use_torch, read
from devfix_codemods.outcomes import Changed, Checked, CheckOutcome, Clean, Failed, Options, RewriteOutcome, Skipped
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.repairs.findings import may_conflict
from devfix_codemods.rewriting import BUG, MAX_PASSES, Accept, rewritten
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source, SourceError, Span
from devfix_codemods.triggers import triggered

__all__ = ["MAX_PASSES", "Accept", "TextEdit", "check", "program", "rewrite", "text_edits"]

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextEdit:
    """`text` in the place of `span`; both are whole lines."""

    span: Span
    text: str


def check(source: Source, options: Options, project: Project | None = None) -> CheckOutcome:
    """What is wrong in `source`, read as one of the files of `project`. Never raises.

    Of a notebook, positions are those of its `program`.
    """
    try:
        return _check(program(source), options, project) if _concerns(source) else Checked(())
    except ForeignNotebookError as error:
        return Skipped(str(error))
    except SourceError as error:
        return Failed(str(error))
    except Exception as error:  # a defect in one file must not end the run over the others
        return Failed(f"{type(error).__name__}: {error}", internal=True)


def program(source: Source) -> Source:
    """What is analysed: `source` itself, or the cells of a notebook as one program.

    Raises:
        ForeignNotebookError: it is a notebook of another language.
        SourceError: it is a notebook that cannot be read.
    """
    return read(source.path, source.data).source if is_notebook(source.path) else source


def _concerns(source: Source) -> bool:
    return not is_notebook(source.path) or may_use_torch(source.data)


def _check(source: Source, options: Options, project: Project | None) -> CheckOutcome:
    try:
        return _checked(source, options, project)
    except SourceError as error:
        return Failed(_explained(source, error))
    except Exception as error:  # as in `check`
        return Failed(f"{type(error).__name__}: {error}", internal=True)


def rewrite(
    source: Source, options: Options, accept: Accept | None = None, project: Project | None = None
) -> RewriteOutcome:
    """`source` with its fixes applied: those that `options` allow, or those for which `accept` answers True.

    No options allow suggestions: only `accept` chooses them, among those that `options` show.
    Fixes that the first ones expose are applied too, unless `accept` chooses. Never raises.
    """
    try:
        if not _concerns(source):
            return Clean()
        look = partial(_check, options=options, project=project)
        return _in_its_cells(source, rewritten(program(source), options, accept, look))
    except ForeignNotebookError as error:
        return Skipped(str(error))
    except (NotEditable, SourceError) as error:
        return Failed(str(error))
    except Exception as error:  # as in `check`
        return Failed(f"{type(error).__name__}: {error}; {BUG}", internal=True)


def _in_its_cells(source: Source, outcome: RewriteOutcome) -> RewriteOutcome:
    if isinstance(outcome, Changed) and is_notebook(source.path):
        return replace(outcome, data=read(source.path, source.data).written(outcome.data))
    return outcome


def text_edits(source: Source, fix: Fix) -> list[TextEdit]:
    """What `fix` alone does to the lines of `source`; nothing where it cannot be applied.

    Of a notebook, `source` is its `program`.
    """
    try:
        after = Source(source.path, applied(source, fix.edits))
    except EditError:
        return []
    old, new = lines.split(source.text), lines.split(after.text)
    return [
        TextEdit(lines.span(old, start, end), "".join(new[new_start:new_end]))
        for tag, start, end, new_start, new_end in lines.opcodes(old, new)
        if tag != "equal"
    ]


def _checked(source: Source, options: Options, project: Project | None) -> Checked | Skipped | Failed:
    rules = all_rules()
    asked = [rule for rule in rules if rule.code in options.select]
    active = triggered(source.data, [*asked, guards.RULE] if options.guards else asked)
    owners = [rule for rule in asked if rule.owns is not None] if may_conflict(source.data) else []
    if not active and not owners and suppressions.MARKER not in source.data:
        _ = source.tree  # nothing to find, but what does not parse is named
        return Checked(())
    comments = suppressions.read(source)
    if comments.skip_file:
        return Skipped("it says `# devfix: skip-file`")
    program = Program(source, project, target=options.target_torch)
    try:
        found = with_deep_stack(lambda: found_by(program, active, owners, options)) if active or owners else Found()
    finally:
        program.forget()
    if isinstance(found, Failed):
        return found
    aimed = [suited(finding, options, source) for finding in found.shown]
    known = frozenset(rule.code for rule in rules)
    result = suppressions.silence(aimed, comments, options.select, known, found.hidden)
    order = sorted(result.findings, key=lambda finding: (finding.span, finding.code, finding.message))
    return Checked(tuple(order), result.ignored)


def _explained(source: Source, error: SourceError) -> str:
    cause = error.__cause__
    if not isinstance(cause, SyntaxError):
        return str(error)
    if is_newer_python(source.text, cause):
        return (
            f"{error}; newer than Python {sys.version_info.major}.{sys.version_info.minor}, which devfix runs on here"
        )
    if _TEMPLATE.search(source.text):  # f-strings have `{{`, too
        return f"{error}; looks like a template, not like Python"
    return str(error)
