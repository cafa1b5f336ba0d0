"""Hooks of Claude Code and Codex: copy a session before its compaction, give back what it needs, shorten large outputs.

The agent waits for each hook, and each runs in a new process: what it must not wait for (parsing, the archive) is
done by a process of its own, from files in the folder of the user's data.
"""
