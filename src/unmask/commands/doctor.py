"""`unmask doctor`: what is installed, what each extra adds, and a self-test."""

import typer

from unmask.commands.options import Json


def doctor(as_json: Json = False) -> None:
    """Show what is installed and what each extra adds, and run a self-test.

    Exit code: 0 everything works, 1 something is missing or wrong.

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
