"""Doing: the order of a compaction, its effects and drivers."""
