"""Commands that only show something."""

from __future__ import annotations

import re

QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_LEAD = (
    r"\s*(?:[A-Za-z_]\w*=(?:\$\(|\S* )|(?:time|sudo|command|nice|timeout \S+"
    r"|[\w./-]+ (?:run|exec|x)(?: [\w./:@=-]+)* --) )*"
)
"""What may stand in front of a command: values of variables, and a program that runs it."""
_LOOKS = re.compile(
    _LEAD + r"(?:cd|true|sort|uniq|cut|tr|xargs|awk|jq|nl|cat|ls|sed -n|head|tail"
    r"|rg|grep|find|wc|pwd|which|echo|printf|tree|file|stat"
    r"|(?:\w+ )?git (?:-[cC] \S+ |-\S+ )*(?:diff|show|log|status|blame|ls-files|ls-tree|ls-remote|grep|shortlog"
    r"|rev-parse|rev-list|merge-base|show-ref|cat-file|check-ignore|remote -v|branch -[arv]+"
    r"|branch --(?:list|all|show-current|contains)|worktree list|stash (?:list|show)|tag (?:-l|--list))"
    r"|gh \w+ (?:view|list|status|checks|diff)|go (?:doc|env|list|mod graph)"
    r"|[\w./-]+ (?:-[\w-]+ )*(?:status|list|show|view|help|search|logs|ps|info|describe|wait|capture)"
    r"|[\w./-]+(?: [\w./:-]+)* --(?:help|version))\b"
    r"|\s*sed ''(?: |\Z)|\s*(?:[A-Za-z_]\w*=\S*\s*)+\Z"
)
_SHORT = re.compile(
    _LEAD + r"(?:(?:printenv|date|whoami|hostname|uname|df|du|ps|sleep|basename|dirname|realpath|readlink|diff|cmp"
    r"|test|less|column|hexdump|xxd|od|strings|fd|bat|yq|md5sum|sha\d+sum)(?:\s|\Z)|(?:\w+ )?git branch\s*\Z)"
)
"""Commands whose names begin others' names."""
_NESTED = re.compile(
    _LEAD + r"[\w./-]+ ([\w-]+) (?:status|list|show|view|get|help|logs|ps|info|describe)(?:\s|\Z)",
)
"""A command of a program's subcommand."""
_ACTS = set(
    "add apply branch build checkout clone commit create delete deploy exec install kill merge pub publish push rebase"
    " remove reset restart rm run set start stop switch test update".split()
)
"""Subcommands behind which such a word is a name."""
_ASIDE = re.compile(r"[0-9&]?>>?\s*(?:&\d|/dev/null|/tmp/\S*)")
"""An output that goes nowhere, or where nobody looks for work."""
_FINDS_AND = re.compile(
    r"\s-delete\b|(?:\s-exec(?:dir)?|\bxargs)(?: -\S+(?: \d+)?)* (?:rm|mv|cp|sed -i|chmod|chown|kill|mkdir|touch|tee"
    r"|git (?:add|rm|mv|checkout|restore))\b"
)
"""Changes by a command that else only finds."""


def looks(text: str) -> bool:
    """Whether a command only shows what is there."""
    bare = _ASIDE.sub(" ", QUOTED.sub("''", text[:2_000]))
    if ">" in bare or _FINDS_AND.search(bare):
        return False
    return all(_looks_at(one) for one in re.split(r"&&|\|\|?|;|\n", bare) if one.strip())


def _looks_at(command: str) -> bool:
    nested = _NESTED.match(command)
    return bool(_LOOKS.match(command) or _SHORT.match(command) or (nested and nested[1] not in _ACTS))
