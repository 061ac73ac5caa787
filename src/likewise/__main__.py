"""The command `likewise`: finds the subcommand's module and hands over.

Only this file knows where commands live. Each is loaded when it is called, so
that help stays quick and a missing optional library hurts only its own command.
"""

import importlib
import sys

from likewise.errors import LikewiseError, MissingExtraError

# Command: (module that defines it, extra to install, one line of help).
COMMANDS = {
    "demo": (
        "likewise.experiments.demo",
        "bench",
        "The active loop on digits, against random asking.",
    ),
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a LikewiseError becomes one line and exit code 1."""
    try:
        try:
            import click
        except ModuleNotFoundError as error:
            raise MissingExtraError("The command line", "app") from error
        _group(click)(arguments, prog_name="likewise")
    except LikewiseError as error:
        print(f"likewise: {error}", file=sys.stderr)
        sys.exit(1)


def _group(click):  # type: ignore[no-untyped-def]
    """Build the click group that loads commands by name."""

    class LazyGroup(click.Group):  # type: ignore[misc, name-defined]
        def list_commands(self, context):  # type: ignore[no-untyped-def]
            return list(COMMANDS)

        def get_command(self, context, name):  # type: ignore[no-untyped-def]
            if name not in COMMANDS:
                return None
            module, extra, _ = COMMANDS[name]
            try:
                return getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("likewise"):
                    raise
                raise MissingExtraError(f"'likewise {name}'", extra) from error

        def format_commands(self, context, formatter):  # type: ignore[no-untyped-def]
            with formatter.section("Commands"):
                formatter.write_dl([(n, c[2]) for n, c in COMMANDS.items()])

    return click.version_option(package_name="likewise")(
        LazyGroup(
            "likewise",
            help="Learns what 'same' means to you, by asking as few questions "
            "as possible.",
        )
    )


if __name__ == "__main__":
    main()
