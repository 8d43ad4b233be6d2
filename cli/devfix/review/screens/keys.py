"""The keys of the review, and the page that tells them."""

from textual.binding import Binding, BindingType

BINDINGS: list[BindingType] = [
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

HELP = """\
Decide
  y  accept this fix              n  refuse it
  a  accept the file's rest too   d  refuse the file's rest too
  A  accept the rule's rest too   D  refuse the rule's rest too
  i  ignore it by a comment       x  make it undecided again
  u  undo                         U  redo
On a file, y and n are about all of it that is undecided.
Unsafe fixes and suggestions are taken along only by their like.

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

✓ accepted  ✗ refused  # ignored  · undecided
! unsafe  ~ suggestion  ? advice"""
