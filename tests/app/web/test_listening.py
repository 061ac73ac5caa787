"""Where the page listens, and under which name."""

import socket

import pytest

from likewise import InputError
from likewise.app.web.listening import open_place, outward_address, resolves_to_here


def has_version_six():
    """Whether this machine has the loopback address of version 6."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_a_random_name_is_taken_where_the_system_finds_it():
    """Cookies are kept by name: under its own, the page shares them with nobody."""
    with (
        open_place("127.0.0.1", 0, lambda name: True) as one,
        open_place("127.0.0.1", 0, lambda name: True) as two,
        open_place("127.0.0.1", 0, lambda name: False) as three,
    ):
        assert one.name.startswith("likewise-") and one.name.endswith(".localhost")
        assert one.name != two.name
        assert three.name == "127.0.0.1"
        assert one.name in one.names and one.name not in two.names


def test_a_name_is_served_on_both_loopback_addresses():
    """A browser tries ::1 first: nobody else may listen there."""
    with open_place("photos.localhost", 0) as place:
        hosts = {one.getsockname()[0] for one in place.sockets}
        ports = {one.getsockname()[1] for one in place.sockets}

    assert hosts == ({"127.0.0.1", "::1"} if has_version_six() else {"127.0.0.1"})
    assert len(ports) == 1


@pytest.mark.skipif(not has_version_six(), reason="This machine has no ::1.")
def test_where_somebody_listens_on_the_other_loopback_address_no_name_is_used():
    """The token would go to them."""
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as other:
        other.bind(("::1", 0))
        other.listen()
        with open_place("photos.localhost", other.getsockname()[1]) as place:
            assert place.name == "127.0.0.1"


def test_names_that_lead_elsewhere_or_nowhere_do_not_count():
    """Only the loopback addresses are here."""
    assert resolves_to_here("localhost")
    assert not resolves_to_here("no-such-name.invalid")
    assert not resolves_to_here("192.0.2.7")


def test_on_all_addresses_the_printed_one_can_be_opened_by_others():
    """What others cannot open is printed only where there is nothing else."""
    with open_place("0.0.0.0", 0) as place:
        assert place.name == outward_address("0.0.0.0") != "0.0.0.0"
        with socket.create_connection((place.name, place.port), timeout=30) as opened:
            assert opened.getpeername()[0] == place.name


def test_a_port_that_is_taken_is_a_sentence():
    """The one that was wished for, by name."""
    with open_place("127.0.0.1", 0, lambda name: False) as place:
        with pytest.raises(InputError, match=f"Cannot listen on .*:{place.port}: "):
            open_place("127.0.0.1", place.port, lambda name: False)
