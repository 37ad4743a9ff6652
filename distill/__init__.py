"""From conversations to memory: summaries, claims checked against git, and entries with their sources."""

from .close import close, close_all, unclosed
from .closing_result import ChangedEntry, CheckedClaim, Closed, ClosedAll, ClosingFailure, NewEntry, ProposedEntry
from .entries.citation import Cited, Restored, cite, restore
from .entries.decay import ArchiveReport, archive
from .entries.notes import NOTE_TYPES, Finished, NoteType, Remembered, finish, remember
from .errors import Contended, DistillError, EmptySession, EndpointFailed, NoSuchSession
from .evidence.status import Evidence
from .evidence.verification import RecheckedEntry, VerificationReport, verify
from .language_model.endpoint import Endpoint, EndpointSettings
from .nightly import NightlyRun, distill_home
from .reading.model_reader import ModelUse
from .settings import DistillSettings
from .summary.composition import Models
from .summary.extraction import Item, Summary, summarise

__all__ = [
    "NOTE_TYPES",
    "ArchiveReport",
    "ChangedEntry",
    "CheckedClaim",
    "Cited",
    "Closed",
    "ClosedAll",
    "ClosingFailure",
    "Contended",
    "DistillError",
    "DistillSettings",
    "EmptySession",
    "Endpoint",
    "EndpointFailed",
    "EndpointSettings",
    "Evidence",
    "Finished",
    "Item",
    "ModelUse",
    "Models",
    "NewEntry",
    "NightlyRun",
    "NoSuchSession",
    "NoteType",
    "ProposedEntry",
    "RecheckedEntry",
    "Remembered",
    "Restored",
    "Summary",
    "VerificationReport",
    "archive",
    "cite",
    "close",
    "close_all",
    "distill_home",
    "finish",
    "remember",
    "restore",
    "summarise",
    "unclosed",
    "verify",
]
