"""The default's decisions, carried out here or by the provider's server: whatever costs least.

Its values are those of ``default.py``; ``trimtab.server.ways`` says what each way costs.
"""

from dataclasses import replace

from .default import POLICY as DEFAULT

POLICY = replace(DEFAULT, name="auto", server="auto")
