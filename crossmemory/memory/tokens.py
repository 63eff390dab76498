"""How many tokens a text costs, roughly. A site with a model's own counter names it in TOKEN_COUNTER."""


def estimate(text: str) -> int:
    """About four UTF-8 bytes a token, plus what a message costs by itself. Errs on the high side for English."""
    return len(text.encode()) // 4 + 4
