"""Addresses that are nobody's model: those of the link, and those where clouds hand out a machine's own credentials.

A host is judged as it is written, in whatever form addresses can be written, and once more when it was reached, since a
name may lead anywhere.
"""

from __future__ import annotations

import http.client
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_NAMES = frozenset(
    """metadata metadata.google.internal metadata.goog metadata.azure.internal metadata.tencentyun.com instance-data
    instance-data.ec2.internal""".split()
)
_OTHERS = frozenset(  # where clouds answer beside the link's own addresses
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
_NAT64, _COMPATIBLE = ip_network("64:ff9b::/96"), ip_network("::/96")


class ClosedAddress(OSError):
    """The address is of this link, or of a cloud's own service."""


class Plain(http.client.HTTPConnection):
    """A connection that is closed again when it led to such an address."""

    def connect(self) -> None:
        super().connect()
        _check_peer(self)


class Secure(http.client.HTTPSConnection):
    """The same with TLS."""

    def connect(self) -> None:
        super().connect()
        _check_peer(self)


def is_closed(host: str) -> bool:
    """Whether a host, as it stands in an address, is one of those."""
    name = host.casefold().rstrip(".")
    found = _read(name)
    return name in _NAMES if found is None else _is_closed(found)


def _check_peer(connection: http.client.HTTPConnection) -> None:
    assert connection.sock is not None
    peer = connection.sock.getpeername()
    if isinstance(peer, tuple) and is_closed(peer[0]):
        connection.close()
        raise ClosedAddress


def _read(host: str) -> IPv4Address | IPv6Address | None:
    """The address a host is, if it is one: also as one number, in octal, or with a zone."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _is_closed(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        within = _within(address)
        if within is not None:
            return _is_closed(within)
    closed = address.is_link_local or address.is_multicast or address.is_unspecified or address in _OTHERS
    return closed or address == IPv4Address("255.255.255.255")


def _within(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
