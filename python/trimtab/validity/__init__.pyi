from .repair.entries import BEGINNING as BEGINNING
from .repair.entries import INTERRUPTED as INTERRUPTED
