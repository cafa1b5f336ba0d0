"""The library's logger: silent unless the application says otherwise."""

import logging

log = logging.getLogger("trimtab")
log.addHandler(logging.NullHandler())
