"""Words for people: what they gave on one line, without control characters, never at endless length; and counts."""

from __future__ import annotations

import re

SHOWN_CHARACTERS = 60
# A path or a list of choices fits; a file's content that got into a message does not.
_LONGEST_WORD = 300
_LONGEST_SENTENCE = 1500
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count and its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2, "run"), counted(0, "switch", "switches")
    ('1 run', '2 runs', '0 switches')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def one_line(text: str) -> str:
    """Collapse white space and drop control characters, as labels of drawing programs need."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def shown(value: object) -> str:
    """Quote a value of a file on one line, shortened."""
    text = str(value)
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "...")


def sentence(error: Exception) -> str:
    """What a terminal shows of an error: its message on one line; words and messages of any length are shortened.

    Examples
    --------
    >>> sentence(ValueError("two\\nlines and \\x1b[31ma colour"))
    'two lines and [31ma colour'
    """
    text = _LONG_WORD.sub(lambda word: _without_middle(word[0], SHOWN_CHARACTERS), one_line(str(error)))
    return text if len(text) <= _LONGEST_SENTENCE else _without_middle(text, _LONGEST_SENTENCE)


def _without_middle(text: str, most: int) -> str:
    return f"{text[: most // 2]}...{text[-most // 2 :]}"
