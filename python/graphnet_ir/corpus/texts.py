"""Texts that strangers wrote, as a terminal or a page can show them."""


def printable(text: str, keep: str = "") -> str:
    """Returns the text with an escape for each character that is neither printable nor in `keep`,
    and for surrogates."""
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode()
        for c in text.encode("utf-8", "backslashreplace").decode()
    )
