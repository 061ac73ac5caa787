"""Who is let in: a table of requests and outcomes."""

import asyncio

import httpx
import pytest

from likewise import InputError
from likewise.app.web.guard import HEADERS, MAX_BODY, NOTHING, Guard, address
from likewise.app.web.listening import open_place
from likewise.app.web.sessions import Sessions

PORT = 8765
HOME = f"127.0.0.1:{PORT}"
KEY = "a-secret-path"
NAMES = {"127.0.0.1", "localhost", "::1"}
OWN = {"origin": f"http://{HOME}"}


async def echo(scope, receive, send):
    """An application that reads all and says who it thinks is there."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    name = scope["state"]["annotator"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"{name} {len(body)}".encode()})


def call(guard, method="GET", path="/", headers=None, content=None, key=KEY):
    """One request to the guard."""
    below = f"/{key}" if key else ""

    async def go():
        transport = httpx.ASGITransport(guard, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport) as client:
            given = {"host": HOME, **(headers or {})}
            return await client.request(
                method, f"http://{HOME}{below}{path}", headers=given, content=content
            )

    return asyncio.run(go())


@pytest.fixture
def sessions():
    return Sessions(["ada"])


@pytest.fixture
def guard(sessions):
    return Guard(echo, sessions, NAMES, PORT, KEY)


@pytest.fixture
def cookie(guard, sessions):
    """The cookie of a browser that was let in."""
    reply = call(guard, path=f"/?token={sessions.invite()}")
    return {"cookie": reply.headers["set-cookie"].split(";")[0]}


def test_a_token_works_once(guard, sessions):
    """It becomes a cookie that no script reads and no other site sends."""
    token = sessions.invite()

    first = call(guard, path=f"/?token={token}")
    second = call(guard, path=f"/?token={token}")

    assert (first.status_code, second.status_code) == (200, 403)
    assert first.headers["set-cookie"].startswith(f"likewise_{PORT}=")
    assert first.headers["set-cookie"].endswith(
        f"; HttpOnly; SameSite=Strict; Path=/{KEY}/"
    )
    assert token not in first.headers["set-cookie"]
    assert "set-cookie" not in second.headers


# method, path, headers beyond the cookie, status
REQUESTS = [
    ("GET", "/", {}, 200),
    ("HEAD", "/", {}, 200),
    ("GET", "/", {"host": f"localhost:{PORT}"}, 200),
    ("GET", "/", {"host": f"[::1]:{PORT}"}, 200),
    ("GET", "/", {"host": f"evil.example:{PORT}"}, 403),  # DNS rebinding
    ("GET", "/", {"host": "127.0.0.1"}, 403),  # another port
    ("GET", "/", {"host": f"127.0.0.1:{PORT}.evil.example"}, 403),
    ("GET", "/", {"host": f"127.0.0.1.evil.example:{PORT}"}, 403),
    ("GET", "/", {"host": "127.0.0.1:x"}, 403),
    ("GET", "/", {"host": ""}, 403),
    ("POST", "/", {}, 403),  # neither Origin nor Sec-Fetch-Site
    ("POST", "/", OWN, 200),
    ("POST", "/", {"sec-fetch-site": "same-origin"}, 200),
    ("POST", "/", {"sec-fetch-site": "same-origin", **OWN}, 200),
    ("POST", "/", {"sec-fetch-site": "cross-site", **OWN}, 403),
    ("POST", "/", {"sec-fetch-site": "same-site"}, 403),  # another port of this machine
    ("POST", "/", {"sec-fetch-site": "none"}, 403),
    ("POST", "/", {"origin": "http://evil.example"}, 403),  # CSRF
    ("POST", "/", {"origin": f"https://{HOME}"}, 403),
    ("POST", "/", {"origin": "null"}, 403),
    ("POST", "/", {"origin": f"http://127.0.0.1:{PORT + 1}"}, 403),
    ("PUT", "/api/x", {}, 403),
    ("DELETE", "/api/x", {}, 403),
    ("POST", "/", {**OWN, "content-length": str(MAX_BODY + 1)}, 413),
    ("POST", "/", {**OWN, "content-length": "-1"}, 413),
    ("POST", "/", {**OWN, "content-length": "many"}, 413),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), REQUESTS)
def test_the_table(guard, cookie, method, path, headers, status):
    """With the right cookie, host, origin and size decide."""
    reply = call(guard, method, path, {**cookie, **headers})

    assert reply.status_code == status
    if status == 403 and path.startswith("/api"):
        assert reply.json() == {
            "ok": False,
            "error": "Only the page itself may send answers.",
        }


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cookie": f"likewise_{PORT}="},
        {"cookie": f"likewise_{PORT}=guess"},
        {"cookie": "likewise_1=guess"},
        {"cookie": ";;;=\x7f"},
        {"authorization": "Bearer x"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/page.js", "/api/question", "/?token="])
def test_strangers_see_nothing(guard, headers, path):
    """Without the cookie every address gives the same refusal."""
    reply = call(guard, path=path, headers=headers)

    assert reply.status_code == 403
    assert "Open the address printed in the terminal." in reply.text


def test_a_cookie_of_one_project_does_not_open_another(guard, cookie):
    """Two runs have two sets of sessions, and two names for the cookie."""
    other = Guard(echo, Sessions(["bo"]), NAMES, PORT, KEY)

    assert call(guard, headers=cookie).text == "ada 0"
    assert call(other, headers=cookie).status_code == 403


def test_a_body_that_grows_beyond_the_limit_is_cut_off(guard, cookie):
    """A stream that says nothing of its size does not fill the memory."""
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 20 * MAX_BODY:
            sent += 65536
            yield b"x" * 65536

    async def go():
        transport = httpx.ASGITransport(guard, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport) as client:
            headers = {"host": HOME, **cookie, **OWN}
            return await client.post(
                f"http://{HOME}/{KEY}/", headers=headers, content=endless()
            )

    reply = asyncio.run(go())

    assert reply.status_code == 413
    assert sent <= MAX_BODY + 2 * 65536


def test_every_response_is_dressed(guard, cookie):
    """A strict policy, on what is refused too; scripts from one folder alone."""
    admitted, refused = call(guard, headers=cookie), call(guard)

    for name, value in HEADERS.items():
        assert refused.headers[name] == value
        if name != "content-security-policy":
            assert admitted.headers[name] == value
    assert refused.headers["content-security-policy"] == NOTHING
    policy = admitted.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert f"script-src http://{HOME}/{KEY}/static/" in policy
    assert not any("unsafe" in rule or "*" in rule for rule in policy)


@pytest.mark.parametrize("key", ["", "another-path", KEY[:-1], KEY + "x"])
@pytest.mark.parametrize("path", ["/", "/api/question", "/static/page.js"])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_a_stolen_cookie_alone_does_nothing(guard, cookie, key, path, method):
    """Another program has the cookie and says what it likes, but not the path."""
    forged = {**cookie, **OWN, "sec-fetch-site": "same-origin"}

    assert call(guard, method, path, forged).status_code == 200
    assert call(guard, method, path, forged, key=key).status_code == 403


def test_cookies_set_by_others_do_not_hide_ours(guard, cookie):
    """Any server on this machine can set a cookie of the same name beside ours."""
    ours = cookie["cookie"]
    forged = f"likewise_{PORT}=forged"

    for header in (f"{forged}; {ours}", f"{ours}; {forged}", f'x="; {ours}'):
        assert call(guard, headers={"cookie": header}).text == "ada 0"


def test_the_printed_address_works_again_in_the_same_browser(guard, sessions):
    """With its cookie it leads to the page; without, it opens nothing."""
    path = f"/?token={sessions.invite()}"
    first = call(guard, path=path)
    cookie = {"cookie": first.headers["set-cookie"].split(";")[0]}

    again = call(guard, path=path, headers=cookie)

    assert (again.status_code, again.text) == (200, first.text)
    assert "set-cookie" not in again.headers
    assert call(guard, path=path).status_code == 403


def test_a_look_at_the_address_does_not_use_it_up(guard, sessions):
    """Programs that preview addresses ask with HEAD; then the person comes."""
    path = f"/?token={sessions.invite()}"

    looked = call(guard, "HEAD", path)

    assert (looked.status_code, "set-cookie" in looked.headers) == (200, False)
    assert "set-cookie" in call(guard, path=path).headers
    assert call(guard, "HEAD", path).status_code == 403


def test_guests_have_names_of_their_own(guard, sessions):
    """The first browser has the given name, later ones are guests."""
    names = []
    for _ in range(3):
        reply = call(guard, path=f"/?token={sessions.invite()}")
        cookie = {"cookie": reply.headers["set-cookie"].split(";")[0]}
        names.append(call(guard, headers=cookie).text)

    assert names == ["ada 0", "guest 1 0", "guest 2 0"]


def test_nobody_takes_the_name_of_another():
    """Under it, the answers of the other could be taken back, in any case or width."""
    sessions = Sessions(["ada", "bo"], lambda: {"ada", "Eve", "guest 1"})
    ada, bo, guest = (sessions.exchange(sessions.invite()) for _ in range(3))

    assert sessions.annotator(guest) == "guest 2"  # guest 1 was in an earlier run
    for name in ("ada", "Bo", "eve", "guest 1", "\uff41\uff44\uff41"):
        with pytest.raises(InputError, match=f"Somebody else answers as '{name}'"):
            sessions.rename(guest, name)
    sessions.rename(guest, "Cy")
    with pytest.raises(InputError, match="Somebody else answers as 'CY'"):
        sessions.rename(ada, "CY")
    sessions.rename(guest, "guest 2")  # one's own name of before
    sessions.rename(ada, "Eve")  # who started the server has come back
    assert [sessions.annotator(one) for one in (ada, bo, guest)] == [
        "Eve",
        "bo",
        "guest 2",
    ]


@pytest.mark.parametrize(
    ("host", "given", "is_ours"),
    [
        ("0.0.0.0", "192.168.1.7", True),
        ("0.0.0.0", "evil.example", False),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "192.168.1.8", False),
        ("photos.localhost", "photos.localhost", True),
        ("photos.localhost", "PHOTOS.localhost", True),
        ("photos.localhost", "other.localhost", False),
        ("photos.localhost", "127.0.0.1", True),
    ],
)
def test_where_it_listens_decides_which_names_are_ours(host, given, is_ours):
    """On all addresses, a bare address is fine; a name could be anybody's."""
    with open_place(host, 0) as place:
        guard = Guard(
            echo, Sessions([]), place.names, place.port, KEY, is_open=place.is_open
        )

        assert guard.is_our_host(f"{given}:{place.port}") is is_ours


def test_the_printed_address_can_be_opened():
    """Also on an address of version 6."""
    assert address("127.0.0.1", 1, "k", "t") == "http://127.0.0.1:1/k/?token=t"
    assert address("::1", 1, "k", "t") == "http://[::1]:1/k/?token=t"
