"""Presets: a file each, values only."""

from .default import POLICY as DEFAULT
from .drop import POLICY as DROP

POLICIES = {policy.name: policy for policy in (DEFAULT, DROP)}
"""By name, as ``Compactor(policy=...)`` and the command line take them."""
