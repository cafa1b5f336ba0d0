"""Write the table of a summarizer's failures into ``docs/summarizers.md``, from a run of all; ``make docs``."""

import logging

from support import matrix

if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # the server logs every request
    matrix.write()
