"""What nodes say, made fit for a message: one line, no control characters, not long."""

from __future__ import annotations

QUOTE_CHARACTERS = 200


def escaped(text: str) -> str:
    r"""Text without control characters, lone surrogates or other invisible ones; each is written as its escape.

    >>> escaped("a\x1b[31m\n")
    'a\\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(evidence: str | bytes | bytearray, limit: int = QUOTE_CHARACTERS) -> str:
    r"""Evidence between quotation marks, its end cut.

    >>> quoted(b"\xff\x00oops\n")
    "'\\xff\\x00oops'"
    """
    text = evidence if isinstance(evidence, str) else bytes(evidence[:4 * limit]).decode("utf-8", "backslashreplace")
    text = escaped(text.strip())
    return f"'{text if len(text) <= limit else text[:limit - 1] + '…'}'"


def last_line(evidence: str | bytes | bytearray) -> str:
    """The last line that says something, where programs put their reason."""
    text = evidence if isinstance(evidence, str) else bytes(evidence).decode("utf-8", "backslashreplace")
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
