"""The default's decisions, carried out by the provider's server where it can.

Its values are those of ``default.py``. Results that it prunes are cleared by the server, and the server summarizes.
"""

from dataclasses import replace

from .default import POLICY as DEFAULT

POLICY = replace(DEFAULT, name="server", server="call")
