"""Loaded by ryu-manager before an app: writes a line for each message that comes, and for each time it is parsed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ryu.base import app_manager
from ryu.ofproto import ofproto_parser

from ryu_apps.openflow import decode, wire

# What works on a part of a message.
_NO_PARSERS = ("decode_actions", "decode_instructions", "decode_match")


class Counting(app_manager.RyuApp):
    """Listens to nothing, as an app that only serves HTTP does."""


def _note(what: str, message: bytes) -> None:
    with open(os.environ["COUNTING_FILE"], "a", encoding="utf-8") as file:
        file.write(f"{what} {bytes(message).hex()}\n")


def _parsing(name: str, parse: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any) -> Any:
        _note(name, arguments[-1])
        return parse(*arguments)

    return counted


def _splitting(split: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def counted(buffer: bytes) -> Any:
        messages, rest = split(buffer)
        for message in messages:
            _note("came", message)
        return messages, rest

    return counted


ofproto_parser.msg = _parsing("ryu", ofproto_parser.msg)
wire.split_messages = _splitting(wire.split_messages)  # type: ignore[assignment]
for _name in [each for each in vars(decode) if each.startswith("decode_") and each not in _NO_PARSERS]:
    setattr(decode, _name, _parsing(_name, getattr(decode, _name)))
