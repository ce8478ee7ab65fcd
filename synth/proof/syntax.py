"""The syntax tree of Verilog as Yosys dumps it, before any simplification."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from synth.proof.gates import NetlistError

ASSIGN = "ASSIGN", "ASSIGN_EQ", "ASSIGN_LE"
PARAMETERS = "PARAMETER", "LOCALPARAM"
_SCOPES, DECLARED = ("BLOCK", "GENBLOCK", "FUNCTION"), ("WIRE", "MEMORY", *PARAMETERS, "GENVAR", "ENUM_ITEM")
_STRUCTURES = "STRUCT", "UNION"
_WIDEST = 4096
"""Width up to which the bits of a word are distinguished."""
_NODE = re.compile(r"^( +)(?:AST_(\w+) <[^:>]*:(\d+)\.[^>]*> \[\w+\]|ATTR \\(\S+):)(?: str='(.*?)'(?= |$))?(.*)$", re.M)
_PORT = re.compile(r"put port=(\d+)")
_LINE_OF_TREE = re.compile(r"^ +(?:AST_|ATTR )", re.M)


@dataclass(eq=False)
class Node:
    """A node of the syntax tree; ``rest`` has the properties that follow its name."""

    kind: str
    line: int
    name: str
    rest: str
    children: list["Node"] = field(default_factory=list)
    member: str = ""
    """Of an identifier, the member of a structure, e.g. ``.a``; a member of that is one more child."""

    def all(self, *kinds: str, but: "Node | None" = None) -> Iterator["Node"]:
        """This node and those below it, of some kinds or all, without those of one below."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            waiting += [child for child in reversed(node.children) if child is not but]
            if not kinds or node.kind in kinds:
                yield node

    def names(self, *kinds: str) -> set[str]:
        return {node.name for node in self.all(*kinds)}

    @property
    def is_array(self) -> bool:
        """Whether a variable or one of its members has several dimensions."""
        counts = (sum(child.kind == "RANGE" for child in node.children) for node in self.all())
        return any(self.all("MULTIRANGE")) or max(counts) > 1

    @property
    def members(self) -> set[str]:
        """The members of a structure; unions have none here, for each of theirs is the whole."""
        items = [] if " union" in self.rest else self.children
        return {"." + item.name.lstrip("\\") for item in items if item.kind in ("STRUCT_ITEM", *_STRUCTURES)}

    @property
    def parts(self) -> set[str]:
        """The members of a structure, or the bits of a word; neither of other variables."""
        is_word = self.kind == "WIRE" and " union" not in self.rest and not self.is_array
        return self.members or (self.bits if is_word else set())

    @property
    def bits(self) -> set[str]:
        """The bits of a word by its range, or those that an expression selects, e.g. ``[3]``; none if it is unknown."""
        ranges = [child for child in self.children if child.kind == "RANGE"]
        if len(ranges) != 1 or any(place.kind != "CONSTANT" for place in ranges[0].children):
            return set()
        digits = [re.search(r"bits='([01]+)'", place.rest) for place in ranges[0].children]
        places = [int(found[1], 2) for found in digits if found]
        is_known = len(places) == len(digits) and 0 <= max(places) - min(places) < _WIDEST
        return {f"[{place}]" for place in range(min(places), max(places) + 1)} if is_known else set()

    def targets(self) -> list["Node"]:
        """The variables that an assignment writes, or a loop counts."""
        if self.kind == "IDENTIFIER":
            return [self]
        parts = self.children if self.kind == "CONCAT" else self.children[:1]
        return [target for part in parts for target in part.targets()]

    def written(self, *kinds: str) -> dict[str, int]:
        """Lines of the variables that are written here, but not declared here."""
        inner = self.names("WIRE")
        nodes = [target for node in self.all(*kinds) for target in node.targets()]
        return {node.name: node.line for node in nodes if node.name not in inner}

    def read(self, inner: Collection[str] | None = None) -> dict[str, int]:
        """The same for variables that are read."""
        targets = {id(node) for assign in self.all(*ASSIGN) for node in assign.targets()}
        inner = self.names("WIRE") if inner is None else inner
        nodes = [node for node in self.all("IDENTIFIER") if id(node) not in targets]
        return {node.name: node.line for node in nodes if node.name not in inner}

    def read_early(self, variables: Mapping[str, Collection[str]], done: set[str]) -> Iterator["Node"]:
        """Uses of variables before they are wholly assigned; those that are assigned here are added to ``done``.

        ``variables`` have what must be assigned before: e.g. all members of structures, and all bits of words.
        """
        if self.kind == "IDENTIFIER" and self.name in variables:
            whole = variables[self.name]
            own = {self.name + part for part in ({self.member} if self.member else self.bits)}
            if not (own if own and own <= set(whole) else set(whole)) <= done:
                yield self
        targets = self.targets() if self.kind == "ASSIGN_EQ" else []
        branches = []
        for child in [*self.children[1:], *targets] if targets else self.children:
            is_sure = child is self.children[0] or self.kind not in ("CASE", "FOR", "WHILE", "REPEAT")
            branch = done if is_sure else set(done)
            for below in child.children if child in targets else [child]:
                yield from below.read_early(variables, branch)
            branches += [branch] if child.kind.startswith("COND") else []
        for target in targets:
            if not target.children:
                done |= {target.name + target.member} if target.member else {*variables.get(target.name, ())}
            done |= set() if target.member else {target.name + bit for bit in target.bits}
        if any(child.kind.startswith("COND") and child.children[0].kind == "DEFAULT" for child in self.children):
            done |= set.intersection(*branches)


def followers(module: Node, modules: Mapping[str, Node]) -> dict[str, set[str]]:
    """For each variable, the nets that continuous assignments and cells, but no blocks, make of it at once."""
    links: dict[str, set[str]] = {}
    others = {name: other for name, other in modules.items() if other is not module}
    inside = {name: followers(others[name], others) for name in module.names("CELLTYPE") if name in others}
    steps = [({*node.read(())}, {target.name for target in node.targets()}) for node in module.all("ASSIGN")]
    for cell in module.all("CELL", "PRIMITIVE"):
        pins = [(pin.name, pin.names("IDENTIFIER")) for pin in cell.children if pin.kind == "ARGUMENT"]
        name = next(iter(cell.names("CELLTYPE")), "")
        if name not in inside:  # the first pin of a gate is its output
            steps += [(sources, pins[0][1]) for _, sources in pins[1:]]
            continue
        ports = {int(each[1]): node for node in others[name].all("WIRE") if (each := _PORT.search(node.rest))}
        is_implied = "wildcard_port_conns" in cell.names("ATTR")
        nets = {node.name: {node.name} for node in ports.values() if is_implied}
        for number, (port, sources) in enumerate(pins, 1):
            nets[port or (ports[number].name if number in ports else "")] = sources
        outputs = {node.name for node in ports.values() if "output" in node.rest}
        for port, sources in nets.items():
            steps += [(sources, nets.get(out, set())) for out in outputs & inside[name].get(port, set())]
    for sources, targets in steps:
        for source in sources:
            links.setdefault(source, set()).update(targets)
    for reached in links.values():
        waiting = {*reached}
        while waiting:
            more = links.get(waiting.pop(), set()) - reached
            reached.update(more)
            waiting |= more
    return links


def forest(dump: str) -> list[Node]:
    """The modules in a dump of syntax trees; the indentation of a line is its depth."""
    path: list[tuple[int, Node]] = [(0, Node("", 0, "", ""))]
    lines = _NODE.findall(dump)
    if len(lines) != len(_LINE_OF_TREE.findall(dump)):
        raise NetlistError("Yosys's syntax tree has a line that hwgen cannot read")
    for indent, kind, line, attribute, name, rest in lines:
        node = Node(kind or "ATTR", int(line or 0), attribute or name, rest)
        while path[-1][0] >= len(indent):
            path.pop()
        if kind in _STRUCTURES and name and path[-1][1].kind not in _STRUCTURES:
            node.kind, node.rest = "WIRE", f"{rest} {kind.lower()}"
        path[-1][1].children.append(node)
        path.append((len(indent), node))
    _resolve(path[0][1])
    # names that are declared in a scope become others, which begin with another character: inner scopes first
    for number, scope in enumerate(reversed(list(path[0][1].all(*_SCOPES)))):
        items = [item for node in scope.children for item in (node.children if node.kind == "ENUM" else [node])]
        declared = {node.name for node in items if node.kind in DECLARED}
        for node in scope.all("IDENTIFIER", *DECLARED) if declared else ():
            node.name = chr(0xE000 + number) + node.name[1:] if node.name in declared else node.name
    for module in path[0][1].children:
        _count(module)
    return path[0][1].children


def _count(module: Node) -> None:
    """Make counters of loops nodes of another kind, COUNTER, where they are constants.

    That is in their own loops, behind the first assignment, unless something else writes them; and in the heads of the
    loops, unless something else reads them.
    """
    loops, variables = list(module.all("FOR")), module.names("WIRE")
    heads = [target for loop in loops for step in (loop.children[0], loop.children[2]) for target in step.targets()]
    targets = {id(node): node for step in module.all(*ASSIGN) for node in step.targets()}
    written = _reached(targets[place] for place in targets.keys() - {id(head) for head in heads})
    counters = {node.name for node in heads if not node.member and not node.children} & variables
    counters -= {name for name in counters if {name, name[1:]} & written}
    for loop in loops:
        counted = {node.name for node in loop.targets()} & counters
        for node in (node for part in loop.children[1:] for node in part.all("IDENTIFIER")):
            node.kind = "COUNTER" if node.name in counted and id(node) not in targets else node.kind
    read = _reached(node for node in module.all("IDENTIFIER") if id(node) not in targets)
    for head in heads:
        head.kind = "IDENTIFIER" if head.name not in counters or {head.name, head.name[1:]} & read else "COUNTER"


def _reached(nodes: Iterable[Node]) -> set[str]:
    """The names of variables, and those at the end of paths without the character before."""
    names = {node.name for node in nodes}
    return names | {name.rpartition(".")[2] for name in names if "." in name}


def _resolve(tree: Node) -> None:
    """Give variables what their types say, and separate members of structures from the names of variables."""
    types: dict[str, list[Node]] = {}
    for node in tree.all("TYPEDEF"):
        types.setdefault(node.name[1:].rpartition("::")[2], []).append(node.children[0])
    for node in tree.all():
        found: list[Node] = []
        for child in node.children:  # which grows
            name = child.name[1:].rpartition("::")[2] if child.kind == "WIRETYPE" else ""
            for definition in (item for item in types.get(name, ()) if item not in found):
                found.append(definition)
                node.kind = "MEMORY" if (node.kind, definition.kind) == ("WIRE", "MEMORY") else node.kind
                node.rest += f" {definition.rest} {definition.kind.lower()}"
                node.children += definition.children
        while node.kind == "PREFIX":  # g[0].m
            *places, inner = node.children
            node.kind, node.name = inner.kind, f"{node.name}.{inner.name[1:]}"
            node.children = [*places, *inner.children]
    for module in tree.children:
        declared = module.names(*DECLARED) - module.names("GENBLOCK", "CELL")
        unions = {node.name for node in module.all("WIRE") if not node.members}
        for node in module.all("IDENTIFIER"):
            name, *members = node.name.split(".")
            if members and name in declared and node.name not in declared:
                node.name, node.member = name, "" if name in unions else "." + members[0]
                node.children += [Node("MEMBER", node.line, "", "")] * (len(members) > 1)
