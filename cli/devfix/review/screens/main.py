"""The screen of the review: the tree, the change, the reason, and what each key does."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from devfix.errors import UsageError
from devfix.results import Failed
from devfix.review import messages
from devfix.review.decisions import Decision, as_safe_as, left_over
from devfix.review.documents import Item
from devfix.review.editor import EditorError, edit
from devfix.review.filtering import Filter, choices
from devfix.review.screens.background import Progress, put_together, replay
from devfix.review.screens.code import harmless
from devfix.review.screens.dialogs import Choices, Confirm, Page
from devfix.review.screens.keys import BINDINGS, HELP
from devfix.review.screens.panes import ChangePane, Pane
from devfix.review.screens.reasons import reasons
from devfix.review.screens.tree import FindingsTree
from devfix.review.session import Plan, Session
from devfix.rules.pages import page_named
from textual.app import ComposeResult, SuspendNotSupported
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Input, Static, Tree
from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions

_T = TypeVar("_T")


class MainScreen(Screen[None]):
    """Everything but the dialogs."""

    BINDINGS = BINDINGS
    DEFAULT_CSS = """
    MainScreen #head { height: 1; background: $primary; color: $text; padding: 0 1; }
    MainScreen #findings { width: 34%; min-width: 26; max-width: 64; border-right: solid $primary;
        overflow-x: hidden; scrollbar-size-vertical: 1; }
    MainScreen.zoomed #findings { display: none; }
    MainScreen #change { height: 3fr; }
    MainScreen #reason { height: 2fr; border-top: solid $primary; padding: 0 1; }
    MainScreen #search { height: 1; border: none; padding: 0 1; display: none; }
    MainScreen #search.open { display: block; }
    MainScreen #status { height: 1; padding: 0 1; color: $text-warning; }
    """

    def __init__(self, session: Session, replay: "Callable[[], ReplayOptions]", notice: str) -> None:
        super().__init__()
        self._notice = notice
        self._session = session
        self._review = session.review
        self._replay_options = replay
        self._filter = Filter()
        self._report: list[str] = []
        self._planning: Worker[Plan] | None = None
        self._planned_for: list[tuple[Item, Decision]] = []
        self._replaying: Worker[list[str]] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Horizontal():
            yield FindingsTree(self._told)
            with Vertical():
                yield ChangePane()
                yield Pane("reason")
        yield Static(id="status", markup=False)
        yield Input(id="search", placeholder="search in files, rules, messages and code", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self.refill()
        self.findings.focus()
        self.say(self._notice)

    @property
    def findings(self) -> FindingsTree:
        return self.query_one(FindingsTree)

    def say(self, text: str) -> None:
        """Put one line where the user reads what a key did."""
        self.query_one("#status", Static).update(harmless(self._session.trouble or text))

    def on_progress(self, message: Progress) -> None:
        if any(worker.is_running for worker in (self._planning, self._replaying) if worker is not None):
            self.say(message.text)

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
        shown = [f"only {self._filter.words}: {len(self.findings.numbers)} shown"] if self._filter.words else []
        parts = ["devfix review", *shown, messages.tally(self._session)]
        self.query_one("#head", Static).update(harmless("  ·  ".join(parts)))

    def _show(self) -> None:
        """The change and the reason of the finding under the cursor."""
        item = self.findings.current
        change, reason = self.query_one(ChangePane), self.query_one("#reason", Pane)
        if change.show(item):
            reason.scroll_home(animate=False)
        if item is None:
            reason.text.update("")
            return
        judged = self._session.verdicts.get(item.number)
        accepted = {one.number for one in self._review.those(Decision.ACCEPTED)}
        is_stale = judged is not None and judged.together != accepted
        reason.text.update(reasons(item, self._review.decision(item), judged, is_stale))

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
        left = left_over(able, taken)
        self._decided(changed, decision, f"; {left}" if left else "")

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
        self.query_one(ChangePane).turn(step)

    def action_scroll_reason(self, step: int) -> None:
        self.query_one("#reason", Pane).turn(step)

    def action_zoom(self) -> None:
        self.toggle_class("zoomed")
        self.call_after_refresh(self._show)

    def action_side_by_side(self) -> None:
        change = self.query_one(ChangePane)
        change.toggle()
        self._show()
        self.say("too narrow for two columns: z hides the tree" if change.is_too_narrow else "")

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
        self.app.push_screen(Choices(choices(self._review.items)), self._chosen)

    def _chosen(self, key: str | None) -> None:
        if key is not None:
            self._filter = self._filter.choosing(key)
            self.refill()

    # Pages

    def action_help(self) -> None:
        self.app.push_screen(Page(HELP))

    def action_page(self) -> None:
        item = self.findings.current
        page = page_named(item.code) if item is not None else None
        if page is not None:
            self.app.push_screen(Page(f"# {page.code} {page.name}\n\n{page.text}", is_markdown=True))

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
            self.say(messages.renewed_line(item.document.label, renewed))

    # Replay

    def action_replay(self) -> None:
        if self._replaying is not None and self._replaying.is_running:
            self.say("the replay is still running")
        elif not self._review.those(Decision.ACCEPTED):
            self.say("nothing to replay: no fix is accepted")
        else:
            self.say("replay begins …")
            self._replaying = self._in_background(lambda: replay(self, self._session, self._replay_options))

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
        self._planning = self._in_background(lambda: put_together(self, self._session))

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
        lines = messages.plan_lines(plan) + messages.doubts(self._session)
        confirm = Confirm(messages.amount(plan), lines, plan.patch(), dirty)

        def answered(wanted: bool | None) -> None:
            if wanted:
                self._session.allow_dirty = self._session.allow_dirty or dirty is not None
                self.app.exit(plan)

        self.app.push_screen(confirm, answered)

    def _in_background(self, work: Callable[[], _T]) -> Worker[_T]:
        return self.run_worker(work, thread=True, exit_on_error=False)

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
