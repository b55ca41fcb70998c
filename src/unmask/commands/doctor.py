"""`unmask doctor`: what is installed, what each extra would add, and whether all is well."""

import typer

from unmask.commands.options import Json


def doctor(as_json: Json = False) -> None:
    """Say what is installed and what each extra would add, and run a self-test. Exit code 1: something is wrong.

    Example: [bold]unmask doctor --json[/bold]
    """
    from unmask.console import show_installation
    from unmask.installation import examine
    from unmask.terminal import print_document, working

    with working("examining"):
        installation = examine()
    if as_json:
        print_document(installation.to_json())
    else:
        show_installation(installation)
    raise typer.Exit(0 if installation.healthy else 1)
