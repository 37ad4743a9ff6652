"""Find what is in the home by a question.

The index is a cache made from the files. Importing this package is light, because each module is imported where it is
used.
"""

from .errors import IndexStale, IndexUnusable, ModelError, RecallError
from .settings import RecallSettings

__all__ = ["IndexStale", "IndexUnusable", "ModelError", "RecallError", "RecallSettings"]
