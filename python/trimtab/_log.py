"""The library's loggers: silent unless the application configures logging, and without any text of a message.

Texts of others, such as a provider's error, may quote a message. They go to the logger ``trimtab.details``, which stays
silent until the application sets its level.
"""

import logging

log = logging.getLogger("trimtab")
log.addHandler(logging.NullHandler())

details = logging.getLogger("trimtab.details")
details.setLevel(logging.CRITICAL + 1)


def outline(error: BaseException) -> str:
    """Return the classes of an exception and its causes, with HTTP statuses, and none of their texts."""
    found: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(found) < 8:  # a chain may be a circle
        status = getattr(cause, "status_code", None)
        found.append(type(cause).__name__ + (f" (HTTP {status})" if isinstance(status, int) else ""))
        cause = cause.__cause__
    return " from ".join(found)
