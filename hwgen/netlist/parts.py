"""Parts: equal components that a design contains several times become instances of one Verilog module."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from amaranth.hdl import Fragment, Instance, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

PARTS = "lane", "aligner", "element"
"""What the names of modules may end with, after a design's name and an underscore."""


class Repeated(wiring.Component):
    """A combinational component that a design may contain several times; ``part`` is one of :data:`PARTS`.

    Components of one class with equal identities are the same hardware; if it ``is_worth_a_module``, its text is long
    enough for one. ``heading`` is the title of the chapter that holds the instances. ``follows`` is how the title of
    the chapter before its own ones begins; if empty, they are the first ones. ``summary`` says what the module does.
    """

    part: str
    identity: Hashable
    heading: str
    follows: str = ""
    summary: str
    is_worth_a_module: bool = True


@dataclass(frozen=True)
class Part:
    """A module that a design contains several times, with one of its components."""

    name: str
    component: Repeated
    fragment: Fragment


def flat_ports(component: wiring.Component) -> Iterator[tuple[str, wiring.Flow, Value]]:
    """Name, direction and value of each port of a component, in the order of its signature."""
    for path, member, value in component.signature.flatten(component):
        yield "__".join(map(str, path)), member.flow, Value.cast(value)


def separated(fragment: Fragment, name: str) -> list[Part]:
    """Put instances in place of equal components of a design, and return their modules: outer ones first.

    An instance stays in a fragment of its own, so that signals keep the names that they have without it.
    """
    places: dict[Hashable, list[tuple[Fragment, int, Repeated]]] = {}

    def enter(parent: Fragment) -> None:
        for number, (child, _, _) in enumerate(parent.subfragments):
            component = _component(child)
            if component is not None and component.is_worth_a_module:
                equal = places.setdefault((type(component), component.identity), [])
                equal.append((parent, number, component))
                if len(equal) > 1:
                    continue
            enter(child)

    enter(fragment)
    parts: list[Part] = []
    for equal in places.values():
        if len(equal) > 1:
            parent, number, first = equal[0]
            alike = 1 + sum(part.component.part == first.part for part in parts)
            ending = first.part if alike == 1 else f"{first.part}_{alike}"
            part = Part(f"{name}_{ending}", first, parent.subfragments[number][0])
            for parent, number, component in equal:
                child, label, location = parent.subfragments[number]
                pins = [("i" if flow == In else "o", pin, value) for pin, flow, value in flat_ports(component)]
                stub = Fragment()
                stub.origins = child.origins
                stub.add_subfragment(Instance(part.name, *pins), "instance")
                parent.subfragments[number] = stub, label, location
            parts.append(part)
    return parts


def repeated(fragment: Fragment, path: str) -> Iterator[tuple[str, Repeated, bool]]:
    """The paths of repeated components in a fragment, with the components, and whether they are instances."""
    for child, label, _ in fragment.subfragments:
        inner = f"{path}.{label}"
        if (component := _component(child)) is not None:
            yield inner, component, any(isinstance(part, Instance) for part, _, _ in child.subfragments)
        yield from repeated(child, inner)


def _component(fragment: Fragment) -> Repeated | None:
    """The repeated component that a fragment is of, if any."""
    return next((origin for origin in fragment.origins or () if isinstance(origin, Repeated)), None)
