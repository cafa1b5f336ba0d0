from . import (
    adapters as adapters,
)
from . import (
    archive as archive,
)
from . import (
    compaction as compaction,
)
from . import (
    config as config,
)
from . import (
    counting as counting,
)
from . import (
    errors as errors,
)
from . import (
    events as events,
)
from . import (
    formats as formats,
)
from . import (
    hooks as hooks,
)
from . import (
    ledger as ledger,
)
from . import (
    messages as messages,
)
from . import (
    models as models,
)
from . import (
    planning as planning,
)
from . import (
    policies as policies,
)
from . import (
    report as report,
)
from . import (
    server as server,
)
from . import (
    session as session,
)
from . import (
    summarize as summarize,
)
from . import (
    templates as templates,
)
from . import (
    validity as validity,
)
from ._core import __version__ as __version__
from .adapters import arrow as arrow
from .archive import Archive as Archive
from .compaction.result import Compaction as Compaction
from .counting.counter import Counter as Counter
from .counting.counter import count as count
from .counting.truncate import truncate as truncate
from .errors import (
    ArchiveError as ArchiveError,
)
from .errors import (
    BusyError as BusyError,
)
from .errors import (
    ConfigError as ConfigError,
)
from .errors import (
    ConflictError as ConflictError,
)
from .errors import (
    CountError as CountError,
)
from .errors import (
    Error as Error,
)
from .errors import (
    InternalError as InternalError,
)
from .errors import (
    MessageError as MessageError,
)
from .errors import (
    NoMessageError as NoMessageError,
)
from .errors import (
    NothingToCompactError as NothingToCompactError,
)
from .errors import (
    OverflowedError as OverflowedError,
)
from .errors import (
    PlanError as PlanError,
)
from .errors import (
    RedirectError as RedirectError,
)
from .errors import (
    SessionError as SessionError,
)
from .errors import (
    SummaryError as SummaryError,
)
from .formats import example as example
from .formats import read as read
from .hooks import Review as Review
from .hooks import Verdict as Verdict
from .ledger.columns import Kind as Kind
from .ledger.columns import Ledger as Ledger
from .ledger.columns import Role as Role
from .ledger.split import split as split
from .messages.types import Message as Message
from .messages.types import Transcript as Transcript
from .messages.usage import Usage as Usage
from .models.model import Model as Model
from .planning.plan import Plan as Plan
from .planning.policy import Policy as Policy
from .session.call import Fitted as Fitted
from .session.compactor import Compactor as Compactor
from .session.overflow import is_overflow as is_overflow
from .session.queue import CompactionQueue as CompactionQueue
from .session.session import Session as Session
from .validity.repair import Repair as Repair
from .validity.repair import repair as repair
from .validity.validate import Problem as Problem
from .validity.validate import RequestOptions as RequestOptions
from .validity.validate import validate as validate
