"""The explorer's server lets its own user in alone, and survives what others do to it."""

import http.client
import json
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest

from hne.cli import main
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError
from hne.explorer.server import Explorer
from tests.explorer.conftest import read_frames, rolled

JSON = {"Content-Type": "application/json"}


class Asked:
    """Requests by hand to a server, known by its address."""

    def __init__(self, told):
        self.port = told["port"]
        self.token = parse_qs(urlsplit(told["address"]).query)["token"][0]

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def call(self, kind, payload, **headers):
        headers = {"X_Hne_Token": self.token, **headers}
        return self.ask("POST", f"/api/{kind}", json.dumps(payload), **headers)

    def frames(self, kind, payload):
        answer, content = self.call(kind, payload)
        assert answer.status == 200
        return read_frames(content)


class Served(Asked):
    """A server in a thread, and requests to it by hand."""

    def __init__(self, session):
        self.explorer, self.session = Explorer(session), session
        super().__init__({"port": self.explorer.port, "address": self.explorer.address})
        self.thread = threading.Thread(target=self.explorer.run, daemon=True)
        self.thread.start()

    def close(self):
        self.explorer.stop()
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def served():
    one = Served(rolled(200))
    yield one
    one.close()


def test_the_page_and_a_call_are_answered_to_the_one_who_has_the_token(served):
    answer, content = served.ask("GET", f"/?token={served.token}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert b"<title>" in content
    assert served.token.encode() not in content
    *_, (told, _) = served.frames("open", {})
    assert told["type"] == "done"
    *progress, (found, buffers) = served.frames("embed", {"request": told["start"], "after": None})
    assert {facts["type"] for facts, _ in progress} == {"progress"}
    assert found["type"] == "done"
    assert [len(one) for one in buffers] == found["buffers"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/?token="), ("GET", "/?token=wrong"), ("POST", "/api/open"), ("PUT", "/")],
)
def test_without_its_token_nobody_is_let_in(served, method, path):
    for headers in ({}, {"X_Hne_Token": "wrong"}, {"X_Hne_Token": ""}, {"Cookie": f"token={served.token}"}):
        answer, content = served.ask(method, path, "{}" if method == "POST" else None, **headers)
        assert answer.status == 403
        assert b"token" in content
    # In an address, where logs and other pages might see it, a call's token does not count.
    assert served.ask("POST", f"/api/open?token={served.token}", "{}")[0].status == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "127.0.0.1:{port}.evil",
        "[::1]:{port}",
    ],
)
def test_other_host_names_are_refused_even_with_the_token(served, host):
    answer, _ = served.ask("GET", f"/?token={served.token}", Host=host.format(port=served.port))
    assert answer.status == 421
    assert served.call("open", {}, Host=host.format(port=served.port))[0].status == 421


def test_localhost_is_its_name_too(served):
    assert served.ask("GET", f"/?token={served.token}", Host=f"localhost:{served.port}")[0].status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", ""]
)
def test_other_origins_are_refused_even_with_the_token(served, origin):
    assert served.call("open", {}, Origin=origin.format(port=served.port))[0].status == 403


def test_its_own_origin_is_let_in_and_no_other_page_of_the_browser(served):
    own = f"http://127.0.0.1:{served.port}"
    assert served.call("open", {}, Origin=own, Sec_Fetch_Site="same-origin")[0].status == 200
    for site in ("cross-site", "same-site"):
        assert served.call("open", {}, Origin=own, Sec_Fetch_Site=site)[0].status == 403
    answer, _ = served.ask("OPTIONS", "/api/open", Origin="http://evil.example", Access_Control_Request_Method="POST")
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/../server.py",
        "/api/../api/open",
        "/api/%2e%2e%2fopen",
        "//etc/passwd",
        "/api/open/..",
        "/.",
        "/api/",
    ],
)
def test_paths_with_dots_lead_nowhere(served, path):
    for method in ("GET", "POST"):
        sep = "&" if "?" in path else "?"
        answer, content = served.ask(method, f"{path}{sep}token={served.token}", "{}", X_Hne_Token=served.token)
        assert answer.status in {404, 405}
        assert b"root:" not in content
        assert b"import" not in content


def raw(port, head, body=b"", limit=10**7):
    """Send bytes as they are, as many as the server takes, and return what it says."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head)
        sent = 0
        try:
            while sent < limit and body:
                connection.sendall(body)
                sent += len(body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        connection.settimeout(60)
        try:
            return connection.recv(4096), sent
        except ConnectionResetError:
            return b"reset", sent


def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(served):
    head = (
        f"POST /api/open HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Hne-Token: {served.token}\r\n"
        f"Content-Length: {2**30}\r\n\r\n"
    ).encode()
    answer, sent = raw(served.port, head, b"x" * 2**16, limit=2**30)
    assert sent < 2**28
    assert answer == b"reset" or answer.startswith(b"HTTP/1.1 413")
    assert served.frames("open", {})[-1][0]["type"] == "done"


def test_a_body_in_endless_chunks_is_refused_at_the_limit(served):
    head = (
        f"POST /api/open HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Hne-Token: {served.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    answer, sent = raw(served.port, head, chunk, limit=2**30)
    assert sent < 2**28
    assert answer == b"reset" or answer.startswith(b"HTTP/1.1 400")
    assert served.frames("open", {})[-1][0]["type"] == "done"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1,2", b"nothing", b"\xff\xfe", b"[" * 100_000, b"NaN", b'{"request": 1e999}']
)
def test_a_body_that_is_no_call_is_one_error(served, body):
    answer, content = served.ask("POST", "/api/embed", body, X_Hne_Token=served.token)
    if answer.status == 200:
        ((facts, _),) = [frame for frame in read_frames(content) if frame[0]["type"] != "progress"]
        assert facts["type"] == "error"
        assert facts["text"].endswith(".")
    else:
        assert answer.status == 400
        assert "JSON" in json.loads(content)["text"]


@pytest.mark.parametrize(
    "head",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"\x00" * 4096,
        b"GET /" + b"a" * 200_000,
    ],
)
def test_what_is_no_http_is_refused_and_survived(served, head):
    answer, _ = raw(served.port, head)
    assert answer in {b"", b"reset"} or answer.startswith(b"HTTP/1.1 4")
    assert served.frames("open", {})[-1][0]["type"] == "done"


def test_an_error_of_a_call_is_its_last_frame_and_names_the_parameter(served):
    *_, (facts, _) = served.frames("embed", {"request": {"parameters": {"n_neighbors": 900}}, "after": None})
    assert facts["type"] == "error"
    assert facts["parameter"] == "n_neighbors"
    assert "needs at least 901 samples" in facts["text"]
    answer, content = served.call("nothing", {})
    assert answer.status == 404
    assert "nothing" in json.loads(content)["text"]


def test_two_hundred_calls_at_once_are_answered_or_refused_and_the_server_goes_on(served):
    start = served.frames("open", {})[-1][0]["start"]

    def one(number):
        request = start | {"parameters": start["parameters"] | {"n_neighbors": 5 + number % 7}}
        try:
            answer, content = served.call("embed", {"request": request, "after": None})
        except (ConnectionError, http.client.HTTPException):
            return "closed"
        return read_frames(content)[-1][0]["type"] if answer.status == 200 else answer.status

    with ThreadPoolExecutor(200) as threads:
        outcomes = list(threads.map(one, range(200)))
    assert set(outcomes) <= {"done", 503, "closed"}
    assert outcomes.count("done") >= 8
    assert served.frames("open", {})[-1][0]["type"] == "done"


def test_a_tab_that_is_closed_in_the_middle_of_a_fit_ends_the_fit(served, monkeypatch):
    begun, left = threading.Event(), threading.Event()
    whole = served.session.embed

    def slow(payload, cancelled):
        begun.set()
        if cancelled.wait(60):
            left.set()
        return whole(payload, cancelled)

    monkeypatch.setitem(served.session.calls, "embed", slow)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        body = b'{"request": {}, "after": null}'
        head = f"POST /api/embed HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Hne-Token: {served.token}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert begun.wait(30)
    assert left.wait(30)
    monkeypatch.undo()
    assert served.frames("open", {})[-1][0]["type"] == "done"


def test_an_error_that_nobody_expected_is_told_and_survived(served, monkeypatch, caplog):
    monkeypatch.setitem(served.session.calls, "contrast", lambda payload, cancelled: 1 / 0)
    *_, (facts, _) = served.frames("contrast", {})
    assert facts["type"] == "error"
    assert facts["text"].startswith("Unexpected ZeroDivisionError")
    assert "unexpected error" in caplog.text
    assert served.frames("open", {})[-1][0]["type"] == "done"


def test_two_explorers_have_ports_and_tokens_of_their_own(served):
    other = Served(rolled(60))
    try:
        assert other.port != served.port
        assert other.token != served.token
        assert other.frames("open", {})[-1][0]["n"] == 60
        assert served.frames("open", {})[-1][0]["n"] == 200
        assert other.call("open", {}, X_Hne_Token=served.token)[0].status == 403
        assert other.call("open", {}, Origin=f"http://127.0.0.1:{served.port}")[0].status == 403
    finally:
        other.close()


def test_it_listens_on_this_machine_alone(served):
    assert served.explorer._socket.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_an_error_that_says_so(served):
    with pytest.raises(InputError, match="port must be free") as caught:
        Explorer(served.session, served.port)
    assert caught.value.parameter == "port"


# The command as its user runs it.


@pytest.fixture
def roll_file(tmp_path):
    roll = make_swiss_roll(120, random_state=0)
    path = tmp_path / "roll.csv"
    np.savetxt(path, roll.X, delimiter=",", header="a,b,c", comments="")
    return path


def start_command(*words, cwd):
    command = [sys.executable, "-m", "hne", "explore", *map(str, words), "--no-browser", "--json"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, start_new_session=True
    )


def ended(process, number):
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def answers(port, token):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/api/embed", '{"request": {}, "after": null}', {"X-Hne-Token": token, **JSON})
    frames = read_frames(connection.getresponse().read())
    connection.close()
    return frames[-1][0]


def test_the_command_serves_until_ctrl_c_and_leaves_nothing_behind(roll_file, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    before = sorted(tmp_path.iterdir())
    process = start_command(roll_file, "-k", 8, "--cut-edges", "1-2", cwd=tmp_path)
    told = json.loads(process.stdout.readline())
    token = parse_qs(urlsplit(told["address"]).query)["token"][0]
    found = answers(told["port"], token)
    assert found["settings"]["n_neighbors"] == 8
    assert found["request"]["cut"] == [[0, 1]]
    assert found["command"].startswith(f"hne embed {roll_file}")
    assert "--cut-edges 1-2" in found["command"]
    status, _, err = ended(process, signal.SIGINT)
    assert status == 0
    assert "Traceback" not in err
    assert sorted(tmp_path.iterdir()) == before
    assert list(scratch.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", told["port"]), timeout=5)


def test_the_command_ends_in_the_middle_of_a_fit_too(roll_file, tmp_path):
    big = tmp_path / "big.csv"
    np.savetxt(big, np.random.default_rng(0).normal(size=(15_000, 12)), delimiter=",")
    process = start_command(big, "-k", 25, "--variant", "bhne", cwd=tmp_path)
    told = json.loads(process.stdout.readline())
    token = parse_qs(urlsplit(told["address"]).query)["token"][0]
    with socket.create_connection(("127.0.0.1", told["port"]), timeout=60) as connection:
        body = '{"request": {}, "after": null}'
        head = f"POST /api/embed HTTP/1.1\r\nHost: 127.0.0.1:{told['port']}\r\nX-Hne-Token: {token}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)
        status, _, err = ended(process, signal.SIGINT)
    assert status == 0
    assert "Traceback" not in err


def test_the_command_names_columns_and_the_color_as_shortly_as_it_can(tmp_path):
    X = make_swiss_roll(40, random_state=0).X
    frame = pd.DataFrame(np.hstack([X, X[:, :2] + 1]), columns=["a", "b, c", "d", "e", "f"])
    frame["kind"] = ["x", "y"] * 20
    frame.to_csv(tmp_path / "table.csv", index=False)
    process = start_command("table.csv", "-k", 8, cwd=tmp_path)
    told = json.loads(process.stdout.readline())
    served = Asked(told)

    def command(**wanted):
        color = wanted.pop("color", None)
        return served.frames("lines", {"request": wanted, "color": color})[-1][0]["command"]

    features = ["a", "b, c", "d", "e", "f"]
    try:
        assert command() == "hne embed table.csv -k 8 --variant ihne --report map.html"
        assert "--color kind" in command(color="kind")
        assert "--drop 'b,, c'" in command(columns=[name for name in features if name != "b, c"])
        assert "--columns a,e" in command(columns=["a", "e"])
        # A feature to color by stays one where all are named; one that takes no part need not be dropped.
        assert "--columns 'a,b,, c,d,e,f' --color a" in command(color="a")
        left = command(color="a", columns=features[1:])
        assert "--color a" in left
        assert "--drop" not in left
        assert "nobody" not in command(color="nobody")
        for words in (command(color="a"), left, command(columns=["a", "e"], color="d")):
            again = shlex.split(words.replace("--report map.html", "-o map.npy --force"))
            subprocess.run([sys.executable, "-m", *again], check=True, capture_output=True, cwd=tmp_path)
    finally:
        ended(process, signal.SIGINT)


def test_another_signal_has_its_own_status(roll_file, tmp_path):
    process = start_command(roll_file, cwd=tmp_path)
    json.loads(process.stdout.readline())
    status, _, err = ended(process, signal.SIGTERM)
    assert status == 128 + signal.SIGTERM
    assert "Traceback" not in err


def test_the_command_that_a_page_gives_makes_the_same_coordinates(roll_file, tmp_path):
    process = start_command(roll_file, "--scale", "standard", "-k", 7, cwd=tmp_path)
    told = json.loads(process.stdout.readline())
    found = answers(told["port"], parse_qs(urlsplit(told["address"]).query)["token"][0])
    ended(process, signal.SIGINT)
    words = found["command"].replace("--report map.html", "-o map.npy").split()
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True, cwd=tmp_path)
    names = {}
    exec(found["python"], names)
    assert np.array_equal(np.load(Path(tmp_path) / "map.npy"), names["Y"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nobody.csv"], "cannot read 'nobody.csv': no such file"),
        (["roll.csv", "--port", "70000"], "must be a number from 0 to 65535"),
        (["roll.csv", "-k", "900"], "needs at least 901 samples"),
        (["roll.csv", "--auto"], "must be a value to begin with"),
        (["roll.csv", "--cut-edges", "1-999"], "must be rows that are embedded"),
        (["roll.csv", "--columns", "z"], "has no such column"),
    ],
)
def test_bad_input_is_one_line_and_no_server(roll_file, words, told):
    process = start_command(*words, cwd=roll_file.parent)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert told in err.splitlines()[-1]
    assert out == ""


def test_without_its_libraries_the_command_says_what_to_install(roll_file, monkeypatch, capsys):
    monkeypatch.setattr("hne.cli.talk.find_spec", lambda name: None)
    assert main(["explore", str(roll_file)]) == 2
    told = capsys.readouterr().err
    assert "hne explore needs starlette, got none installed. Run: pip install 'hne[explore]'." in told
