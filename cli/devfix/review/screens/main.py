"""The screen of the review: the tree, the change, the reason, and what each key does."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from devfix.errors import UsageError
from devfix.reporting.terminal import cells_of
from devfix.results import Failed
from devfix.review import telling
from devfix.review.changes import blocks
from devfix.review.deciding import Decision, as_safe_as
from devfix.review.documents import Item
from devfix.review.editor import EditorError, edit
from devfix.review.filtering import UNDECIDED, Filter
from devfix.review.screens.code import harmless, side_by_side, unified
from devfix.review.screens.dialogs import Choices, Confirm, Page
from devfix.review.screens.reasons import reasons
from devfix.review.screens.tree import FindingsTree
from devfix.review.session import Plan, Session
from devfix.rulepages import page_named
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Input, Static, Tree
from textual.worker import Worker, WorkerState, get_current_worker

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

WIDE = 110
"""From so many columns for the change on, it is shown side by side unless the user says otherwise."""

HELP = """\
Decide
  y  accept this fix              n  refuse it
  a  accept the file's rest too   d  refuse the file's rest too
  A  accept the rule's rest too   D  refuse the rule's rest too
  i  ignore it by a comment       x  make it undecided again
  u  undo                         U  redo
On a file, y and n are about all of it that is undecided.
Unsafe fixes are taken along only by an unsafe one.

Move
  j k ↓ ↑  next, previous         tab  next undecided (shift: back)
  ] [      next, previous file    pgdn pgup  scroll the change
  enter    fold or open a file    < >        scroll the reason

Look
  s  side by side, or unified     z  hide or show the tree
  r  the page of the rule         /  search
  f  only a rule, safety, state   esc  show everything again

Do
  e  open in $EDITOR; the file is then analysed anew
  p  replay what is accepted      P  the report of that
  w  look at what would be written, then write it
  q  quit; `devfix review --resume` goes on

✓ accepted  ✗ refused  # ignored  · undecided   ! unsafe  ? advice"""


class _ReplayStoppedError(Exception):
    """The user has left."""


class MainScreen(Screen[None]):
    """Everything but the dialogs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('accepted')", "Accept"),
        Binding("n", "decide('refused')", "Refuse"),
        Binding("i", "decide('ignored')", "Ignore"),
        Binding("u", "undo", "Undo"),
        Binding("w", "write", "Write"),
        Binding("slash", "search", "Search"),
        Binding("f", "filter", "Filter"),
        Binding("q", "quit", "Quit"),
        Binding("question_mark", "help", "Help"),
        Binding("a", "rest_of_file('accepted')", show=False),
        Binding("d", "rest_of_file('refused')", show=False),
        Binding("A", "rest_of_rule('accepted')", show=False),
        Binding("D", "rest_of_rule('refused')", show=False),
        Binding("x", "clear", show=False),
        Binding("U", "redo", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("tab", "undecided(1)", show=False, priority=True),
        Binding("shift+tab", "undecided(-1)", show=False, priority=True),
        Binding("right_square_bracket", "file(1)", show=False),
        Binding("left_square_bracket", "file(-1)", show=False),
        Binding("pagedown", "scroll_change(1)", show=False, priority=True),
        Binding("pageup", "scroll_change(-1)", show=False, priority=True),
        Binding("greater_than_sign", "scroll_reason(1)", show=False),
        Binding("less_than_sign", "scroll_reason(-1)", show=False),
        Binding("z", "zoom", show=False),
        Binding("s", "side_by_side", show=False),
        Binding("r", "page", show=False),
        Binding("e", "edit", show=False),
        Binding("p", "replay", show=False),
        Binding("P", "report", show=False),
        Binding("escape", "everything", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    MainScreen #head { height: 1; background: $primary; color: $text; padding: 0 1; }
    MainScreen #findings { width: 34%; min-width: 26; max-width: 64; border-right: solid $primary;
        overflow-x: hidden; scrollbar-size-vertical: 1; }
    MainScreen.zoomed #findings { display: none; }
    MainScreen #change { height: 3fr; scrollbar-size-vertical: 1; }
    MainScreen #reason { height: 2fr; border-top: solid $primary; padding: 0 1; scrollbar-size-vertical: 1; }
    MainScreen #search { height: 1; border: none; padding: 0 1; display: none; }
    MainScreen #search.open { display: block; }
    MainScreen #status { height: 1; padding: 0 1; color: $text-warning; }
    """

    def __init__(self, session: Session, replay: "Callable[[], ReplayOptions]") -> None:
        super().__init__()
        self._session = session
        self._review = session.review
        self._replay_options = replay
        self._filter = Filter()
        self._side_by_side: bool | None = None
        self._report: list[str] = []
        self._shown: tuple[object, ...] = ()
        self._planning: Worker[Plan] | None = None
        self._planned_for: list[tuple[Item, Decision]] = []
        self._replaying: Worker[list[str]] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Horizontal():
            yield FindingsTree(self._told)
            with Vertical():
                with VerticalScroll(id="change", can_focus=False):
                    yield Static(id="change-text", markup=False)
                with VerticalScroll(id="reason", can_focus=False):
                    yield Static(id="reason-text", markup=False)
        yield Static(id="status", markup=False)
        yield Input(id="search", placeholder="search in files, rules, messages and code", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self.refill()
        self.findings.focus()

    @property
    def findings(self) -> FindingsTree:
        return self.query_one(FindingsTree)

    def say(self, text: str) -> None:
        """Put one line where the user reads what a key did."""
        self.query_one("#status", Static).update(harmless(self._session.trouble or text))

    def refill(self) -> None:
        """Show all findings that the filter lets through."""
        shown = [item for item in self._review.items if self._filter.shows(item, self._review.decision(item))]
        current = self.findings.current
        self.findings.fill(shown, current.number if current is not None else None)
        self._head()
        self._show()

    # What is shown

    def on_tree_node_highlighted(self, _event: Tree.NodeHighlighted[object]) -> None:
        self._show()

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._show)

    def _told(self, item: Item) -> tuple[Decision | None, str]:
        judged = self._session.verdicts.get(item.number)
        return self._review.decision(item), judged.words if judged is not None else ""

    def _head(self) -> None:
        parts = ["devfix review", telling.tally(self._session)]
        if self._filter.words:
            parts.append(f"only {self._filter.words}: {len(self.findings.numbers)} shown")
        self.query_one("#head", Static).update(harmless("  ·  ".join(parts)))

    def _show(self) -> None:
        """The change and the reason of the finding under the cursor."""
        change, reason = self.query_one("#change-text", Static), self.query_one("#reason-text", Static)
        item = self.findings.current
        pane = self.query_one("#change", VerticalScroll)
        width = pane.scrollable_content_region.width
        if item is None or width <= 0:
            change.update("Nothing is shown." if item is None else "")
            reason.update("")
            self._shown = ()
            return
        is_wide = self._side_by_side if self._side_by_side is not None else width >= WIDE
        state = (item, width, is_wide)
        if state != self._shown:
            same_item = bool(self._shown) and self._shown[0] == item
            self._shown = state
            draw = side_by_side if is_wide else unified
            title = Content.styled(_ending(f"{harmless(item.document.label)}:{item.place}", width), "bold")
            change.update(Content("\n").join([title, draw(item, blocks(item), width)]))
            if not same_item:
                pane.scroll_home(animate=False)
                self.query_one("#reason", VerticalScroll).scroll_home(animate=False)
        judged = self._session.verdicts.get(item.number)
        accepted = {one.number for one in self._review.those(Decision.ACCEPTED)}
        is_stale = judged is not None and judged.together != accepted
        reason.update(reasons(item, self._review.decision(item), judged, is_stale))

    def _renew(self, changed: Sequence[Item]) -> None:
        self.findings.renew(changed)
        self._head()
        self._show()

    # Deciding

    def action_decide(self, word: str) -> None:
        tree, decision = self.findings, Decision(word)
        item = tree.current
        if item is None:
            return
        if tree.on_file and decision is not Decision.IGNORED:
            undecided = [one for one in self._review.undecided if one.path == item.path]
            self._decide_rest("safe", undecided, decision)
            return
        if not self._can(item, decision):
            return
        chosen = [item] if decision is Decision.IGNORED else self._review.same_change(item)
        changed = self._session.decide(chosen, decision)
        self._decided(changed, decision)

    def action_rest_of_file(self, word: str) -> None:
        item = self.findings.current
        if item is not None:
            self._decide_rest(item.safety, self._review.rest_of_file(item), Decision(word))

    def action_rest_of_rule(self, word: str) -> None:
        item = self.findings.current
        if item is not None:
            self._decide_rest(item.safety, self._review.rest_of_rule(item), Decision(word))

    def _decide_rest(self, safety: str, rest: Sequence[Item], decision: Decision) -> None:
        if decision is not Decision.ACCEPTED:
            self._decided(self._session.decide(rest, decision), decision)
            return
        able = [one for one in rest if one.can_accept]
        taken = as_safe_as(safety, able)
        changed = self._session.decide(taken, decision)
        left = f"; {len(able) - len(taken)} unsafe left to decide" if len(taken) < len(able) else ""
        self._decided(changed, decision, left)

    def _decided(self, changed: Sequence[Item], decision: Decision, more: str = "") -> None:
        self._renew(changed)
        self.say(f"{len(changed)} {decision}{more}" if len(changed) != 1 or more else "")
        if changed:
            self._next_undecided(1)

    def _can(self, item: Item, decision: Decision) -> bool:
        why = item.document.obstacle
        if decision is Decision.ACCEPTED and not item.can_accept:
            self.say(f"not written: {why}" if why else "advice: there is no fix to accept; n leaves it, i ignores it")
            return False
        if decision is Decision.IGNORED and not item.can_ignore:
            self.say(f"not written: {why}" if why else "it is about a comment, which is repaired by hand")
            return False
        return True

    def action_clear(self) -> None:
        item = self.findings.current
        if item is not None:
            self._renew(self._session.decide(self._review.same_change(item), None))

    def action_undo(self) -> None:
        self._taken_back(self._session.undo(), "undone", "there is nothing to undo")

    def action_redo(self) -> None:
        self._taken_back(self._session.redo(), "done again", "there is nothing to do again")

    def _taken_back(self, changed: Sequence[Item], word: str, nothing: str) -> None:
        self._renew(changed)
        self.say(f"{len(changed)} {word}" if changed else nothing)
        if changed:
            self.findings.go(changed[0].number)

    # Moving

    def action_move(self, step: int) -> None:
        tree = self.findings
        tree.action_cursor_down() if step > 0 else tree.action_cursor_up()

    def action_file(self, step: int) -> None:
        self.findings.to_file(step)

    def action_undecided(self, step: int) -> None:
        self._next_undecided(step)

    def _next_undecided(self, step: int) -> None:
        tree = self.findings
        current, numbers = tree.current, tree.numbers
        if current is None:
            return
        open_ones = {item.number for item in self._review.undecided}
        at = numbers.index(current.number)
        order = numbers[at + 1 :] + numbers[:at] if step > 0 else (numbers[at + 1 :] + numbers[:at])[::-1]
        found = next((number for number in order if number in open_ones), None)
        if found is not None:
            tree.go(found)
        elif current.number not in open_ones:
            self.say("everything shown is decided: w writes")

    def action_scroll_change(self, step: int) -> None:
        pane = self.query_one("#change", VerticalScroll)
        pane.scroll_relative(y=step * max(pane.size.height - 2, 1), animate=False)

    def action_scroll_reason(self, step: int) -> None:
        pane = self.query_one("#reason", VerticalScroll)
        pane.scroll_relative(y=step * max(pane.size.height - 2, 1), animate=False)

    def action_zoom(self) -> None:
        self.toggle_class("zoomed")
        self.call_after_refresh(self._show)

    def action_side_by_side(self) -> None:
        width = self.query_one("#change", VerticalScroll).scrollable_content_region.width
        was = self._side_by_side if self._side_by_side is not None else width >= WIDE
        self._side_by_side = not was
        self._show()

    # Searching

    def action_search(self) -> None:
        search = self.query_one("#search", Input)
        search.value = self._filter.text
        search.add_class("open")
        search.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.has_class("open"):
            self._filter = self._filter.searching(event.value)
            self.refill()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self._close_search()

    def action_everything(self) -> None:
        self._close_search()
        if self._filter != Filter():
            self._filter = Filter()
            self.refill()

    def _close_search(self) -> None:
        search = self.query_one("#search", Input)
        search.remove_class("open")
        self.findings.focus()

    def action_filter(self) -> None:
        self.app.push_screen(Choices(self._choices()), self._chosen)

    def _choices(self) -> list[tuple[str, str]]:
        rules: dict[str, int] = {}
        names: dict[str, str] = {}
        for item in self._review.items:
            rules[item.code] = rules.get(item.code, 0) + 1
            names[item.code] = item.problem.name
        safeties = [word for word in ("safe", "unsafe", "advice") if any(i.safety == word for i in self._review.items)]
        states = [UNDECIDED, *Decision]
        return [
            ("all", "everything"),
            *((f"code {code}", f"{code} {names[code]} ({rules[code]})") for code in sorted(rules)),
            *((f"safety {word}", word) for word in safeties),
            *((f"state {word}", word) for word in states),
        ]

    def _chosen(self, key: str | None) -> None:
        if key is None:
            return
        kind, _, word = key.partition(" ")
        text = self._filter.text
        match kind:
            case "code":
                self._filter = Filter(text, word, self._filter.safety, self._filter.state)
            case "safety":
                self._filter = Filter(text, self._filter.code, word, self._filter.state)
            case "state":
                self._filter = Filter(text, self._filter.code, self._filter.safety, word)
            case _:
                self._filter = Filter()
        self.refill()

    # Pages

    def action_help(self) -> None:
        self.app.push_screen(Page(HELP))

    def action_page(self) -> None:
        item = self.findings.current
        page = page_named(item.code) if item is not None else None
        if page is not None:
            self.app.push_screen(Page(f"{page.code} {page.name}\n\n{page.text}"))

    def action_report(self) -> None:
        if self._report:
            self.app.push_screen(Page("\n".join(map(harmless, self._report))))
        else:
            self.say("nothing was replayed yet: p replays what is accepted")

    # Editing

    def action_edit(self) -> None:
        item = self.findings.current
        if item is None:
            return
        try:
            with self.app.suspend():
                edit(item.path, None if item.problem.cells else item.problem.span.line)
                renewed = self._session.renew(item.document)
        except EditorError as error:
            self.say(str(error))
            return
        except SuspendNotSupported:
            self.say("this terminal cannot be handed to an editor")
            return
        self.refill()
        if isinstance(renewed, Failed):
            self.say(f"{renewed.target.label}: {renewed.reason}")
        else:
            self.say(telling.renewed_line(item.document.label, renewed))

    # Replay

    def action_replay(self) -> None:
        if self._replaying is not None and self._replaying.is_running:
            self.say("the replay is still running")
        elif not self._review.those(Decision.ACCEPTED):
            self.say("nothing to replay: no fix is accepted")
        else:
            self.say("replay begins …")
            self._replaying = self.run_worker(self._replay, thread=True, group="replay", exit_on_error=False)

    def _replay(self) -> list[str]:
        worker = get_current_worker()

        def tell(path: Path, step: str, seconds: float) -> None:
            if worker.is_cancelled:
                raise _ReplayStoppedError
            self.app.call_from_thread(self.say, f"replay {path.name}: {step}, {seconds:.0f} s")

        return self._session.replay(self._replay_options(), tell)

    def _replayed(self, worker: Worker[list[str]]) -> None:
        if worker.state is WorkerState.SUCCESS:
            self._report = worker.result or []
            kinds = [judged.words for judged in self._session.verdicts.values()]
            counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
            self._renew(self._review.items)
            self.say(f"replay: {counts or 'nothing was told'}; P shows the report")
        elif worker.error is not None:
            self.say(f"replay: {worker.error}")

    # Writing

    def action_write(self) -> None:
        if self._planning is not None and self._planning.is_running:
            return
        self.say("putting together …")
        self._planned_for = self._review.decisions
        self._planning = self.run_worker(self._plan, thread=True, group="plan", exit_on_error=False)

    def _plan(self) -> Plan:
        def advance(done: int, total: int) -> None:
            if total > 1:
                self.app.call_from_thread(self.say, f"putting together: {done} of {total} files")

        return self._session.plan(advance)

    def _planned(self, worker: Worker[Plan]) -> None:
        plan = worker.result
        if worker.state is not WorkerState.SUCCESS or plan is None:
            self.say(f"this cannot be written: {worker.error}")
            return
        if self._planned_for != self._review.decisions:
            self.action_write()
            return
        self.say("")
        if not plan.changed and not plan.missed and not plan.errors:
            undecided = len(self._review.undecided)
            if undecided:
                self.say("nothing is accepted or to be ignored: there is nothing to write")
            else:
                self.app.exit(plan)
            return
        try:
            dirty = None
            self._session.refuse_dirty(plan)
        except UsageError as error:
            dirty = "\n".join(map(harmless, (str(error), *error.details)))
        lines = telling.plan_lines(plan) + telling.doubts(self._session)
        confirm = Confirm(telling.amount(plan), lines, plan.patch(), dirty)

        def answered(wanted: bool | None) -> None:
            if wanted:
                self._session.allow_dirty = self._session.allow_dirty or dirty is not None
                self.app.exit(plan)

        self.app.push_screen(confirm, answered)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state not in (WorkerState.SUCCESS, WorkerState.ERROR):
            return
        if event.worker is self._replaying:
            self._replayed(event.worker)
        elif event.worker is self._planning:
            self._planned(event.worker)

    def action_quit(self) -> None:
        self.workers.cancel_all()
        self.app.exit(None)


def _ending(text: str, width: int) -> str:
    """The end of `text` that fits."""
    return text if cells_of(text) <= width else f"…{text[max(len(text) - width + 1, 1) :]}"
