"""What becomes of a loaded checkpoint: whether it only feeds `load_state_dict`, by its uses in the function around it.

`load_state_dict` copies into the parameters wherever they are: the place of what is only given to it does not matter.
"""

import ast
import re
from dataclasses import dataclass, field
from enum import Enum

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted
from devfix_codemods.rules._loaded_meetings import Partners, in_call, of_method
from devfix_codemods.rules._taken_to_host import sets_dtype


class Use(Enum):
    """One thing that is done with a loaded value."""

    FEEDS = "copied into a module or an optimizer"
    FEEDS_NUMBERS = "given to a scheduler, a scaler, a sampler: numbers"
    FEEDS_UNSURE = "given to something that loads a state, and may keep the tensors"
    READS = "looked at: keys, shapes, plain entries"
    MOVED = "moved"
    STATES = "states of random generators: always on the host"
    KEPT = "an entry that is a tensor, kept and moved by the program"
    HELD = "an attribute of an object gets it"
    SAVED = "written into another file, to be loaded again"
    HANDED = "given to a method of what was fed, which may keep the tensors"
    MEETS = "in one operation with a tensor that may be on a device"
    OTHER = "used"


@dataclass(slots=True)
class Uses:
    """All uses of a loaded value; `moved` are the calls that move it, `partners` what meets it in one operation, and
    whether that says that it is a tensor, `configures` says that the options of a model are read from it,
    `returned` that a function it was given to gives it back."""

    kinds: set[Use] = field(default_factory=set)
    moved: list[ast.Call] = field(default_factory=list)
    partners: list[tuple[ast.expr, bool]] = field(default_factory=list)
    configures: bool = False
    returned: bool = False

    def add(self, kind: Use) -> None:
        self.kinds.add(kind)

    def meet(self, partners: list[ast.expr], *, is_tensor: bool) -> None:
        self.kinds.add(Use.OTHER)
        self.partners += [(one, is_tensor) for one in partners]

    @property
    def only_feeds(self) -> bool:
        """Whether the place of the value cannot matter: all tensors in it are copied out of it."""
        return Use.FEEDS in self.kinds and self.kinds <= {Use.FEEDS, Use.FEEDS_NUMBERS, Use.READS, Use.STATES}


_NUMBERS = re.compile(r"(?i)schedul|scaler|sampler|warmup|stopper|callback|timer|meter|loader|dataset")
_KEEPS = re.compile(
    r"(?i)ema|shadow|averag|swa|buffer|memory|queue|bank|replay|index|stats|storage|metric|tracker|normaliz"
)
_RANDOM = re.compile(r"(?i)rng|random_state|cuda_state|torch_state")
_PLAIN_KEYS = re.compile(
    r"(?i)(?:.*_)?(?:epochs?|steps?|iters?|iterations?|args?|config|cfg|configs|hparams|hyper_?(?:parameters|params)|model_args"
    r"|model_config|model_kwargs|kwargs|options|version|names?|classes|labels?|class_names|vocab(?:ulary)?|dictionary|itos|stoi"
    r"|arch|size|dims?|layers?|seed|metrics?|best\w*|acc\w*|score\w*|time|timestamp|description|settings?|meta(?:data)?)$"
)
_OPTIONS = re.compile(r"(?i)hyper_?param|hparams|config|cfg|args")
_READERS = re.compile(
    r"len|print|isinstance|type|str|repr|bool|set|sorted|list|tuple|vars|hasattr|int|float|any|"
    r"all|id|dir|pprint"
)
_LOGGERS = re.compile(r"info|debug|warning|warn|error|print|critical|exception|echo")
_WRAPPERS = re.compile(r"dict|OrderedDict|deepcopy|copy|Namespace|EasyDict|iter|next")
_LOOKS = re.compile(
    r"shape|size|dim|ndim|dtype|numel|nelement|keys|__len__|is_floating_point|clear|setdefault|update|"
    r"startswith|endswith|replace|strip|lstrip|rstrip|find|rfind|format|join|lower|upper|removeprefix|"
    r"removesuffix|partition|rpartition|count|index|match"
)
_PLAIN_TRANSFORMS = re.compile(
    r"items|values|copy|get|pop|float|half|double|bfloat16|long|int|bool|view|reshape|permute|transpose|"
    r"squeeze|unsqueeze|sum|mean|repeat|clone|data|detach|contiguous|flatten|t|T|chunk|split|narrow|expand|"
    r"state_dict|eval|train|requires_grad_"
)
_DEPTH = 3


class LoadedValues:
    """The file in which loaded values are followed."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.bindings = program.bindings
        self.classes = program.unit.classes

    def uses(self, call: ast.Call) -> Uses:
        """All that is done with the result of `call`."""
        seen: set[tuple[ast.AST, str]] = set()
        follower = _Follower(self, seen, 0)
        follower.follow(call)
        found = follower.found
        partners = Partners(self.program, seen)
        if any(partners.is_elsewhere(one, is_tensor=known) for one, known in found.partners):
            found.add(Use.MEETS)
        return found


class _Follower:
    """Follows one loaded value, noting each use in `found`."""

    def __init__(self, file: LoadedValues, seen: set[tuple[ast.AST, str]], depth: int) -> None:
        self._file = file
        self._names = file.program.names
        self._seen = seen
        self._depth = depth
        self.found = Uses()

    def follow(self, node: ast.expr) -> None:
        parent = self._names.parent(node)
        match parent:
            case ast.Call() if node is not parent.func:
                self._given(parent, node, None)
            case ast.keyword():
                self._keyword(parent, node)
            case ast.Attribute():
                self._attribute(parent)
            case ast.Subscript():
                self._subscript(parent, node)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                self._assigned(parent)
            case ast.IfExp(test=other) | ast.DictComp(key=other) if other is not node:
                self.follow(parent)
            case ast.BoolOp():
                self.follow(parent)
            case ast.Return() if self._depth > 0:
                self.found.returned = True
            case ast.comprehension() | ast.For():
                self._looped(parent, node)
            case ast.BinOp() | ast.AugAssign() | ast.Compare() | ast.List() | ast.Tuple():
                self._operated(parent, node)
            case _:
                self.found.add(self._taken(parent))

    def _operated(self, parent: ast.AST, node: ast.expr) -> None:
        match parent:
            case ast.BinOp():
                self._mixed(parent, node)
            case ast.AugAssign(target=target, value=value):
                self.found.meet([value if node is target else target], is_tensor=False)
            case ast.Compare():
                self._compared(parent, node)
            case _:
                call = self._names.parent(parent)
                partners = in_call(self._file.program, call, node) if isinstance(call, ast.Call) else None
                self.found.meet(partners or [], is_tensor=True)

    def _taken(self, parent: ast.AST | None) -> Use:
        if isinstance(parent, ast.Dict) and self._is_saved(self._names.parent(parent)):
            return Use.SAVED
        return Use.READS if isinstance(parent, _HARMLESS) else Use.OTHER

    def _is_saved(self, node: ast.AST | None) -> bool:
        return isinstance(node, ast.Call) and self._names.qualified(node.func) == "torch.save"

    def _keyword(self, parent: ast.keyword, node: ast.expr) -> None:
        call = self._names.parent(parent)
        if isinstance(call, ast.Call):
            self._given(call, node, parent.arg)

    def _subscript(self, parent: ast.Subscript, node: ast.expr) -> None:
        if parent.value is node:
            self._item(parent, parent.slice)
        else:
            self.found.add(Use.READS)

    def _mixed(self, parent: ast.BinOp, node: ast.expr) -> None:
        other = parent.right if parent.left is node else parent.left
        if all(isinstance(one, ast.Constant | ast.operator | ast.BinOp) for one in ast.walk(other)):
            self.follow(parent)
        else:
            self.found.meet([other], is_tensor=False)

    def _compared(self, parent: ast.Compare, node: ast.expr) -> None:
        """Keys are looked up, None is asked for; a comparison of tensors needs them in one place."""
        plain = all(isinstance(one, ast.In | ast.NotIn | ast.Is | ast.IsNot) for one in parent.ops)
        constant = any(isinstance(one, ast.Constant) for one in (parent.left, *parent.comparators))
        if plain or constant:
            self.found.add(Use.READS)
        else:
            self.found.meet([one for one in (parent.left, *parent.comparators) if one is not node], is_tensor=False)

    # Calls

    def _given(self, call: ast.Call, node: ast.expr, keyword: str | None) -> None:
        name = dotted(call.func) or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
        last = name.rpartition(".")[2]
        if last == "copy_":
            self.found.add(Use.FEEDS)
        elif self._is_saved(call):
            self.found.add(Use.SAVED)
        elif last in {"load_state_dict", "_load_from_state_dict"}:
            self.found.add(self._fed(call, name))
        elif _READERS.fullmatch(last) or _LOGGERS.fullmatch(last) or name.startswith(("logging.", "logger.", "log.")):
            self.found.add(Use.READS)
        elif (partners := in_call(self._file.program, call, node)) is not None:
            self.found.meet(partners, is_tensor=True)
        elif last == "zip" and isinstance(loop := self._names.parent(call), ast.For | ast.comprehension):
            self._zipped(loop, call, node)
        elif _WRAPPERS.fullmatch(last):
            self.follow(call)
        elif last == "update" and isinstance(call.func, ast.Attribute):
            self._into(call.func.value)
        elif (local := self._local(call.func)) is not None:
            self._passed(local, call, node, keyword)
        elif re.search(r"state_?dict|weights|checkpoint|ckpt|pretrained|params", last):
            self.found.add(Use.FEEDS_UNSURE)
        else:
            self.found.add(Use.HANDED if self._is_of_fed(call) else Use.OTHER)

    def _is_of_fed(self, call: ast.Call) -> bool:
        """`model.load_more(checkpoint["more"])`, where `model.load_state_dict` is called too."""
        owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
        around = scope.function_around(self._file.program, call) or self._file.program.tree
        return owner is not None and any(
            isinstance(one, ast.Attribute) and one.attr == "load_state_dict" and dotted(one.value) == owner
            for one in ast.walk(around)
        )

    def _fed(self, call: ast.Call, name: str) -> Use:
        """`receiver.load_state_dict(…)`: a copy, unless it assigns, or the receiver may keep the tensors."""
        receiver = name.rpartition(".")[0]
        if any(one.arg == "assign" for one in call.keywords) or any(one.arg is None for one in call.keywords):
            return Use.FEEDS_UNSURE
        owner = scope.class_around(self._file.program, call) if receiver == "self" else None
        if owner is not None:
            return self._fed_to_itself(owner)
        if _NUMBERS.search(receiver):
            return Use.FEEDS_NUMBERS
        keeps = _KEEPS.search(receiver.rpartition(".")[2]) and not self._is_copy_of_model(call, receiver)
        return Use.FEEDS_UNSURE if keeps else Use.FEEDS

    def _is_copy_of_model(self, call: ast.Call, receiver: str) -> bool:
        """Bound by `deepcopy(model)` in this file: a module like the other."""
        owner = scope.class_around(self._file.program, call)
        bindings = self._file.bindings.of_class(owner, receiver) if owner and receiver.startswith("self.") else []
        values = [one.value for one in bindings]
        return bool(values) and all(
            isinstance(one, ast.Call) and (dotted(one.func) or "").endswith("deepcopy") for one in values
        )

    def _fed_to_itself(self, owner: ast.ClassDef) -> Use:
        if not self._file.classes.may_be_module(owner):
            return Use.OTHER
        return Use.FEEDS_UNSURE if "load_state_dict" in self._file.classes.methods(owner) else Use.FEEDS

    def _local(self, node: ast.expr) -> scope.Function | None:
        """The one function of this file that a plain name, or a method of `self`, refers to."""
        text = dotted(node) or ""
        name = text.removeprefix("self.")
        if not name or "." in name:
            return None
        found = [
            one for one in ast.walk(self._file.program.tree) if isinstance(one, scope.Function) and one.name == name
        ]
        return found[0] if len(found) == 1 else None

    def _passed(self, function: scope.Function, call: ast.Call, node: ast.expr, keyword: str | None) -> None:
        """Given to a function of this file: what that does with its parameter, and with what comes back."""
        parameters = scope.parameters(function)
        if isinstance(call.func, ast.Attribute) and parameters[:1] in (["self"], ["cls"]):
            parameters = parameters[1:]
        if keyword is None and node in call.args and call.args.index(node) < len(parameters):
            keyword = parameters[call.args.index(node)]
        if keyword not in parameters or self._depth >= _DEPTH or any(isinstance(one, ast.Starred) for one in call.args):
            self.found.add(Use.OTHER)
            return
        assert keyword is not None
        inner = _Follower(self._file, self._seen, self._depth + 1)
        inner.named(function, keyword)
        self.found.kinds |= inner.found.kinds
        self.found.configures |= inner.found.configures
        self.found.partners += inner.found.partners
        if inner.found.returned:
            self.follow(call)

    # Attributes, items, names

    def _attribute(self, node: ast.Attribute) -> None:
        parent = self._names.parent(node)
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        if _LOOKS.fullmatch(node.attr):
            self.found.add(Use.READS)
        elif call is not None and node.attr == "to" and sets_dtype(call):
            self.follow(call)
        elif call is not None and node.attr in {"to", "cuda", "cpu"}:
            self.found.add(Use.MOVED)
            self.found.moved.append(call)
        elif call is not None and (partners := of_method(call)) is not None:
            self.found.meet(partners, is_tensor=True)
        elif call is not None and node.attr in {"get", "pop"} and call.args:
            self._item(call, call.args[0])
        elif _PLAIN_TRANSFORMS.fullmatch(node.attr):
            self.follow(call or node)
        else:
            self.found.add(Use.OTHER)

    def _item(self, node: ast.Subscript | ast.Call, key: ast.expr) -> None:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            self.found.add(Use.READS)
            return
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if _RANDOM.search(key.value):
                self.found.add(Use.STATES)
                return
            if _PLAIN_KEYS.match(key.value):
                self.found.configures |= _OPTIONS.search(key.value) is not None
                self.found.add(Use.KEPT if self._is_moved_later(node) else Use.READS)
                return
        self.follow(node)

    def _is_moved_later(self, node: ast.expr) -> bool:
        """`best = checkpoint["best"]`, then `best = best.to(gpu)`: a tensor, on whatever path."""
        statement = self._names.parent(node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        around = scope.function_around(self._file.program, node) or self._file.program.tree
        return isinstance(target, ast.Name) and any(
            isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"} and dotted(one.value) == target.id
            for one in ast.walk(around)
        )

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                self._into(target.value)
            else:
                self._into(target)
        if isinstance(node, ast.NamedExpr):
            self.follow(node)

    def _into(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            target = target.value
        function = scope.function_around(self._file.program, target)
        given = scope.parameters(function) if function is not None else []
        if isinstance(target, ast.Name) and (target.id not in given or isinstance(target.ctx, ast.Store)):
            self.named(function or self._file.program.tree, target.id)
        else:
            self.found.add(Use.HELD if isinstance(target, ast.Attribute) else Use.OTHER)

    def named(self, around: ast.AST, name: str) -> None:
        """All reads of a name in a function (or the module)."""
        if (around, name) in self._seen:
            return
        self._seen.add((around, name))
        if _RANDOM.search(name):
            self.found.add(Use.STATES)
        first: ast.AST | None = None
        for one in ast.walk(around):
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load):
                owner = self._file.bindings.owner(name, one)
                first = first or owner
                if owner is first:
                    self.follow(one)

    def _looped(self, loop: ast.comprehension | ast.For, node: ast.expr) -> None:
        """A loop over the mapping gives its keys; over `.items()`, keys and values; over `.values()`, values."""
        if loop.iter is not node:
            self.found.add(Use.READS)
            return
        self._unpacked(loop.target, self._holder(loop), node)

    def _zipped(self, loop: ast.comprehension | ast.For, call: ast.Call, node: ast.expr) -> None:
        """`for (key, value), (name, other) in zip(loaded.items(), …)`."""
        parts = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
        if isinstance(node, ast.Call) and len(parts) == len(call.args):
            self._unpacked(parts[call.args.index(node)], self._holder(loop), node)
        else:
            self.found.add(Use.OTHER)

    def _holder(self, loop: ast.comprehension | ast.For) -> ast.AST | None:
        return self._names.parent(loop) if isinstance(loop, ast.comprehension) else loop

    def _unpacked(self, target: ast.expr, holder: ast.AST | None, node: ast.expr) -> None:
        method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        match target:
            case _ if method is None or holder is None:
                self.found.add(Use.READS)
            case ast.Tuple(elts=[_, ast.Name(id=value)]) if method == "items":
                self.named(holder, value)
            case ast.Name(id=name) if method == "items":
                self._pairs(holder, name)
            case ast.Name(id=name):
                self.named(holder, name)
            case _:
                self.found.add(Use.OTHER)

    def _pairs(self, holder: ast.AST, name: str) -> None:
        """`item[0]` is a key, `item[1]` a value."""
        for one in ast.walk(holder):
            if not isinstance(one, ast.Name) or one.id != name or not isinstance(one.ctx, ast.Load):
                continue
            match self._names.parent(one):
                case ast.Subscript(slice=ast.Constant(value=0)):
                    self.found.add(Use.READS)
                case ast.Subscript(slice=ast.Constant(value=1)) as item:
                    self.follow(item)
                case _:
                    self.found.add(Use.OTHER)


_HARMLESS = (
    ast.FormattedValue,
    ast.Expr,
    ast.Delete,
    ast.If,
    ast.While,
    ast.Assert,
    ast.UnaryOp,
    ast.IfExp,
)
