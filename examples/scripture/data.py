# Text of the King James Bible from Debian's bible-kjv, split into training text and held-out books.
# SPDX-License-Identifier: Apache-2.0
"""One verse a line without its reference, an empty line between chapters.

`python3 data.py` writes heldout.txt, the part that evaluation reads; training text is never stored.
"""

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELDOUT = HERE / "heldout.txt"
# Whole books, of several kinds, none of which another book repeats at length.
HELDOUT_BOOKS = {"Ruth", "Est", "Joel", "Jonah", "Hab", "Phi", "Jas"}
VERSE = re.compile(r"(\d?[A-Za-z]+)(\d+):\d+ (.*)")


def read_bible():
    """Yields (book, chapter, text of a verse)."""
    out = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, check=True)
    for line in out.stdout.decode("ascii").splitlines():
        yield VERSE.fullmatch(line).groups()


def split():
    """Returns (training text, held-out text), both bytes."""
    texts = ([], [])
    last = None
    for book, chapter, verse in read_bible():
        target = texts[book in HELDOUT_BOOKS]
        if last != (book, chapter) and target:
            target.append("")
        last = (book, chapter)
        target.append(verse)
    return tuple(("\n".join(t) + "\n").encode("ascii") for t in texts)


if __name__ == "__main__":
    train, heldout = split()
    HELDOUT.write_bytes(heldout)
    print(f"training {len(train)} bytes, held out {len(heldout)} bytes in {HELDOUT.name}")
