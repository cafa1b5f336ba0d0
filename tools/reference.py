"""Shows the API reference what decorators make of a session's methods; griffe reads the sources and calls nothing.

The site's configuration, ``zensical.toml``, names this file.
"""

from __future__ import annotations

import ast
from typing import Any

import griffe


class MadeMethods(griffe.Extension):
    """Methods as a caller sees them: ``fit`` returns a ``Fitted``, not a ``Flow``; ``afit`` is one, too."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the methods of ``trimtab.Session``."""
        if pkg.path != "trimtab":
            return
        session = pkg["session.session.Session"]
        for method in session.functions.values():
            if isinstance(method.returns, griffe.ExprSubscript) and str(method.returns.left) == "Flow":
                method.returns = method.returns.slice
        for name, attribute in list(session.attributes.items()):
            made = attribute.value
            if isinstance(made, griffe.ExprCall) and str(made.function) == "_awaitable":
                of, doc = made.arguments
                session.set_member(name, _asynchronous(attribute, session[str(of)], ast.literal_eval(str(doc))))


def _asynchronous(made: griffe.Attribute, of: griffe.Function, doc: str) -> griffe.Function:
    """Return the asynchronous form of a method."""
    lines = {"lineno": made.lineno, "endlineno": made.endlineno}
    found = griffe.Function(
        made.name, parameters=of.parameters, returns=of.returns, docstring=griffe.Docstring(doc), **lines
    )
    found.labels.add("async")
    return found
