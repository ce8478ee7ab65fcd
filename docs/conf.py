"""Sphinx configuration: `make docs` builds the pages of this folder."""

import importlib.metadata
from typing import Any

from amaranth.lib.wiring import Component
from sphinx.application import Sphinx
from sphinx.util import inspect

project = "minifloat-rtl"
release = importlib.metadata.version(project)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Members", "params_style")]  # the ports of a component
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"{project} {release}"
html_show_copyright = False
html_copy_source = False


def signature_of_component(_app: Sphinx, what: str, _name: str, obj: Any, *_: object) -> tuple[str, str] | None:
    """Return a component's own parameters; Amaranth's base class hides them behind ``*args``."""
    if what != "class" or not issubclass(obj, Component):
        return None
    own = getattr(obj, "__signature__", None) or inspect.signature(obj.__init__, bound_method=True)
    return inspect.stringify_signature(own, unqualified_typehints=True), ""


def setup(app: Sphinx) -> None:
    """Register the signatures of components with Sphinx."""
    app.connect("autodoc-process-signature", signature_of_component)
