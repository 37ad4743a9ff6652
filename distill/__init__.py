"""From conversations to memory: summaries, claims checked against git, and entries with their sources."""

from .citation import Cited, Restored, cite, restore
from .close import Checked, Closed, ClosedAll, Failure, NewEntry, Proposal, close, close_all, unclosed
from .composition import Models
from .decay import Decay, archive
from .endpoint import Endpoint, EndpointSettings
from .errors import Contended, DistillError, EmptySession, EndpointFailed, NoSuchSession
from .evidence import Evidence
from .nightly import Night, distill_home
from .settings import DistillSettings
from .summary import Item, Summary, summarise
from .verification import Rechecked, Verification, verify

__all__ = [
    "Checked",
    "Cited",
    "Closed",
    "ClosedAll",
    "Contended",
    "Decay",
    "DistillError",
    "DistillSettings",
    "EmptySession",
    "Endpoint",
    "EndpointFailed",
    "EndpointSettings",
    "Evidence",
    "Failure",
    "Item",
    "Models",
    "NewEntry",
    "Night",
    "NoSuchSession",
    "Proposal",
    "Rechecked",
    "Restored",
    "Summary",
    "Verification",
    "archive",
    "cite",
    "close",
    "close_all",
    "distill_home",
    "restore",
    "summarise",
    "unclosed",
    "verify",
]
