"""From conversations to memory: summaries, claims checked against git, and entries with their sources."""

from .close import Checked, Closed, ClosedAll, Failure, NewEntry, Proposal, close, close_all, unclosed
from .errors import Contended, DistillError, EmptySession, NoSuchSession
from .evidence import Evidence
from .settings import DistillSettings
from .summary import Item, Summary, summarise

__all__ = [
    "Checked",
    "Closed",
    "ClosedAll",
    "Contended",
    "DistillError",
    "DistillSettings",
    "EmptySession",
    "Evidence",
    "Failure",
    "Item",
    "NewEntry",
    "NoSuchSession",
    "Proposal",
    "Summary",
    "close",
    "close_all",
    "summarise",
    "unclosed",
]
