"""docs/reference/command-line.md is what the commands say about themselves."""

from command_line_page import PAGE, page

from unmask.cli.commands import COMMANDS, GROUPS


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make command-line`"


def test_every_command_and_option_is_there():
    text = page()
    assert all(f"\n## unmask {name}\n" in text for name in COMMANDS)
    assert all(f"\n## unmask {name} " in text for name in GROUPS)
    assert "`--precision P` | Precision p of the numbers F_p. | `2` |" in text
    assert "`--to KIND` | Framework: mdm, smdm, topk, plt, cot or pcot. | required |" in text
    assert "[bold]" not in text
