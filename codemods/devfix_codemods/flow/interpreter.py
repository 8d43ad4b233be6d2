"""The abstract interpreter: statements, and the order in which a file's code is run.

The module body runs first, and calls of the file's own functions are followed with the values they get there. Then each
function and method runs once more by itself, with parameters that live somewhere unknown, so that a library file is
read as well as a script. A fact holds on some run that the program provides for; joins forget what branches disagree
on.
"""

import ast
import contextlib
from collections.abc import Callable
from typing import ClassVar

from devfix_codemods.flow import tables
from devfix_codemods.flow.across import Across
from devfix_codemods.flow.asked import asked_tensor, asks_tensor, asks_type, brings_if_elsewhere
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import born_in_batch, child_of_batch, is_carried
from devfix_codemods.flow.facts import Facts, Operand
from devfix_codemods.flow.machine import Frame, Function, OutOfBudgetError
from devfix_codemods.flow.omitted import keep_defaults, omission
from devfix_codemods.flow.places import UNKNOWN, Place, Symbol, may_be_device
from devfix_codemods.flow.project import Entry, Project
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State, add_merged_objects, join_objects, join_states
from devfix_codemods.flow.tree import declared, stored
from devfix_codemods.flow.units import Unit
from devfix_codemods.flow.values import NONE, NOTHING, Birth, Kind, Object, Origin, Value, join_values

STEPS_AT_TOP = 20_000
"""Expressions evaluated at the top level of a file that is only imported."""

STEPS_OF_CALLER = 60_000
"""Expressions evaluated in a file that imports another one, to see how it calls it."""

ROUNDS = (3, 2, 1)
"""How often a loop body runs at nesting depth 0, 1, 2 and more; fewer where the state settles earlier."""


def interpret(unit: Unit, project: Project | None = None, undone: frozenset[ast.Call] = frozenset()) -> Facts:
    """Run the analysis over one file, as part of `project`.

    `undone` are calls that are read as if they left their tensors on the host: moves, and factories with a device.
    """
    machine = Interpreter(unit, project)
    machine.undone = undone
    try:
        machine.run()
        if machine.unplaced and machine.inferred:
            machine = machine.again()
            machine.run()
    except OutOfBudgetError:
        machine.facts.incomplete = "the file is too large to be followed to its end"
    except RecursionError:
        machine.facts.incomplete = "the code is nested too deeply to be followed"
    return machine.facts


class Interpreter(Across):
    """Runs statements."""

    _runners: ClassVar[dict[type[ast.stmt], Callable[..., State | None] | None]] = {}

    # -- the whole file

    def again(self) -> "Interpreter":
        """A second run that knows where modules live by what their calls got in the first."""
        second = Interpreter(self.root, self.project)
        second.imported_devices.update(self.imported_devices)
        second.undone = self.undone
        second.inferred = {token: place for token, place in self.inferred.items() if place != UNKNOWN}
        return second

    def run(self) -> None:
        base = self._top()
        if self.project is not None and self.asks_callers and self._takes_batches():
            for entry in self.project.entries(self.root, self.calls_of):
                self._run_entry(entry, base)
        for node in self.root.source.tree.body:
            self._roots(node, base)
        for definition in self.interest.closures():
            if definition not in self.followed:
                self._run_closure(definition, base.copy())

    asks_callers = True

    def _takes_batches(self) -> bool:
        """Whether some function goes over what its caller gives it: callers then know what that is, and the model."""
        return any(
            any(word in ast.unparse(loop.iter).lower() for word in ("loader", "batches"))
            and any(isinstance(one, Function) for one in self.root.names.ancestors(loop))
            for loop in self.root.names.loops
        )

    def calls_of(self, unit: Unit) -> list[Entry]:
        """How another file calls what it imports."""
        machine = Interpreter(unit, self.project)
        machine.asks_callers, machine.limit = False, STEPS_OF_CALLER
        with contextlib.suppress(OutOfBudgetError, RecursionError):
            machine.run()
        return machine.entries

    def _run_entry(self, entry: Entry, base: State) -> None:
        """Run a function as another file calls it."""
        definition = self._of_this_text(entry)
        if definition is None:
            return
        env = {name: self._with_this_class(value) for name, value in entry.env.items()}
        state = base.copy()
        for token, held in entry.objects.items():
            state.objects.setdefault(token, held)
        self.observe(definition, env)
        self._run_at_home(definition, env, state, symbolic=False)

    def _of_this_text(self, entry: Entry) -> Function | None:
        """The function that was called; where the project has an older text of this file, the one of its name."""
        if self.root.holds(entry.definition):
            return entry.definition
        named = [
            one
            for one in self.root.evidence
            if isinstance(one, Function)
            and one.name == entry.definition.name
            and _name_of(self.root.owners.get(one)) == entry.owner
        ]
        return named[0] if len(named) == 1 else None

    def _with_this_class(self, value: Value) -> Value:
        """An object of a class of this file, where the project has an older text of it."""
        definition = value.definition
        if not isinstance(definition, ast.ClassDef) or self.root.holds(definition):
            return value
        same = [one for one in self.root.names.classes if one.name == definition.name]
        older = self.home_of(definition).path == self.root.path
        return replace(value, definition=same[0]) if older and len(same) == 1 else value

    def top_level(self, unit: Unit) -> State | None:
        """What holds after the top level of another file has run; None where that takes too long."""
        machine = Interpreter(unit, self.project)
        machine.limit = STEPS_AT_TOP
        try:
            return machine._top()
        except (OutOfBudgetError, RecursionError):
            return None

    def _top(self) -> State:
        tree = self.root.source.tree
        self.module_frame.evidence = self.evidence(tree)
        state = State()
        self._hoist(tree.body, state)
        end = self.run_block(tree.body, state) or state
        self.module_frame.env = end.env
        return end

    def _hoist(self, body: list[ast.stmt], state: State) -> None:
        """Functions and classes may be used above their definition, from functions called below it."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                state.env[node.name] = Value(Kind.FUNCTION, definition=node)
            elif isinstance(node, ast.ClassDef):
                state.env[node.name] = Value(Kind.CLASS, definition=node)

    def _roots(self, node: ast.stmt, base: State) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if self.interest.in_function(node):
                self._run_symbolic(node, None, UNKNOWN, base.copy())
        elif isinstance(node, ast.ClassDef):
            self._run_class(node, base)
        elif isinstance(node, (ast.If, ast.Try)):
            for inner in (*node.body, *node.orelse):
                self._roots(inner, base)

    def _run_symbolic(self, definition: Function, receiver: Value | None, place: Place, state: State) -> State | None:
        """Run a function with unknown arguments; the joined state at its ends."""
        with self.at(self.home_of(definition)):
            env = self.symbolic_parameters(definition, receiver, place)
            return self._run_at_home(definition, env, state, symbolic=True)

    def _run_closure(self, definition: Function, state: State) -> None:
        """Run a function that another one hands out. What it sees of that one is not known, nor is who calls it."""
        env: dict[str, Value] = {}
        for outer in self.root.names.ancestors(definition):
            if isinstance(outer, Function):
                hidden = {*self.evidence(outer).bindings, *(one.arg for one in declared(outer))}
                env.update(dict.fromkeys(hidden, NOTHING))
        env |= self.symbolic_parameters(definition, None, UNKNOWN)
        self._run_at_home(definition, env, state, symbolic=True)

    def _run_at_home(
        self, definition: Function, env: dict[str, Value], state: State, *, symbolic: bool
    ) -> State | None:
        before = self.frame
        context = self.context_of(definition, symbolic=symbolic)
        frame = Frame(context, self.module_frame, evidence=self.evidence(definition))
        self.frame = frame
        self.calls.append(definition)
        try:
            inner = state.entering(env)
            end = self.run_block(definition.body, inner)
        finally:
            self.calls.pop()
            self.frame = before
        for _, at in frame.returns:
            end = join_states(end, at)
        return end

    def _run_class(self, definition: ast.ClassDef, base: State) -> None:
        """Run all methods over one `self`, whose attributes are what any method may have left in them."""
        methods = {
            name: one
            for name, one in self.classes.methods(definition).items()
            if one in definition.body or name == "__init__"
        }
        inherited = {name: one for name, one in methods.items() if not self.is_here(one)}
        methods = self.interest.methods({name: one for name, one in methods.items() if name not in inherited})
        if not methods:
            return
        methods |= inherited
        is_module = self.classes.is_module(definition)
        token = f"self:{self.root.tag}{definition.name}"
        kind = Kind.MODULE if is_module else Kind.INSTANCE
        receiver = Value(kind, Symbol(token) if is_module else UNKNOWN, token=token, definition=definition)
        state = base.copy()
        state.objects[token] = Object(UNKNOWN)
        if (constructor := methods.pop("__init__", None)) is not None:
            state = self._run_symbolic(constructor, receiver, UNKNOWN, state) or state
        if self.classes.may_be_module(definition):
            self._live_with_itself(token, state, surely=is_module or self.classes.is_managed(definition))
        self._run_methods(token, receiver, list(methods.values()), is_module, state)

    def _live_with_itself(self, token: str, state: State, *, surely: bool) -> None:
        """What a module holds lives where the module lives, whichever place that is.

        Where the class only may be one, what its constructor moved is where it was moved.
        """
        known = state.objects.get(token)
        if known is not None and known.moved is None:
            state.relocate(token, Symbol(token), keeps_moved=not surely)

    def _run_methods(self, token: str, receiver: Value, methods: list[Function], is_module: bool, state: State) -> None:
        """Run the methods. Where one leaves something new in `self`, all run again with it: that run counts."""
        before = self._checkpoint()
        merged = self._each(token, receiver, methods, is_module, state)
        if any(merged.objects.get(known) != held for known, held in state.objects.items()):
            self._restore(before)
            self._each(token, receiver, methods, is_module, merged)

    def _each(self, token: str, receiver: Value, methods: list[Function], is_module: bool, state: State) -> State:
        """Run each method from `state`; what they leave in the object, joined."""
        merged = state.copy()
        for method in methods:
            place = Symbol(token) if is_module and method.name == "forward" else UNKNOWN
            end = self._run_symbolic(method, receiver, place, state.copy())
            if end is not None and token in end.objects:
                _merge_objects(merged, end)
        add_merged_objects(merged)
        return merged

    # -- blocks

    def run_block(self, body: list[ast.stmt], state: State) -> State | None:
        current: State | None = state
        for statement in body:
            if current is None:
                return None
            current = self._run(statement, current)
        return current

    def _run(self, node: ast.stmt, state: State) -> State | None:
        self.step()
        self.frame.statement = node
        kind = node.__class__
        if kind not in self._runners:
            self._runners[kind] = getattr(type(self), f"_run_{kind.__name__.lower()}", None)
        method = self._runners[kind]
        return state if method is None else method(self, node, state)

    # -- simple statements

    def _run_expr(self, node: ast.Expr, state: State) -> State | None:
        self.evaluate(node.value, state)
        return None if _exits(node.value) else state

    def _run_assign(self, node: ast.Assign, state: State) -> State:
        value = self.evaluate(node.value, state)
        if value.kind is Kind.MODULE or value.origin is not None:
            self.note_devices(node, state)
        for target in node.targets:
            self.assign(target, value, state)
        return state

    def _run_annassign(self, node: ast.AnnAssign, state: State) -> State:
        if node.value is not None:
            value = self.evaluate(node.value, state)
            self.note_devices(node, state)
            self.assign(node.target, value, state)
        return state

    def _run_augassign(self, node: ast.AugAssign, state: State) -> State:
        target = self.evaluate(_as_load(node.target), state)
        value = self.evaluate(node.value, state)
        if target.kind is Kind.TENSOR or (target.kind is Kind.UNKNOWN and may_be_device(target.place)):
            operands = [Operand(node.target, target, target.place, "self")]
            if value.kind is Kind.UNKNOWN and target.sources and _is_shaped(node.value):
                value = replace(value, kind=Kind.TENSOR)
            if not value.scalar:
                operands.append(Operand(node.value, value, state.place_of(value)))
            if not (target.scalar and may_be_device(value.place)):
                self.meet(node.value, "in-place update", operands, state)
            return state
        if target.kind is Kind.SEQUENCE:
            self.assign(node.target, _extended(target, self.elements(value, node.value, None)), state)
            return state
        result = NOTHING
        if target.kind in {Kind.NUMBER, Kind.UNKNOWN} and may_be_device(value.place):
            result = replace(value, token=None)
        self.assign(node.target, result, state)
        return state

    def _run_return(self, node: ast.Return, state: State) -> None:
        value = self.evaluate(node.value, state) if node.value is not None else NOTHING
        self.frame.returns.append((value, state))

    def _yield(self, node: ast.Yield, state: State) -> Value:
        value = self.evaluate(node.value, state) if node.value is not None else NOTHING
        self.frame.returns.append((value, state.copy()))
        return NOTHING

    def _run_raise(self, node: ast.Raise, state: State) -> None:
        if node.exc is not None:
            self.evaluate(node.exc, state)

    def _run_break(self, node: ast.Break, state: State) -> None:
        self.frame.breaks.append(state)

    def _run_continue(self, node: ast.Continue, state: State) -> None:
        self.frame.continues.append(state)

    def _run_assert(self, node: ast.Assert, state: State) -> State:
        self.evaluate(node.test, state)
        return state

    def _run_delete(self, node: ast.Delete, state: State) -> State:
        for target in node.targets:
            if isinstance(target, ast.Name):
                state.env.pop(target.id, None)
        return state

    def _run_functiondef(self, node: Function, state: State) -> State:
        state.bind(node.name, Value(Kind.FUNCTION, definition=node))
        return state

    _run_asyncfunctiondef = _run_functiondef

    def _run_classdef(self, node: ast.ClassDef, state: State) -> State:
        state.bind(node.name, Value(Kind.CLASS, definition=node))
        return state

    def _run_import(self, node: ast.Import | ast.ImportFrom, state: State) -> State:
        for alias in node.names:
            state.env.pop(alias.asname or alias.name.partition(".")[0], None)
        return state

    _run_importfrom = _run_import

    # -- compound statements

    def _run_if(self, node: ast.If, state: State) -> State | None:
        test = self.evaluate(node.test, state)
        if isinstance(test.const, bool):
            return self.run_block(node.body if test.const else node.orelse, state)
        if brings_if_elsewhere(node):
            return self.run_block(node.body, state)
        if (taken := self._guard(node.test, state)) is not None:
            return self._run_guarded(node, taken, state)
        if (found := omission(node.test)) is not None and self._may_be_omitted(found[0], state):
            return self._run_omission(node, found[1], state)
        if (asked := asked_tensor(node.test)) is not None and _may_be_tensor(state.env.get(asked[0], NONE)):
            return self._run_asked(node, *asked, state)
        other = self.run_block(node.orelse, state.copy())
        return join_states(self.run_block(node.body, state), other)

    def _run_asked(self, node: ast.If, name: str, holds: bool, state: State) -> State | None:
        """Join the branches: where a name is said to be no tensor, nothing is known of it."""
        no_tensor, before, other = Value(), state.copy(), state.copy()
        (other if holds else state).bind(name, no_tensor)
        ends = [self.run_block(node.orelse, other), self.run_block(node.body, state)]
        for end in ends:
            if end is not None and end.env.get(name) is no_tensor:
                end.rebind(name, before)
        return join_states(ends[1], ends[0])

    def _may_be_omitted(self, tested: ast.expr, state: State) -> bool:
        """Whether nothing is known of a value but that it may be None: no caller in sight gives it."""
        value = self.evaluate(tested, state)
        if value.kind is Kind.NONE:
            return True
        given = value.origin is not None and value.origin.birth is not Birth.PARAMETER
        return self.frame.context.symbolic and not given and not may_be_device(value.place)

    def _run_omission(self, node: ast.If, holds: bool, state: State) -> State | None:
        """Join the branches; of what one makes for an argument that was not given, nothing is forgotten."""
        chosen, other = (node.body, node.orelse) if holds else (node.orelse, node.body)
        before = state.copy()
        end = self.run_block(other, state.copy())
        without = self.run_block(chosen, state)
        joined = join_states(without, end)
        if joined is not None and without is not None and end is not None:
            keep_defaults(joined, without, before)
        return joined

    def _guard(self, test: ast.expr, state: State) -> bool | None:
        """Whether a condition asks for an accelerator: True or False is how it turns out where there is one."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._guard(test.operand, state)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            found = {self._guard(one, state) for one in test.values}
            return False if False in found else True if True in found else None
        if isinstance(test, ast.Call):
            if self.api(test.func) in tables.AVAILABILITY or asks_type(test):
                return True
            returned = self._condition_of(test.func, state)
            return self._guard(returned, state) if returned is not None else None
        if isinstance(test, ast.Compare):
            return asks_tensor(test)
        text = dotted(test)
        return True if text is not None and _says_accelerator(text) else None

    def _condition_of(self, function: ast.expr, state: State) -> ast.expr | None:
        """`self.weight.is_cuda`, where that is all that a function of this file returns, and no further helper."""
        if dotted(function) is None:
            return None
        if isinstance(function, ast.Attribute):
            definition = self.method_of(self.evaluate(function.value, state), function.attr)
        else:
            definition = self.evaluate(function, state).definition
        if not isinstance(definition, ast.FunctionDef) or not self.is_here(definition):
            return None
        body = definition.body[ast.get_docstring(definition) is not None :]
        match body:
            case [ast.Return(value=ast.expr() as returned)]:
                calls = (one for one in ast.walk(returned) if isinstance(one, ast.Call))
                return returned if all(self.api(one.func) in tables.AVAILABILITY for one in calls) else None
        return None

    def _run_guarded(self, node: ast.If, taken: bool, state: State) -> State | None:
        """Follow the branch of a machine with an accelerator; the other one is read for its facts alone.

        What is moved there lives on the device or, without one, on the host.
        """
        chosen, other = (node.body, node.orelse) if taken else (node.orelse, node.body)
        returned = len(self.frame.returns)
        without = self.run_block(other, state.copy())
        self.frame.returns[returned:] = [(replace(one, sources=()), at) for one, at in self.frame.returns[returned:]]
        self.frame.guards += 1
        try:
            end = self.run_block(chosen, state)
        finally:
            self.frame.guards -= 1
        if end is None:
            return without
        for name in end.env.keys() - (without.env.keys() if without is not None else set()):
            end.env[name] = replace(end.env[name], optional=True)
        return _with_fallbacks(end, without)

    def _run_match(self, node: ast.Match, state: State) -> State | None:
        self.evaluate(node.subject, state)
        result: State | None = state.copy()
        for case in node.cases:
            result = join_states(result, self.run_block(case.body, state.copy()))
        return result

    def _run_with(self, node: ast.With | ast.AsyncWith, state: State) -> State | None:
        before = state.default
        for item in node.items:
            value = self.evaluate(item.context_expr, state)
            if value.kind is Kind.DEVICE:
                state.default = value.denotes
            if item.optional_vars is not None:
                self.assign(item.optional_vars, NOTHING if value.kind is not Kind.LOADER else value, state)
        end = self.run_block(node.body, state)
        if end is not None and before != end.default:
            end.default = before
        return end

    _run_asyncwith = _run_with

    def _run_try(self, node: ast.Try, state: State) -> State | None:
        start = state.copy()
        after = self.run_block(node.body, state)
        failed = join_states(start, after.copy() if after is not None else None)
        if after is not None:
            after = self.run_block(node.orelse, after)
        for handler in node.handlers:
            entry = failed.copy() if failed is not None else start.copy()
            if handler.name:
                entry.bind(handler.name, NOTHING)
            after = join_states(after, self.run_block(handler.body, entry))
        if node.finalbody:
            after = self.run_block(node.finalbody, after) if after is not None else None
        return after

    _run_trystar = _run_try

    # -- loops

    def _run_for(self, node: ast.For | ast.AsyncFor, state: State) -> State | None:
        iterated = self.evaluate(node.iter, state)
        self.note_devices(node, state)
        fresh = self.elements(iterated, node.iter, node)
        self.frame.loops.append(node)
        try:
            return self._loop(node.body, node.orelse, state, lambda entry: self._next_item(node, fresh, entry))
        finally:
            self.frame.loops.pop()

    _run_asyncfor = _run_for

    def _next_item(self, node: ast.For | ast.AsyncFor, item: Value, state: State) -> None:
        """One more round: the new batch has not been moved."""
        if item.batch is not None:
            state.moved.pop(item.batch.token, None)
        self.assign(node.target, item, state)

    def _run_while(self, node: ast.While, state: State) -> State | None:
        return self._loop(node.body, node.orelse, state, lambda entry: self.evaluate(node.test, entry))

    def _loop(self, body: list[ast.stmt], orelse: list[ast.stmt], state: State, enter: object) -> State | None:
        """Run a body until the state settles. The first round is the first iteration, which does happen."""
        outer = self.frame.breaks, self.frame.continues
        depth = min(len(self.frame.loops), len(ROUNDS)) - 1
        left: State | None = None
        for _ in range(ROUNDS[max(depth, 0)]):
            self.frame.breaks, self.frame.continues = [], []
            entry = state.copy()
            enter(entry)  # type: ignore[operator]
            end = self.run_block(body, entry)
            for other in self.frame.continues:
                end = join_states(end, other)
            for other in self.frame.breaks:
                left = join_states(left, other)
            joined = join_states(state, end) or state
            settled = joined == state
            state = joined
            if settled:
                break
        self.frame.breaks, self.frame.continues = outer
        return join_states(self.run_block(orelse, state), left) if orelse else join_states(state, left)

    # -- assignment

    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        match target:
            case ast.Name():
                state.bind(target.id, self._known_module(self._named(target, value), state))
            case ast.Tuple() | ast.List():
                self._unpack(target, value, state)
            case ast.Starred():
                self.assign(target.value, Value(Kind.SEQUENCE, element=value), state)
            case ast.Attribute():
                self._assign_attribute(target, value, state)
            case ast.Subscript():
                self._assign_item(target, value, state)

    def _named(self, target: ast.Name, value: Value) -> Value:
        """A fresh batch, or an element of one, takes the name it gets, and the kind that the name is used as."""
        value = self.as_tensor(self.as_module(value, target.id), target)
        if value.computed or value.batch is None or value.origin is None or value.origin.birth is not Birth.LOADER:
            return value
        node = target if isinstance(value.origin.node, (ast.For, ast.AsyncFor, ast.Name)) else value.origin.node
        evidence = self.frame.evidence
        other = evidence.texts | evidence.modules | evidence.called
        is_tensor = value.kind is Kind.UNKNOWN and target.id in evidence.tensors - other and value.batch.path
        return replace(
            value, kind=Kind.TENSOR if is_tensor else value.kind, origin=Origin(Birth.LOADER, node, target.id)
        )

    def _known_module(self, value: Value, state: State) -> Value:
        """A module that was moved before it was seen to be one gets its state."""
        moved = value.origin is not None and value.origin.birth is Birth.MOVE
        if value.kind is Kind.MODULE and value.token is not None and value.token not in state.objects and moved:
            state.objects[value.token] = Object(value.place, value.origin)
        return value

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, state: State) -> None:
        starred = any(isinstance(one, ast.Starred) for one in target.elts)
        for index, one in enumerate(target.elts):
            self.assign(one, NOTHING if starred else self._part(value, index, one, len(target.elts)), state)

    def _part(self, value: Value, index: int, target: ast.expr, count: int) -> Value:
        if value.items is not None and value.kind is Kind.SEQUENCE:
            known = value.item(index)
            if known is None or len(value.items) != count:
                return NOTHING
            return replace(known, origin=Origin(Birth.LOADER, target)) if born_in_batch(known) else known
        if value.batch is not None:
            return child_of_batch(value, index, target)
        if value.kind is Kind.SEQUENCE:
            return value.element or NOTHING
        if value.kind is Kind.TENSOR and value.batch is None:
            return replace(value, token=None, const=None)
        if value.place != UNKNOWN:
            return Value(Kind.UNKNOWN, value.place, value.origin)
        token = f"{value.token}[{index}]" if value.token else None
        return Value(token=token, computed=token is not None and value.computed, of_host=value.of_host)

    def _assign_attribute(self, target: ast.Attribute, value: Value, state: State) -> None:
        owner = self.evaluate(target.value, state)
        text = dotted(target)
        if text is not None:
            value = self._known_module(self.as_module(value, text), state)
        if may_be_device(value.place) and value.kind is not Kind.MODULE:
            self._disturb_holders(target, owner, state)
        if owner.token is None:
            return
        if value.kind is Kind.NONE:
            value = replace(NOTHING, optional=False)
        if value.kind is Kind.TENSOR and not is_carried(value) and self.runs_setter(owner, target.attr):
            value = NOTHING
        if text is not None:
            state.devices.pop(text, None)
        known = state.attribute(owner.token, target.attr)
        if known is not None and is_carried(known) and value.kind is not Kind.MODULE:
            value = replace(value, qualified=known.qualified)
        state.set_attribute(owner.token, target.attr, value)

    def _disturb_holders(self, target: ast.Attribute, owner: Value, state: State) -> None:
        """`layer.weight.data = moved`: the module lives elsewhere, wholly or in part."""
        if owner.receiver is not None:
            state.disturb(owner.receiver)
        node: ast.expr = target.value
        while isinstance(node, ast.Attribute):
            node = node.value
            state.disturb(self.evaluate(node, state))

    def _assign_item(self, target: ast.Subscript, value: Value, state: State) -> None:
        owner = self.evaluate(target.value, state)
        key = self.evaluate(target.slice, state)
        if value.kind is Kind.MODULE:
            self.attach(target, owner, value, state)
            return
        self._put(target, owner, key, value, state)
        self._write_back(target.value, _with_item(owner, key.const, value), state)

    def _put(self, target: ast.Subscript, owner: Value, key: Value, value: Value, state: State) -> None:
        """`xs[index] = y` with a tensor for an index, which is brought along. A slice is copied to wherever it is."""
        if owner.kind is not Kind.TENSOR:
            return
        if key.kind is not Kind.TENSOR or key.scalar:
            return
        statement = self.frame.statement
        if isinstance(statement, ast.Assign) and value.kind is Kind.TENSOR and not value.scalar:
            written = Operand(target.value, owner, state.place_of(owner), "self")
            operands = [written, Operand(statement.value, value, value.place)]
            self.meet(target, "the assignment to indexed elements", operands, state)

    def _write_back(self, owner: ast.expr, value: Value, state: State) -> None:
        """A container with a changed element, bound again where it came from."""
        if isinstance(owner, ast.Name):
            state.env[owner.id] = value
            self._write_into_iterated(owner.id, value, state)
        elif isinstance(owner, ast.Attribute):
            holder = self.evaluate(owner.value, state)
            if holder.token is not None:
                state.set_attribute(holder.token, owner.attr, value)

    def _write_into_iterated(self, name: str, value: Value, state: State) -> None:
        """`for one in xs: one[key] = …` changes what `xs` holds."""
        loop = next((one for one in reversed(self.frame.loops) if name in stored(one.target)), None)
        if loop is None or not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Name):
            return
        container = state.env.get(loop.iter.id)
        if container is not None and container.kind is Kind.SEQUENCE:
            state.env[loop.iter.id] = replace(container, items=None, element=value)

    def attach(self, node: ast.expr, owner: Value, child: Value, state: State) -> None:
        """Put a module into another, under no name."""
        if owner.kind is Kind.MODULE and owner.token is not None:
            state.set_attribute(owner.token, f"*{self.position(node)}", child)

    # -- notes

    def note_devices(self, node: ast.stmt, state: State) -> None:
        """Remember the device names at the start of a statement at which a fix may want to insert."""
        if node not in self.facts.devices_at:
            self.facts.devices_at[node] = self.device_names(state)
            self.facts.owners_at[node] = self.named_objects(state)


def _may_be_tensor(value: Value) -> bool:
    """A tensor, or anything; elements of batches may also be lists and mappings of some."""
    return value.kind is Kind.TENSOR or (value.kind is Kind.UNKNOWN and value.batch is None)


def _name_of(definition: ast.ClassDef | None) -> str | None:
    return definition.name if definition is not None else None


def _with_fallbacks(end: State, without: State | None) -> State:
    """Devices that the two branches name differently are a choice, as in `device = "cuda" if … else "cpu"`."""
    for name, value in end.env.items():
        other = without.env.get(name) if without is not None else None
        if (
            other is not None
            and value.denotes != UNKNOWN
            and other.denotes != UNKNOWN
            and other.denotes != value.denotes
        ):
            end.env[name] = join_values(value, other)
    return end


def _says_accelerator(text: str) -> bool:
    """A flag such as `use_cuda`, `args.gpu`, `cuda_available`."""
    last = text.rpartition(".")[2].lower()
    return any(word in last.split("_") for word in ("cuda", "gpu", "gpus"))


def _merge_objects(merged: State, end: State) -> None:
    """Let `merged` also hold what one method left in the objects."""
    for token, known in end.objects.items():
        mine = merged.objects.get(token)
        merged.objects[token] = known if mine is None else mine if mine == known else join_objects(mine, known)


def _with_item(owner: Value, key: object, value: Value) -> Value:
    if isinstance(key, (int, str)) and not isinstance(key, bool) and owner.items is not None:
        items = dict(owner.items) | {key: value}
        return replace(owner, items=tuple(items.items()))
    if owner.batch is not None and isinstance(key, (int, str)):
        return replace(owner, items=((key, value),))
    element = value if owner.element is None else join_values(owner.element, value)
    kind = owner.kind if owner.kind in {Kind.MAPPING, Kind.SEQUENCE, Kind.TENSOR} else Kind.UNKNOWN
    if kind is Kind.TENSOR:
        return owner
    return Value(kind, token=owner.token, element=element if owner.batch is None else None)


def _extended(known: Value, added: Value) -> Value:
    """A list after `xs += ys`."""
    element = added if known.element is None else join_values(known.element, added)
    return Value(Kind.SEQUENCE, element=element)


def _is_shaped(node: ast.expr) -> bool:
    """Whether an array is reshaped in an expression: added to a tensor in place, it is a tensor."""
    methods = (
        one.func.attr for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
    )
    return any(one in {"reshape", "view", "permute", "unsqueeze", "squeeze", "flatten", "expand"} for one in methods)


def _as_load(node: ast.expr) -> ast.expr:
    """The target of an augmented assignment is read as well; evaluation looks at no context."""
    return node


def _exits(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in {"sys.exit", "exit", "quit", "os._exit"}
