"""Commands of typer whose options are the fields of dataclasses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand

from tidalog.cli.options import AsJson
from tidalog.cli.report import reporting

Command = Callable[..., int | None]


def command(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Registers a function `(report, *, …)` as a command.

    A parameter whose type is a dataclass becomes one option per field; `report` becomes `--json`.
    Errors of the function become messages and an exit code.
    """

    def register(function: Command) -> Command:
        hints = get_type_hints(function, include_extras=True)
        groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}

        @wraps(function)
        def call(**given: object) -> int | None:
            with reporting(given.pop("json") is True) as report:
                for parameter, group in groups.items():
                    given[parameter] = group(**{field.name: given.pop(field.name) for field in fields(group)})
                return function(report, **given)

        options = [*_options(function, hints), _option("json", AsJson, False)]
        call.__signature__ = Signature(options)  # type: ignore[attr-defined]
        call.__annotations__ = {option.name: option.annotation for option in options}
        app.command(name, cls=_Command)(call)
        return function

    return register


class _Command(TyperCommand):
    """A command whose help names arguments as the user types them, without their Python types."""

    def get_help(self, ctx: Any) -> str:  # the context of whatever Click typer has
        usage, _, rest = super().get_help(ctx).partition("\n")
        usage = re.sub(r"[{}]|(?<=[}\]])\.\.\.", "", usage)
        return f"{usage}\n" + re.sub(r" <[a-z]+(?:\[\w+\])?>", lambda found: " " * len(found[0]), rest)


def _options(function: Command, hints: Mapping[str, object]) -> Iterator[Parameter]:
    for name, parameter in list(signature(function).parameters.items())[1:]:
        hint = hints[name]
        if not (isinstance(hint, type) and is_dataclass(hint)):
            yield _option(name, hint, parameter.default)
            continue
        types = get_type_hints(hint, include_extras=True)
        for field in fields(hint):
            default = Parameter.empty if field.default is MISSING else field.default
            yield _option(field.name, types[field.name], default)


def _option(name: str, hint: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
