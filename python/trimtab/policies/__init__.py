"""Presets: one file each, values only; a comment gives the source of each value."""

from .agentpg import POLICY as AGENTPG
from .agentpg_summarization import POLICY as AGENTPG_SUMMARIZATION
from .default import POLICY as DEFAULT
from .drop import POLICY as DROP
from .goat import POLICY as GOAT
from .opencode import POLICY as OPENCODE
from .spec09 import POLICY as SPEC09
from .sven import POLICY as SVEN
from .sven_narrative import POLICY as SVEN_NARRATIVE

POLICIES = {
    policy.name: policy
    for policy in (
        DEFAULT,
        DROP,
        SPEC09,
        GOAT,
        AGENTPG,
        AGENTPG_SUMMARIZATION,
        SVEN,
        SVEN_NARRATIVE,
        OPENCODE,
    )
}
"""Preset by name, for ``Compactor(policy=...)`` and the command line."""
