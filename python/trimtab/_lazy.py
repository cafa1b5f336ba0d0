"""Packages whose public names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: its name.
        homes: public names, with blanks between them, by the module of the package that has them.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        """Return a public name of the package, loaded.

        Raises:
            AttributeError: the package has no such name.
        """
        if name not in home_of:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(import_module(f".{home_of[name]}", package), name)

    return load
