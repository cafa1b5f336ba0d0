from .types import BilledCall as BilledCall
from .types import Charged as Charged
from .types import Repaired as Repaired
from .types import Skipped as Skipped
