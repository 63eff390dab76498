"""Everything the app raises on purpose. An exception's default message is its docstring."""


class CrossmemoryError(Exception):
    """crossmemory could not do this."""

    code = "error"  # the word that REST and socket answers carry

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class NotFound(CrossmemoryError):
    """There is no such conversation."""

    code = "not_found"


class Refused(CrossmemoryError):
    """This is not possible here."""

    code = "refused"


class ReadOnlyHere(Refused):
    """This conversation belongs to another surface: write there, or continue in a new chat."""

    code = "read_only_here"


class AgentNotAllowed(Refused):
    """You may not use this assistant."""

    code = "agent_not_allowed"


class Invalid(CrossmemoryError):
    """The message cannot be stored as it is."""

    code = "invalid"


class EmptyText(Invalid):
    """The message has no text."""

    code = "empty"


class TextTooLong(Invalid):
    """The message is too long."""

    code = "too_long"


class AttachmentError(Invalid):
    """A file of this message does not exist, or belongs to another one."""

    code = "attachment"


class FileTooLarge(Invalid):
    """The file is too large."""

    code = "too_large"


class EmptyFile(Invalid):
    """The file is empty."""

    code = "empty"


class TooManyFiles(Invalid):
    """There are too many files."""

    code = "too_many"


class Conflict(CrossmemoryError):
    """This client_id was used before, with another text."""

    code = "conflict"


class Fenced(CrossmemoryError):
    """The run belongs to somebody else by now; nothing was written."""

    code = "fenced"


class AppendOnly(CrossmemoryError):
    """Log rows are written by crossmemory.log alone and never changed."""

    code = "append_only"


class UnknownEvent(CrossmemoryError):
    """No such event type, or its data does not fit the type."""

    code = "unknown_event"


class Misconfigured(CrossmemoryError):
    """A setting of crossmemory is wrong."""

    code = "misconfigured"


class UnsupportedFeature(CrossmemoryError):
    """This surface cannot do that."""

    code = "unsupported"


class LinkError(CrossmemoryError):
    """This account cannot be linked."""

    code = "link"
