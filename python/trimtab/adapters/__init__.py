"""Compaction inside agent frameworks: a module a framework, which imports that framework.

No framework is a dependency of trimtab: the extras of ``pyproject.toml`` name the releases that were tried. Each
adapter takes a model id, a ``Model`` or a ``Compactor`` first, then a Compactor's keywords.
"""
