from .budget import Budget as Budget
from .budget import Terms as Terms
from .budget import Trigger as Trigger
from .edits import (
    Drop as Drop,
)
from .edits import (
    Prune as Prune,
)
from .edits import (
    StripThinking as StripThinking,
)
from .edits import (
    Summarize as Summarize,
)
from .edits import (
    Truncate as Truncate,
)
from .plan import Plan as Plan
from .policy import Policy as Policy
from .stages import (
    Emergency as Emergency,
)
from .stages import (
    Ingest as Ingest,
)
from .stages import (
    Keep as Keep,
)
from .stages import (
    Messages as Messages,
)
from .stages import (
    Pins as Pins,
)
from .stages import (
    Place as Place,
)
from .stages import (
    PruneResults as PruneResults,
)
from .stages import (
    Summaries as Summaries,
)
from .stages import (
    SummarizeZone as SummarizeZone,
)
from .stages import (
    Template as Template,
)
from .stages import (
    Tokens as Tokens,
)
from .stages import (
    Turns as Turns,
)
from .zones import Stats as Stats
