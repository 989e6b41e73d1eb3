"""Valid C text from any names: identifiers, comments, strings and numbers.

Headers are plain ASCII. Names of columns, levels and classes may close comments, continue lines,
spell trigraphs or turn the direction of writing.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

import numpy as np

# so that the longest identifiers of a header stay within a line
MAX_NAME = 31
# characters of an identifier that C99 compilers must tell apart
MAX_IDENTIFIER = 63
# characters of a string literal that C99 compilers must take
MAX_LITERAL = 4095
# of a user's name in a comment; it is there in full where it is a string
MAX_COMMENT = 60
# characters of a line of the header
LINE = 96
LARGEST_DOUBLE = float(np.finfo(np.float64).max)
LARGEST_FLOAT = float(np.finfo(np.float32).max)
SMALLEST_FLOAT = float(np.finfo(np.float32).tiny)

# letters that normalisation does not reduce to ASCII; the first is the micro sign
LETTERS = str.maketrans(
    {"µ": "u", "Æ": "AE", "Œ": "OE", "Ø": "O", "Đ": "D", "Ð": "D", "Þ": "TH", "Ł": "L", "Ħ": "H"}
)

# of C99, and what C11 and C++ add
KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while alignas alignof and and_eq asm bitand bitor bool catch class compl concept const_cast
constexpr decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept
not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
static_assert static_cast template this thread_local throw true try typeid typename using virtual
wchar_t xor xor_eq
"""


def checked_name(name: str) -> str:
    """The name, if every identifier of a header can begin with it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9])*_?", name):
        raise ValueError(
            f"name must be a C identifier of letters, digits and single underscores that begins "
            f"with a letter, got {name!r}; try 'sdgm'."
        )
    if name in KEYWORDS.split():
        raise ValueError(f"name must not be a keyword of C or C++, got {name!r}; try 'sdgm'.")
    if len(name) > MAX_NAME:
        raise ValueError(
            f"name must have at most {MAX_NAME} characters, got {len(name)}: {name!r}."
        )
    return name


def identifiers(prefix: str, names: Sequence[str], taken: set[str]) -> list[str]:
    """Constants for names, in capitals: different from each other and from those taken.

    Examples
    --------
    >>> identifiers("IRIS_", ["petal length (cm)", "petal-length: cm", "*/"], set())
    ['IRIS_PETAL_LENGTH_CM', 'IRIS_PETAL_LENGTH_CM_2', 'IRIS_X']
    >>> identifiers("IRIS_", ["größe (cm)", "dépôt", "2 µg/m²"], set())
    ['IRIS_GROSSE_CM', 'IRIS_DEPOT', 'IRIS_2_UG_M2']
    """
    made: list[str] = []
    last: dict[str, int] = {}  # number of the last name that came out the same
    for name in names:
        word = re.sub("[^A-Z0-9]+", "_", _capitals(name[: 4 * MAX_IDENTIFIER])).strip("_") or "X"
        identifier = (prefix + word)[:MAX_IDENTIFIER].rstrip("_")
        first = identifier
        while identifier in taken:
            last[first] = last.get(first, 1) + 1
            end = f"_{last[first]}"
            identifier = (prefix + word)[: MAX_IDENTIFIER - len(end)].rstrip("_") + end
        taken.add(identifier)
        made.append(identifier)
    return made


def _capitals(text: str) -> str:
    """Capitals without marks, in ASCII where there is a spelling for them."""
    text = unicodedata.normalize("NFKD", text.translate(LETTERS).upper().translate(LETTERS))
    return "".join(c for c in text if not unicodedata.combining(c))


def comment(text: str, limit: int = MAX_COMMENT) -> str:
    r"""Text that stays inside a comment, on its line, shortened where it is long.

    What is not printable ASCII, and the backslash, is the number of its character as C spells it.

    Examples
    --------
    >>> print(comment("a*/b ??/ größe"))
    a* /b ? ?/ gr\u00f6\u00dfe
    """
    if len(text) > limit:
        text = text[:limit] + "..."
    text = "".join(c if " " <= c <= "~" and c != "\\" else _numbered(c) for c in text)
    text = text.replace("*/", "* /").replace("/*", "/ *")
    return re.sub(r"\?(?=\?)", "? ", text)


def _numbered(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


def literal(text: str) -> str:
    r"""A string as C literals, one per line: UTF-8 bytes, in octal where they are not ASCII.

    Three octal digits always, so that a digit that follows is not taken for a part of them.

    Examples
    --------
    >>> print(literal('größe "??/" 1'))
    "gr\303\266\303\237e \"\?\?/\" 1"
    """
    pieces, line = [], ""
    for byte in utf8(text):
        shown = chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
        if shown in '"\\?':
            shown = "\\" + shown
        if len(line) + len(shown) > LINE - 8:
            pieces.append(f'"{line}"')
            line = ""
        line += shown
    return "\n    ".join([*pieces, f'"{line}"'])


def characters(text: str) -> str:
    """A string too long for a literal, as the initialiser of an array of characters."""
    shown = [f"'\\{byte:03o}'" for byte in utf8(text) + b"\0"]
    return "{\n" + wrapped(shown) + "\n}"


def utf8(text: str) -> bytes:
    """The bytes of a string; half of a surrogate pair is spelled out."""
    return text.encode("utf-8", "backslashreplace")


def wrapped(items: Sequence[str], indent: str = "    ") -> str:
    """Items with commas between them, in lines of some length."""
    # items have no spaces, and must not be broken at a minus sign
    return textwrap.fill(
        ", ".join(items),
        LINE,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def number(value: float, real: str) -> str:
    """A number as a constant of type double or float, with the digits that bring it back.

    Examples
    --------
    >>> number(0.1, "double"), number(0.1, "float"), number(1e-300, "float")
    ('0.1', '0.1f', '0.0f')
    """
    if not abs(value) <= (LARGEST_FLOAT if real == "float" else LARGEST_DOUBLE):
        raise ValueError(f"{value!r} does not fit into {real}; try precision='double'.")
    if real != "float":
        return repr(float(value))
    # subnormal numbers, which have fewer digits, become zero
    return f"{np.float32(value if abs(value) >= SMALLEST_FLOAT else 0.0)!s}f"
