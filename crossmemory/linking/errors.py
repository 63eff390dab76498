"""What can be wrong with a code or a link."""

from crossmemory.exceptions import LinkError


class WrongCode(LinkError):
    """This code is not known, or it was used already."""

    code = "link_wrong"


class ExpiredCode(LinkError):
    """This code has expired: get a new one on the site."""

    code = "link_expired"


class TooManyGuesses(LinkError):
    """Too many wrong codes: try again in an hour."""

    code = "link_guesses"


class NotPrivate(LinkError):
    """Accounts are connected in a private chat only."""

    code = "link_not_private"


class NoSuchLink(LinkError):
    """There is no such connected account."""

    code = "not_found"
