"""Who is let in: a table of requests and outcomes."""

import asyncio

import httpx
import pytest

from likewise.app.web.guard import HEADERS, MAX_BODY, Guard, Sessions, address

PORT = 8765
HOME = f"127.0.0.1:{PORT}"
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


def call(guard, method="GET", path="/", headers=None, content=None):
    """One request to the guard."""

    async def go():
        transport = httpx.ASGITransport(guard, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport) as client:
            given = {"host": HOME, **(headers or {})}
            return await client.request(
                method, f"http://{HOME}{path}", headers=given, content=content
            )

    return asyncio.run(go())


@pytest.fixture
def sessions():
    return Sessions(["ada"])


@pytest.fixture
def guard(sessions):
    return Guard(echo, sessions, "127.0.0.1", PORT)


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
    assert first.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/")
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
    other = Guard(echo, Sessions(["bo"]), "127.0.0.1", PORT)

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
                f"http://{HOME}/", headers=headers, content=endless()
            )

    reply = asyncio.run(go())

    assert reply.status_code == 413
    assert sent <= MAX_BODY + 2 * 65536


def test_every_response_is_dressed(guard, cookie):
    """A strict policy, on what is refused too."""
    for reply in (call(guard, headers=cookie), call(guard)):
        for name, value in HEADERS.items():
            assert reply.headers[name] == value
        assert reply.headers["cache-control"] == "no-store"
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_guests_have_names_of_their_own(guard, sessions):
    """The first browser has the given name, later ones are guests."""
    names = []
    for _ in range(3):
        reply = call(guard, path=f"/?token={sessions.invite()}")
        cookie = {"cookie": reply.headers["set-cookie"].split(";")[0]}
        names.append(call(guard, headers=cookie).text)

    assert names == ["ada 0", "guest 1 0", "guest 2 0"]


@pytest.mark.parametrize(
    ("host", "given", "is_ours"),
    [
        ("0.0.0.0", f"192.168.1.7:{PORT}", True),
        ("0.0.0.0", f"evil.example:{PORT}", False),
        ("192.168.1.7", f"192.168.1.7:{PORT}", True),
        ("192.168.1.7", f"192.168.1.8:{PORT}", False),
        ("mybox.local", f"mybox.local:{PORT}", True),
        ("mybox.local", f"MYBOX.local:{PORT}", True),
    ],
)
def test_where_it_listens_decides_which_names_are_ours(host, given, is_ours):
    """On all addresses, a bare address is fine; a name could be anybody's."""
    guard = Guard(echo, Sessions([]), host, PORT)

    assert guard.is_our_host(given) is is_ours


def test_the_printed_address_can_be_opened():
    """Also where it listens on all addresses, or on one of version 6."""
    assert address("127.0.0.1", 1, "t") == "http://127.0.0.1:1/?token=t"
    assert address("0.0.0.0", 1, "t") == "http://127.0.0.1:1/?token=t"
    assert address("::1", 1, "t") == "http://[::1]:1/?token=t"
