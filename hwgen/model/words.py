"""Names that a model in C cannot have: words of C and C++, and names of the headers that it includes."""

import re

_WORDS = """
alignas alignof and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool catch char char8_t
char16_t char32_t co_await co_return co_yield compl concept const_cast consteval constexpr constinit decltype
delete double dynamic_cast explicit false float friend goto inline int long main mutable namespace new
noexcept not_eq nullptr operator or_eq private public reflexpr register reinterpret_cast requires
restrict short signed sizeof
static_assert static_cast switch synchronized template thread_local throw true try typeid typename typeof
unsigned using volatile
wchar_t xor_eq
NULL RAND_MAX _Exit abort abs atexit atof atoi atol atoll bsearch calloc div div_t exit free getenv labs ldiv ldiv_t
llabs lldiv lldiv_t malloc mblen mbstowcs mbtowc qsort rand realloc size_t srand strtod strtof strtol strtold strtoll
strtoul strtoull system wcstombs wctomb linux unix
"""
_TAKEN = re.compile(rf"{'|'.join(_WORDS.split())}|u?int\w*_t|U?INT\w*_(MIN|MAX|C)|EXIT_\w+|_[A-Z_]\w*")


def is_taken(name: str) -> bool:
    """Whether C, C++, ``stdint.h`` or ``stdlib.h`` have a name, or reserve it."""
    return _TAKEN.fullmatch(name) is not None
