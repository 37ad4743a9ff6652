"""Own the errors of assembling. A missing model, index or file only degrades a prompt."""

__all__ = ["AssemblerError", "WindowTooSmall"]


class AssemblerError(Exception):
    """Root of this package's errors."""


class WindowTooSmall(AssemblerError):
    """The model's window leaves no room for any memory."""

    def __init__(self, window: int, used: int) -> None:
        super().__init__(
            f"a window of {window} tokens with {used} in use leaves no room for memory. Give a larger --window"
        )
        self.window, self.used = window, used
