"""The command `likewise`: finds the subcommand's module and hands over.

Only this file knows where commands live. Each is loaded when it is called, so
that help stays quick and a missing optional library hurts only its own command.
"""

import importlib
import json
import keyword
import sys

try:
    import click
except ModuleNotFoundError:
    sys.exit(
        "The command line needs an optional library. "
        "Install it with: pip install 'likewise[app]'."
    )

from likewise.errors import LikewiseError, MissingExtraError

# Command: (module that defines it, extra to install, one line of help or none to
# leave it out of the list).
COMMANDS = {
    "demo": (
        "likewise.experiments.demo",
        "bench",
        "Sort digits by asking, against random questions.",
    ),
    "reproduce": (
        "likewise.experiments.reproduce",
        "bench",
        "The paper's tables and figures, against the tools in use today.",
    ),
    "new": ("likewise.app.cli_new", "app", "Make a project file from your items."),
    "add": ("likewise.app.cli_items", "app", "Add further items to a project."),
    "label": ("likewise.app.cli", "app", "Open the labelling page of a project."),
    "ask": ("likewise.app.cli", "app", "Print the open question of a project."),
    "answer": ("likewise.app.cli", "app", "Answer the open question."),
    "status": ("likewise.app.cli", "app", "Print how far a project has come."),
    "groups": ("likewise.app.cli_groups", "app", "Print or write out the groups."),
    "search": ("likewise.app.cli_use", "app", "Print the items nearest to one."),
    "export-metric": ("likewise.app.cli_use", "app", "Write the learned metric."),
    "vectors": ("likewise.app.cli_use", "app", "Write where all items lie by it."),
    "probabilities": (
        "likewise.app.cli_beyond",
        "app",
        "Write P(same) of pairs beyond memory.",
    ),
    "finish": ("likewise.app.cli_groups", "app", "Write all results into a folder."),
    "export": ("likewise.app.cli_exchange", "app", "Write the answers to a file."),
    "import": ("likewise.app.cli_exchange", "app", "Take answers from a file."),
    "demo-serve": ("likewise.app.cli", "app", ""),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Give the names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import the module of a command and give the command."""
        if name not in COMMANDS:
            return None
        module, extra, _ = COMMANDS[name]
        try:
            command = getattr(importlib.import_module(module), _attribute(name))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("likewise"):
                raise
            raise MissingExtraError(f"'likewise {name}'", extra) from error
        assert isinstance(command, click.Command)
        return command

    def format_commands(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, help) for name, (_, _, help) in COMMANDS.items() if help]
            )


@click.group(cls=LazyGroup)
@click.version_option(package_name="likewise")
def group() -> None:
    """Learns what "same" means to you, by asking as few questions as possible."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error becomes one line, or JSON where that is asked."""
    given = sys.argv[1:] if arguments is None else arguments
    if "--json" in given:
        sys.exit(_run_for_program(given))
    try:
        group(given, prog_name="likewise")
    except LikewiseError as error:
        print(f"likewise: {error}", file=sys.stderr)
        sys.exit(1)


def _run_for_program(arguments: list[str]) -> int:
    """Run a command whose reader is a program: errors are JSON on stdout too."""
    try:
        code = group(arguments, prog_name="likewise", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except LikewiseError as error:
        return _print_error(str(error), 1)
    except click.ClickException as error:
        return _print_error(error.format_message(), error.exit_code)
    except click.Abort:
        return _print_error("Interrupted.", 1)


def _print_error(words: str, code: int) -> int:
    print(json.dumps({"ok": False, "error": words}, ensure_ascii=False))
    return code


def _attribute(command: str) -> str:
    """Give the Python name of a command, which may be no name in Python."""
    name = command.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


if __name__ == "__main__":
    main()
