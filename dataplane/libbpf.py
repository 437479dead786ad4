"""libbpf's functions and structures as ctypes sees them, and what it says when something fails.

Sources: the header files bpf.h, libbpf.h of libbpf 1 and <linux/bpf.h>.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Mapping

from mininet_topos.errors import MissingRequirementError

_LIBRARY = "libbpf.so.1"
_LOG_LINES = 6
_LOG_BYTES = 1 << 20
NAME_BYTES = 16
POINTER = ctypes.c_void_p


class Hook(ctypes.Structure):
    """struct bpf_tc_hook."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("ifindex", ctypes.c_int),
        ("attach_point", ctypes.c_int),
        ("parent", ctypes.c_uint32),
    )


class TcOptions(ctypes.Structure):
    """struct bpf_tc_opts."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("prog_fd", ctypes.c_int),
        ("flags", ctypes.c_uint32),
        ("prog_id", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("priority", ctypes.c_uint32),
    )


class TestOptions(ctypes.Structure):
    """struct bpf_test_run_opts."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    )


class ProgramInfo(ctypes.Structure):
    """struct bpf_prog_info of <linux/bpf.h>, up to the last field that is wanted here."""

    _fields_ = (
        ("before_name", ctypes.c_uint8 * 64),
        ("name", ctypes.c_char * NAME_BYTES),
        ("between", ctypes.c_uint8 * 112),
        ("run_time_ns", ctypes.c_uint64),
        ("run_count", ctypes.c_uint64),
        ("recursion_misses", ctypes.c_uint64),
        ("verified_instructions", ctypes.c_uint32),
        ("attach_btf_object", ctypes.c_uint32),
    )


_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_SIGNATURES: Mapping[str, tuple[object, tuple[object, ...]]] = {
    "libbpf_set_print": (POINTER, (_PRINT,)),
    "bpf_object__open_file": (POINTER, (ctypes.c_char_p, POINTER)),
    "bpf_object__load": (ctypes.c_int, (POINTER,)),
    "bpf_object__close": (None, (POINTER,)),
    "bpf_object__find_program_by_name": (POINTER, (POINTER, ctypes.c_char_p)),
    "bpf_object__find_map_by_name": (POINTER, (POINTER, ctypes.c_char_p)),
    "bpf_program__fd": (ctypes.c_int, (POINTER,)),
    "bpf_map__fd": (ctypes.c_int, (POINTER,)),
    "bpf_map__key_size": (ctypes.c_uint32, (POINTER,)),
    "bpf_map__value_size": (ctypes.c_uint32, (POINTER,)),
    "bpf_map__max_entries": (ctypes.c_uint32, (POINTER,)),
    "bpf_map__set_max_entries": (ctypes.c_int, (POINTER, ctypes.c_uint32)),
    "bpf_map_lookup_elem": (ctypes.c_int, (ctypes.c_int, POINTER, POINTER)),
    "bpf_map_lookup_elem_flags": (ctypes.c_int, (ctypes.c_int, POINTER, POINTER, ctypes.c_uint64)),
    "bpf_map_update_elem": (ctypes.c_int, (ctypes.c_int, POINTER, POINTER, ctypes.c_uint64)),
    "bpf_map_delete_elem": (ctypes.c_int, (ctypes.c_int, POINTER)),
    "bpf_map_get_next_key": (ctypes.c_int, (ctypes.c_int, POINTER, POINTER)),
    "bpf_obj_get_info_by_fd": (ctypes.c_int, (ctypes.c_int, POINTER, POINTER)),
    "bpf_enable_stats": (ctypes.c_int, (ctypes.c_int,)),
    "bpf_prog_test_run_opts": (ctypes.c_int, (ctypes.c_int, POINTER)),
    "bpf_prog_load": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, POINTER, ctypes.c_size_t, POINTER),
    ),
    "bpf_tc_hook_create": (ctypes.c_int, (POINTER,)),
    "bpf_tc_attach": (ctypes.c_int, (POINTER, POINTER)),
    "bpf_tc_detach": (ctypes.c_int, (POINTER, POINTER)),
}


class Library:
    """libbpf with the signatures of its functions; what it would print is kept, by thread, for error messages."""

    def __init__(self) -> None:
        try:
            self.functions = ctypes.CDLL(_LIBRARY, use_errno=True)
        except OSError as error:
            raise MissingRequirementError(
                f"{_LIBRARY} is not installed ({error}); "
                "on Debian 12 and Ubuntu 24.04 or later install it with: apt-get install libbpf1"
            ) from error
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self.functions, name)
            function.restype, function.argtypes = result, arguments
        self._format = ctypes.CDLL(None).vsnprintf
        self._format.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p)
        self._said = threading.local()
        self._print = _PRINT(self._keep)  # held here, because libbpf keeps only its address
        self.functions.libbpf_set_print(self._print)

    def _keep(self, level: int, pattern: bytes, arguments: int) -> int:
        # 2 is debugging chatter.
        if level < 2:
            text = ctypes.create_string_buffer(_LOG_BYTES)
            self._format(text, _LOG_BYTES, pattern, arguments)
            self._said.lines = (*getattr(self._said, "lines", ()), *text.value.decode(errors="replace").splitlines())
        return 0

    def begin(self) -> None:
        """Forget what was said before, in this thread."""
        self._said.lines = ()

    def last_lines(self) -> str:
        """The last lines that libbpf said, the verifier's reasons among them, in one."""
        lines = [line.strip() for line in getattr(self._said, "lines", ())]
        telling = [
            line for line in lines if line and not line.startswith(("processed ", "-- END", "libbpf: failed to"))
        ]
        return " | ".join(telling[-_LOG_LINES:])


_loaded: list[Library] = []
_loading = threading.Lock()


def library() -> Library:
    """The library, loaded once.

    Raises
    ------
    MissingRequirementError
        It is not installed.
    """
    with _loading:
        if not _loaded:
            _loaded.append(Library())
        return _loaded[0]


def reason(code: int) -> str:
    """Words for what a function of libbpf returned: a negative error number, or -1 with one beside."""
    number = abs(code) if code not in (0, -1) else ctypes.get_errno()
    hint = " (are you root?)" if number == errno.EPERM else ""
    return os.strerror(number) + hint
