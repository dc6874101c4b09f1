"""Converting for strangers: what a child process does that is killed when a conversion takes too long."""

from collections.abc import Mapping
from dataclasses import dataclass

from unrender.errors import LatexError, UnrenderError
from unrender.formats import parse, write


@dataclass(frozen=True)
class Desk:
    """Writes texts in other notations."""

    def answer(self, header: Mapping[str, object], data: bytes) -> tuple[dict[str, str | int], None]:
        """Return the text in the notation wanted, or what is wrong and where."""
        try:
            document = parse(data.decode(errors="surrogatepass"), str(header["source"]))
            return {"text": write(document, str(header["target"]))}, None
        except RecursionError:
            return {"refusal": "The text is nested too deeply."}, None
        except UnrenderError as error:
            found: dict[str, str | int] = {"refusal": str(error)}
            for part in (error.__cause__, error):
                if isinstance(part, LatexError):
                    found["position"] = part.position
            return found, None
