"""Runs a stand-in for AWS as a process of this machine that listens on loopback only.

Usage: loopback.py localstack|ministack
"""

import ipaddress
import sys
import warnings

HOST = "127.0.0.1"


def refuse_other_addresses(event, arguments):
    """Whatever opens a socket, in whatever version, can bind it to loopback only."""
    if event != "socket.bind":
        return
    address = arguments[1]
    if not isinstance(address, tuple) or address[0] == "localhost":
        return
    if not address[0] or not ipaddress.ip_address(address[0]).is_loopback:
        raise PermissionError(f"bind {address!r}: only loopback is allowed here")


def localstack():
    # Its server leaves out the host of GATEWAY_LISTEN, and an endpoint without a host is open to every network.
    from twisted.internet import endpoints

    class Loopback(endpoints.TCP4ServerEndpoint):
        def __init__(self, reactor, port, backlog=50, interface=HOST):
            super().__init__(reactor, port, backlog, interface or HOST)

    endpoints.TCP4ServerEndpoint = Loopback

    # Its services use a name of Python 3.13, which 3.12 has elsewhere.
    if not hasattr(warnings, "deprecated"):
        from typing_extensions import deprecated

        warnings.deprecated = deprecated

    # Its objects lie in one folder for all that run on a machine. Without a name each gets a temporary one.
    from localstack.services.s3.storage.ephemeral import EphemeralS3ObjectStore

    init = EphemeralS3ObjectStore.__init__
    EphemeralS3ObjectStore.__init__ = lambda self, root_directory=None: init(self)

    from localstack.runtime.main import main

    main()


def ministack():
    from ministack.app import main

    main()


if __name__ == "__main__":
    sys.addaudithook(refuse_other_addresses)
    {"localstack": localstack, "ministack": ministack}[sys.argv.pop()]()
