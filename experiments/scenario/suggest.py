"""Close matches for messages: a typo is answered with the word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(word: str, known: Iterable[str]) -> str:
    """End of a message about an unknown word.

    Parameters
    ----------
    word
        What was given.
    known
        What would have been understood.

    Returns
    -------
    "did you mean X?" when something is close, else "use one of A, B, C".

    Examples
    --------
    >>> suggest("darkstand", ["usnet", "darkstrand"])
    "did you mean 'darkstrand'?"
    >>> suggest("xyz", ["usnet", "darkstrand"])
    'use one of usnet, darkstrand'
    """
    words = list(known)
    close = difflib.get_close_matches(word.lower(), [known_word.lower() for known_word in words], n=1, cutoff=0.6)
    if close:
        original = next(known_word for known_word in words if known_word.lower() == close[0])
        return f"did you mean {original!r}?"
    return "use one of " + ", ".join(words)
