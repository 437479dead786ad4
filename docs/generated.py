"""Pages that are made from the code when the site is built, and the Sphinx extension that puts them in."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Any

from experiments.cli.main import COMMANDS
from experiments.cli.parser import ArmorParser
from experiments.scenario import parse
from experiments.scenario.failures import failure_kinds
from experiments.scenario.keys import Key
from experiments.scenario.traffic import traffic_kinds
from mininet_topos.importers import json_file
from ryu_apps.pmt.fields import PMT_FIELDS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
_MEANS_SOMETHING = re.compile(r"([\\`*_{}\[\]<>|$#~])")


def escaped(text: str) -> str:
    """`text` as Markdown shows it letter for letter, also in a table."""
    return _MEANS_SOMETHING.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """`text` as code in a table."""
    return "`" + text.replace("|", "\\|") + "`"


def fenced(text: str) -> str:
    """`text` as a block that is shown as it is."""
    return f"```text\n{text}\n```"


def wrapped(usage: str) -> str:
    """Usage of a command in lines of a page, each option whole."""
    whole = re.sub(r"\[[^]]*\]", lambda option: option[0].replace(" ", "\0"), " ".join(usage.split()))
    return fill(whole, 88, subsequent_indent="    ", break_on_hyphens=False).replace("\0", " ")


def paragraphs(docstring: str) -> Iterator[str]:
    """Markdown of a docstring of a command; paragraphs of commands are blocks."""
    for part in docstring.strip().split("\n\n"):
        yield fenced(part) if re.match(r"\s|armor ", part) else escaped(part)


def commands_page() -> str:
    """Markdown of all commands: description, usage, arguments."""
    return "\n\n".join(text for name in COMMANDS for text in command_section(name))


def command_section(name: str) -> Iterator[str]:
    """Markdown of `armor NAME`, block by block."""
    module = importlib.import_module(f"experiments.cli.{name}")
    parser = ArmorParser(prog=f"armor {name}", description=None)
    module.add_arguments(parser)
    yield f"## armor {name}"
    yield from paragraphs(module.__doc__ or "")
    yield fenced(wrapped(parser.format_usage().removeprefix("usage: ")))
    for group in parser._action_groups:
        rows = [row(parser, action) for action in group._group_actions if action.dest != "help"]
        if rows:
            yield "\n".join([f"| {group.title} | |", "| --- | --- |", *rows])


def row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Table row of an argument."""
    value = parser._get_formatter()._format_args(action, action.dest.upper() if action.option_strings else action.dest)
    names = [f"{option} {value}".strip() for option in action.option_strings] or [value]
    about = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"| {', '.join(map(code, names))} | {escaped(about)} |"


def listed(words: Iterable[str]) -> str:
    """Words as code, one after the other."""
    return ", ".join(f"`{word}`" for word in words)


def kinds_section(title: str, kinds: Iterable[tuple[str, type, tuple[Key, ...]]]) -> str:
    """Markdown of the kinds (name, class, keys) of failures or traffic."""
    rows = [
        f"| `{name}` | {escaped(inspect.getdoc(inspect.getmodule(kind)) or '')} | {listed(key.name for key in keys)} |"
        for name, kind, keys in kinds
    ]
    return "\n".join([f"## {title}", "", "| kind | what it is | its keys |", "| --- | --- | --- |", *rows])


def formats_page() -> str:
    """Markdown of the keys that readers of files take."""
    fields = [
        f"| `{field.name}` | {field.n_bits} | {field.notation} | {'yes' if field.maskable else 'no'} |"
        for field in PMT_FIELDS.values()
    ]
    return "\n\n".join(
        [
            "## Scenario",
            f"{listed(parse.KEYS)}.",
            kinds_section("Entries of `failures`", ((name, kind, kind.keys) for name, kind in failure_kinds().items())),
            kinds_section("Entries of `traffic`", ((name, kind, kind.keys) for name, kind in traffic_kinds().items())),
            "## Topology (JSON)",
            f"The file: {listed(json_file.TOP_KEYS)}. A node: {listed(json_file.NODE_KEYS)}. "
            f"A link: {listed(json_file.LINK_KEYS)}.",
            "## Match fields of a Policy Map Table",
            "\n".join(["| field | bits | notation | maskable |", "| --- | --- | --- | --- |", *fields]),
        ]
    )


PAGES: dict[str, Callable[[], str]] = {"commands": commands_page, "formats": formats_page}


def filled(text: str) -> str:
    """`text` with each mark of a generated part replaced by that part."""
    return _MARK.sub(lambda found: PAGES[found[1]](), text)


def _fill_source(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Extension of Sphinx: fill marks in pages before they are parsed."""
    app.connect("source-read", _fill_source)
    return {"parallel_read_safe": True}
