"""Names that a model in C cannot have: words of C and C++, names of headers, and functions that compilers know."""

import re

_WORDS = r"""
alignas alignof and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool catch char char8_t
char16_t char32_t co_await co_return co_yield compl concept const_cast consteval constexpr constinit decltype
delete double dynamic_cast explicit false float friend goto inline int long main mutable namespace new
noexcept not_eq nullptr operator or_eq private public reflexpr register reinterpret_cast requires
restrict short signed sizeof
static_assert static_cast switch synchronized template thread_local throw true try typeid typename typeof
unsigned using volatile
wchar_t xor_eq
NULL RAND_MAX EXIT_\w+ MB_CUR_MAX abort abs aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch calloc div
div_t exit free getenv labs ldiv ldiv_t llabs lldiv lldiv_t malloc mblen mbstowcs mbtowc qsort quick_exit rand realloc
size_t srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb linux unix
ptrdiff_t max_align_t nullptr_t offsetof u?int\w*_t U?INT\w*_(MIN|MAX|C|WIDTH)
(SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_(MIN|MAX|WIDTH) _\w*
isw?(al(num|pha)|blank|cntrl|x?digit|graph|(low|upp)er|print|punct|space) tow?(low|upp)er (is|to)ascii
mem(chr|cmp|cpy|move|set) str(n?(casecmp|cat|cmp|cpy|dup|len)|r?chr|c?spn|fmon|ftime|pbrk|str)
(v?(f|sn?)?printf|v?[fs]?scanf|f?put[cs]|putchar|fwrite)(_unlocked)? fe[a-z]+(except|env|round|flag) alloca bcmp bcopy
bzero (dc?)?gettext exec(le?|lp|v[ep]?) ffsl?l? fork imaxabs mempcpy posix_memalign r?index stpn?cpy
"""
_MATHS = r"""
a?(cos|sin|tan)h? atan2 sincos c(a?(cos|sin|tan)h?|abs|arg|exp|imag|log(10)?|pow|proj|real|sqrt) conj cbrt ceil
copysign drem erfc? exp(10|2|m1)? fabs fdim finite floor fma fmax fmin fmod frexp [lt]?gamma hypot ilogb isinf isnan
[jy][01n] ldexp l?l?r(int|ound) log(10|1p|2|b)? modf nan nearbyint nextafter nexttoward pow(10)? remainder remquo
roundeven scalb(l?n)? significand signbit sqrt trunc
"""
_TYPES = r"([fl]|f?(16|32|64|128)x?|d\d+)?(_r)?"
"""What functions of mathematics end in, by the type of their numbers."""
_TAKEN = re.compile(rf"{'|'.join(_WORDS.split())}|({'|'.join(_MATHS.split())}){_TYPES}")


def is_taken(name: str) -> bool:
    """Whether C, C++, ``stdint.h``, ``stddef.h`` or ``stdlib.h`` have a name or reserve it, or GCC knows a function."""
    return _TAKEN.fullmatch(name) is not None
