from .columns import MessageFlag as MessageFlag
from .columns import RowFlag as RowFlag
from .columns import Zone as Zone
