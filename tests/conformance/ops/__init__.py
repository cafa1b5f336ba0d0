"""The operations of the conformance cases, a file a group: each is a translation.

Inputs go into the library's shapes, its answers are read off. Nothing is computed here (``test_adapter.py`` walks these
files and watches each operation call the library): no arithmetic, no comparison with a constant, and no value that a
case expects.
"""
