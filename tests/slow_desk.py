"""Stands in for the desk of conversions: one text is slow, the others are given back."""

SLOW = "a text that is never done"


class Desk:
    """Answers as a child process does."""

    def answer(self, header: dict[str, object], data: bytes) -> tuple[dict[str, str], None]:
        """Give the text back, unless it is the slow one."""
        while data.decode() == SLOW:
            pass
        return {"text": data.decode()}, None
