"""`docs/options.md` is generated from the table of options."""

from hwgen.cli.table import page
from hwgen.tile.block import EVERY
from rtl_tests.support.paths import ROOT


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "options.md").read_text() == page(), (
        "run: .venv/bin/python -m hwgen.cli.table > docs/options.md"
    )


def test_every_option_of_every_block_has_a_row():
    text = page()
    assert text.count("\n| `") == sum(len(block.all_options) for block in EVERY.values())
