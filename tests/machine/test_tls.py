"""TLS between two ends of one authority: who is let in, what is said of the others, and that files belong together."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from machine import tls
from machine.authority import files_of, make_certificates
from machine.tls import TlsFiles, handshake_error, has_identity, tls_context, use_identity
from mininet_topos.errors import BadInputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Certificates of two nodes; the process has no identity, before and after."""
    monkeypatch.setattr(tls, "_identity", [])
    made = make_certificates(tmp_path / "tls", ("controller", "s1"), days=1)
    assert (made.made, made.kept) == (("controller", "s1"), ())
    return tmp_path / "tls"


@contextlib.contextmanager
def served(context: ssl.SSLContext) -> Iterator[tuple[int, list[str]]]:
    """A TLS server on loopback that repeats one message; its port, and why it let somebody not in."""
    reasons: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _address = listener.accept()
        connection.settimeout(20)
        try:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.sendall(secured.recv(100))
        except OSError as error:
            reasons.append(handshake_error(error))
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], reasons
    finally:
        thread.join(30)
        listener.close()


def says(port: int, context: ssl.SSLContext | None) -> bytes:
    """What the server repeats."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        if context is None:
            plain.sendall(b"hello, in clear")
            return plain.recv(100)
        with context.wrap_socket(plain) as secured:
            secured.sendall(b"hello")
            return secured.recv(100)


def server_of(folder: Path) -> ssl.SSLContext:
    use_identity(files_of(folder, "controller"))
    return tls_context("the server", is_server=True)


def client_of(folder: Path, name: str = "s1") -> ssl.SSLContext:
    use_identity(files_of(folder, name))
    return tls_context("the client")


def test_two_ends_of_one_authority_talk(folder: Path) -> None:
    assert not has_identity()
    with served(server_of(folder)) as (port, reasons):
        assert says(port, client_of(folder)) == b"hello"
    assert (has_identity(), reasons) == (True, [])


def anonymous(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(folder / "authority.pem")
    return context


def of_another_authority(folder: Path) -> ssl.SSLContext:
    other = folder.parent / "other"
    make_certificates(other, ("s1",), days=1)
    files = files_of(other, "s1")
    context = anonymous(folder)
    context.load_cert_chain(files.certificate, files.private_key)
    return context


def expired(folder: Path) -> ssl.SSLContext:
    make_certificates(folder, ("old",), days=0)
    time.sleep(1.1)  # certificates count seconds
    return client_of(folder, "old")


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (anonymous, "the other end shows no certificate"),
        (of_another_authority, "certificate is refused: unable to get local issuer certificate"),
        (expired, "certificate is refused: certificate has expired"),
        (lambda _folder: None, "does not speak TLS"),
    ],
)
def test_the_reason_is_named_for_each_client_that_is_not_let_in(folder: Path, client, reason: str) -> None:  # type: ignore[no-untyped-def]
    with served(server_of(folder)) as (port, reasons), contextlib.suppress(OSError):
        assert says(port, client(folder)) == b""
    assert len(reasons) == 1
    assert reason in reasons[0]


def test_a_client_refuses_a_server_of_another_authority(folder: Path) -> None:
    other = folder.parent / "other"
    make_certificates(other, ("controller",), days=1)
    with served(server_of(other)) as (port, reasons), pytest.raises(ssl.SSLCertVerificationError) as refused:
        says(port, client_of(folder))
    assert "refused: self-signed certificate in certificate chain" in handshake_error(refused.value)
    assert "does not trust" in reasons[0]


def test_with_two_authorities_switches_let_the_controller_in_and_no_other_switch(folder: Path) -> None:
    switches = folder.parent / "switches"
    make_certificates(switches, ("s1", "s9"), days=1)

    def context(home: Path, name: str, trusted: Path, *, is_server: bool = False) -> ssl.SSLContext:
        use_identity(replace(files_of(home, name), ca_certificate=str(trusted / "authority.pem")))
        return tls_context("this end", is_server=is_server)

    server = context(switches, "s1", folder, is_server=True)
    with served(server) as (port, reasons):
        assert says(port, context(folder, "controller", switches)) == b"hello"
    assert reasons == []
    with served(server) as (port, reasons), contextlib.suppress(OSError):
        assert says(port, context(switches, "s9", switches)) == b""
    assert "certificate is refused" in reasons[0]


def test_without_an_identity_there_is_no_tls(folder: Path) -> None:
    assert folder.is_dir()
    with pytest.raises(BadInputError, match=r"ssl:10\.0\.0\.1:6640 needs an identity"):
        tls_context("ssl:10.0.0.1:6640")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"private_key": "controller.key"}, "no pair"),
        ({"certificate": "nowhere.pem"}, r"certificate '.*nowhere\.pem' cannot be read \(No such file"),
        ({"private_key": "authority.pem"}, "no pair"),
        ({"ca_certificate": "s1.key"}, "holds no certificate in PEM"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(folder: Path, change: dict[str, str], said: str) -> None:
    files = {"private_key": "s1.key", "certificate": "s1.pem", "ca_certificate": "authority.pem", **change}
    with pytest.raises(BadInputError, match=said):
        use_identity(TlsFiles(**{name: str(folder / file) for name, file in files.items()}))
    assert not has_identity()


def test_keys_are_for_their_owner_alone_and_what_is_there_is_kept(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.glob("*.key"))
    made = make_certificates(folder, ("controller", "s1", "s2"), days=1)
    assert (made.made, made.kept) == (("s2",), ("controller", "s1"))
    assert {name: (folder / name).read_bytes() for name in before} == before
    with pytest.raises(BadInputError, match="cannot be called 'authority'"):
        make_certificates(folder, ("authority",), days=1)
