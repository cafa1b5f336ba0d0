"""The library's logger: silent unless the application configures logging."""

import logging

log = logging.getLogger("trimtab")
log.addHandler(logging.NullHandler())
