"""The app without a browser: its calls for programs, its limits, its sessions, and whether it is ready to be a Hugging Face Space."""
import importlib.metadata as metadata, json, os, pickle, random, re, subprocess, sys, threading, time, zipfile
from pathlib import Path

import gradio_client, numpy as np, pandas as pd, psutil, pytest, yaml
from gradio_client import handle_file
from gradio_client.exceptions import AppError
from hub_server import Hub, Repo

from app_server import ROOT, run_app
from cdmd_nb import Synthesizer
from cdmd_nb.metrics import _example
from cdmd_nb.session import Limits, Plan, Session, Sessions


class Client(gradio_client.Client):
    "A program that does not wait for ever."
    def predict(self, *args, **how): return self.submit(*args, **how).result(timeout=200)


def people(n: int = 120, seed: int = 0) -> pd.DataFrame: return _example(n, seed)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    "A small network that has seen another table, saved."
    return Synthesizer("tiny").fit(people(60, 7), name="Others", steps=5, show=False).save(tmp_path_factory.mktemp("checkpoints") / "small-one")


@pytest.fixture(scope="module")
def server(tmp_path_factory, checkpoint):
    with run_app(tmp_path_factory.mktemp("app"), CDMD_CHECKPOINT=str(checkpoint), CDMD_MAX_MINUTES="0.05", CDMD_MAX_MB="3", CDMD_MAX_ROWS="5000",
                 CDMD_MAX_COLUMNS="30") as s: yield s


@pytest.fixture
def client(server):
    before, c = len(server.log), Client(server.url, verbose=False)
    yield c
    c.close()
    assert "Traceback" not in server.log[before:], server.log[-4000:]


def refused(call, *args, **kwargs) -> str:
    "The sentence that a call is refused with."
    with pytest.raises(AppError) as e: call(*args, **kwargs)
    said = str(e.value)
    assert "Traceback" not in said and 'File "' not in said and "\n" not in said.strip()
    return said


def test_calls_for_programs(client, table, tmp_path):
    ask = client.predict
    found = ask(handle_file(table), "People of a town", "Who buys what", api_name="/open_table")
    assert found["name"] == "People of a town" and found["rows"] == 120 and [c["name"] for c in found["columns"]] == list(people())
    assert "cannot be numerical" in refused(ask, "work", "numerical", api_name="/set_type")
    assert "no column" in refused(ask, "nobody", "numerical", api_name="/set_type")
    changed = ask("price", "categorical", api_name="/set_type")
    assert next(c for c in changed["columns"] if c["name"] == "price")["type"] == "categorical"
    ask("price", "ignored", api_name="/set_type")
    assert ask("buys", api_name="/set_target")["target"] == "buys"
    assert "first" in refused(ask, 10, 0, None, api_name="/generate")
    done = ask("", 0, 3, api_name="/fit")
    assert done["stopped"] == "budget" and done["steps"] > 0
    assert "not a value of 'work'" in refused(ask, 10, 0, {"work": "astronaut"}, api_name="/generate")
    made = pd.read_csv(ask(40, 5, {"work": "self", "buys": "True"}, api_name="/generate"))
    assert len(made) == 40 and list(made) == list(people()) and set(made.work) == {"self"} and set(made.buys) == {True}
    ask(60, 0, None, api_name="/generate")
    scores = ask(api_name="/compare")
    assert scores["rows"] == {"train": 96, "test": 24, "synthetic": 60} and 0 <= scores["summary"]["S"] <= 100
    files = {kind: Path(ask(kind, api_name="/download")) for kind in ("csv", "parquet", "html", "zip", "py")}
    assert len(pd.read_parquet(files["parquet"])) == 60 and "<html" in files["html"].read_text()[:200]
    zipfile.ZipFile(files["zip"]).extractall(tmp_path / "model")
    again = Synthesizer.from_pretrained(tmp_path / "model").sample(60, seed=0)
    pd.testing.assert_frame_equal(pd.read_csv(files["csv"]), again.pipe(lambda d: pd.read_csv(_csv(d, tmp_path))))
    assert "only csv" in refused(ask, "../../etc/passwd", api_name="/download")


def _csv(df: pd.DataFrame, folder: Path) -> Path:
    from cdmd_nb.io import write_table
    write_table(df, folder / "again.csv")
    return folder / "again.csv"


def test_api_is_documented(client):
    info = client.view_api(return_format="dict")["named_endpoints"]
    assert sorted(info) == ["/compare", "/download", "/fit", "/generate", "/open_example", "/open_table", "/set_target", "/set_type"]
    for name, call in info.items():
        assert call["description"], name
        assert all(p["parameter_name"] and p["label"] for p in call["parameters"])


def test_status_line_names_the_checkpoint_but_not_its_path(server, checkpoint):
    import urllib.request
    config = urllib.request.urlopen(f"{server.url}/config").read().decode()
    assert "Checkpoint: small-one" in config and str(checkpoint.parent) not in config


def test_limits_are_explained(client, tmp_path):
    ask = lambda df, name: (df.to_csv(tmp_path / name, index=False), refused(client.predict, handle_file(tmp_path / name), "", "", api_name="/open_table"))[1]
    assert "more than 5,000 rows" in ask(pd.DataFrame({"a": range(5001)}), "long.csv")
    assert "at most 30" in ask(pd.DataFrame({f"c{i}": range(9) for i in range(31)}), "wide.csv")
    bomb = tmp_path / "bomb.csv.gz"
    import gzip
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2_000_000))
    assert "3 MB" in refused(client.predict, handle_file(bomb), "", "", api_name="/open_table")
    (tmp_path / "heavy.csv").write_bytes(b"x" * 3_500_000)
    with pytest.raises(Exception, match=r"(?i)413|size|too large"): client.predict(handle_file(tmp_path / "heavy.csv"), "", "", api_name="/open_table")
    people(30).to_csv(tmp_path / "ok.csv", index=False)
    client.predict(handle_file(tmp_path / "ok.csv"), "", "", api_name="/open_table")
    assert "up to 0.05 minutes" in refused(client.predict, "", 1, 0, api_name="/fit")
    assert "1 to 5,000" in refused(_after_fit(client), 5001, 0, None, api_name="/generate")


def _after_fit(client):
    client.predict("scratch", 0, 1, api_name="/fit")
    return client.predict


@pytest.mark.parametrize("path", ["/etc/passwd", str(ROOT / "settings.ini"), "../../etc/passwd", "file:///etc/passwd"])
def test_no_path_from_a_client_is_opened(server, path):
    import urllib.error, urllib.parse, urllib.request
    with pytest.raises(urllib.error.HTTPError) as e: urllib.request.urlopen(f"{server.url}/gradio_api/file={urllib.parse.quote(path)}")
    assert e.value.code in (400, 403, 404)
    body = json.dumps({"data": [{"path": path, "meta": {"_type": "gradio.FileData"}}, "", ""], "session_hash": "thief"}).encode()
    request = urllib.request.Request(f"{server.url}/gradio_api/call/open_table", body, {"Content-Type": "application/json"})
    event = json.load(urllib.request.urlopen(request))["event_id"]
    answer = urllib.request.urlopen(f"{server.url}/gradio_api/call/open_table/{event}", timeout=30).read().decode()
    assert "event: error" in answer and "root:" not in answer and "lib_name" not in answer


def test_checkpoints_from_a_visitor(client, table):
    client.predict(handle_file(table), "", "", api_name="/open_table")
    for bad in ("/etc", "..", "tests/../tests"):
        assert "not the name of a Hub repository" in refused(client.predict, bad, 0, 1, api_name="/fit")
    for folder in ("nbs/images", "nbs/explore"): assert "cannot be loaded here" in refused(client.predict, folder, 0, 1, api_name="/fit")


def test_sessions_do_not_meet_and_leave_nothing(server, tmp_path):
    before = set(server.sessions())
    clients = [Client(server.url, verbose=False) for _ in range(2)]
    for who, c in zip(("alice", "bob"), clients, strict=True):
        people(60).assign(work=np.resize([f"{who}-one", f"{who}-two"], 60)).to_csv(tmp_path / "same.csv", index=False)
        c.predict(handle_file(tmp_path / "same.csv"), "", "", api_name="/open_table")
        c.predict("scratch", 0, 1, api_name="/fit")
    for who, other, c in (("alice", "bob", clients[0]), ("bob", "alice", clients[1])):
        text = Path(c.predict(50, 0, None, api_name="/generate")).read_text()
        assert f"{who}-" in text and other not in text
    mine = set(server.sessions()) - before
    assert len(mine) == 2 and all(list(m.rglob("*.safetensors")) for m in mine)
    for c in clients: c.close()
    server.wait_until(lambda: not any(m.exists() for m in mine), 30, "the end of both sessions")


def test_stop_stops_for_whoever_asks_only(server, table):
    a, b = Client(server.url, verbose=False), Client(server.url, verbose=False)
    for c in (a, b): c.predict(handle_file(table), "", "", api_name="/open_table")
    jobs = [c.submit("scratch", 0, 2, api_name="/fit") for c in (a, b)]
    assert [j.result(timeout=120)["stopped"] for j in jobs] == ["budget", "budget"]
    a.close(), b.close()


def test_a_hundred_uploads_in_a_row(server, tmp_path):
    before, c, process = len(server.log), Client(server.url, verbose=False), psutil.Process(server.process.pid)
    good = lambda i: people(200, i).to_csv(index=False).encode()
    bad = [b"", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, b"a,b\n1", b"<html><body>no</body></html>", bytes(range(256)) * 50, b'{"a": 1}', b"\xff\xfe\x00"]
    size, read, errors = None, 0, 0
    for i in range(100):
        path = tmp_path / f"file{i % 9}.csv"
        path.write_bytes(good(i) if i % 2 else bad[i // 2 % len(bad)])
        try:
            assert c.predict(handle_file(path), "", "", api_name="/open_table")["rows"] == 200
            read += 1
        except AppError as e:
            assert "Something went wrong" not in str(e), (i, e)
            errors += 1
        if i == 20: size = process.memory_info().rss
    assert (read, errors) == (50, 50) and process.is_running()
    assert process.memory_info().rss - size < 150e6
    assert "Traceback" not in server.log[before:]
    c.close()
    uploads = [p for p in server.temp.glob("cdmd-app-*/*/*") if not p.name.startswith("session-")]
    assert uploads
    for p in [f for u in uploads for f in (*u.rglob("*"), u)]: os.utime(p, (1, 1))
    server.wait_until(lambda: not any(u.exists() for u in uploads), 20, "the end of old uploads")


@pytest.fixture
def session(tmp_path, table):
    s = Session(tmp_path / "session", Limits(minutes=0.05))
    s.folder.mkdir()
    s.open_table(table)
    return s


@pytest.mark.parametrize("seed", range(6))
def test_stop_at_any_moment(session, seed):
    rng = random.Random(seed)
    def stopper():
        for _ in range(3):
            time.sleep(rng.uniform(0, 0.6))
            session.stop()
    thread = threading.Thread(target=stopper, daemon=True)
    thread.start()
    *_, (kind, done) = session.fit_steps(Plan(None, None, epochs=30, size="tiny", seed=seed))
    thread.join()
    assert kind == "done" and done["stopped"] in ("stopped", "budget", "early stop")
    assert not list(session.folder.glob("running-*"))
    *_, (kind, rows) = session.sample_steps(30)
    assert len(rows) == 30


def test_a_visitor_who_leaves_while_training(tmp_path, table):
    everybody = Sessions(tmp_path, Limits())
    s = everybody.get("me")
    s.open_table(table)
    run = s.fit_steps(Plan(None, None, epochs=100_000, size="tiny"))
    next(run)
    everybody.drop("me")
    with pytest.raises(Exception) as e: list(run)
    assert type(e.value).__name__ == "Gone" and not s.folder.exists()
    assert everybody.get("me") is not s


def test_everything_that_goes_to_a_gpu_process_can_go_there(session, monkeypatch):
    "ZeroGPU runs decorated generators in another process: arguments and results are pickled, variables are not shared."
    import cdmd_nb.session as module
    class Spaces:
        @staticmethod
        def GPU(task, duration):
            def run(*args):
                assert 0 < duration(*args) < 3600
                for value in task(*pickle.loads(pickle.dumps(args))): yield pickle.loads(pickle.dumps(value))
            return run
    monkeypatch.setitem(sys.modules, "spaces", Spaces)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    for name, seconds in (("_fit_job", module._fit_seconds), ("_sample_job", module._sample_seconds)):
        monkeypatch.setattr(module, name, module._gpu(seconds)(getattr(module, name)))
    list(session.fit_steps(Plan(None, None, epochs=1, size="tiny")))
    *_, (_, rows) = session.sample_steps(20)
    assert len(rows) == 20 and module.device_name() == "ZeroGPU, on demand"


def test_hub_checkpoint_by_name_and_by_environment(tmp_path, checkpoint, table):
    with Hub() as hub:
        hub.repos["me/tables"] = Repo()
        hub.repos["me/tables"].commit({str(p.relative_to(checkpoint)): p.read_bytes() for p in checkpoint.rglob("*") if p.is_file()})
        env = dict(HF_ENDPOINT=hub.endpoint, HF_HUB_OFFLINE="0", HF_HOME=str(tmp_path / "hf"), HF_HUB_DISABLE_XET="1", CDMD_CHECKPOINT="me/tables")
        with run_app(tmp_path / "app", **env) as server:
            c = Client(server.url, verbose=False)
            c.predict(handle_file(table), "", "", api_name="/open_table")
            assert c.predict("", 0, 1, api_name="/fit")["parameters"] == c.predict("me/tables", 0, 1, api_name="/fit")["parameters"]
            assert "no repository" in refused(c.predict, "me/nothing", 0, 1, api_name="/fit")
            c.close()


def test_space_front_matter():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(re.match(r"---\n(.*?)\n---\n", text, re.S)[1])
    assert head["sdk"] == "gradio" and (ROOT / head["app_file"]).is_file() and head["license"] == "apache-2.0"
    assert f"gradio=={head['sdk_version']}\n" in (ROOT / "requirements.txt").read_text()
    assert head["colorFrom"] in COLORS and head["colorTo"] in COLORS and len(head["short_description"]) <= 60 and head["emoji"]
    assert head["python_version"] == "3.11" and head["title"]


COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def pinned() -> dict[str, str]:
    lines = [x.split("#")[0].strip() for x in (ROOT / "requirements.txt").read_text().splitlines()]
    return {re.sub(r"[-_.]+", "-", n).lower(): v for n, v in (x.split("==") for x in lines if x)}


def clean_venv(folder: Path) -> Path:
    """A virtual environment with what requirements.txt names, in these versions, and nothing else: not downloaded again, but linked file by file."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    tests = {n for n in os.environ.get("CDMD_SYSTEM_PACKAGES", "setuptools").split()}
    for name in [*pinned(), *tests]:
        try: d = metadata.distribution(name)
        except metadata.PackageNotFoundError: continue
        for f in d.files or []:
            if ".." in f.parts: continue
            (site / f).parent.mkdir(parents=True, exist_ok=True)
            if not (site / f).exists() and d.locate_file(f).exists(): os.link(d.locate_file(f), site / f) if _same_disk(d.locate_file(f), site) \
                else os.symlink(d.locate_file(f), site / f)
    return folder / "bin" / "python"


def _same_disk(a: Path, b: Path) -> bool: return os.stat(a).st_dev == os.stat(b).st_dev


def test_requirements_name_what_is_installed():
    "Every pin is installed in that version; what is not is for other platforms."
    installed = {n: metadata.version(n).split("+")[0] for n in pinned()}
    assert installed == pinned()


def test_app_starts_as_a_space_with_only_its_requirements(tmp_path, table):
    python = clean_venv(tmp_path / "venv")
    hidden = subprocess.run([python, "-c", "import pytest"], capture_output=True)
    assert hidden.returncode != 0, "the clean environment is not clean"
    env = dict(SPACE_ID="me/cdmd", SYSTEM="spaces", GRADIO_SERVER_NAME="0.0.0.0", CUDA_VISIBLE_DEVICES="", CDMD_MAX_MINUTES="0.05",
               CDMD_ALLOW_HUB="0")
    with run_app(tmp_path / "app", str(python), **env) as server:
        c = Client(server.url, verbose=False)
        c.predict(handle_file(table), "", "", api_name="/open_table")
        assert "does not load checkpoints from the Hub" in refused(c.predict, "me/tables", 0, 1, api_name="/fit")
        c.predict("", 0, 1, api_name="/fit")
        assert len(pd.read_csv(c.predict(20, 0, None, api_name="/generate"))) == 20
        assert c.predict(api_name="/compare")["summary"]["F"] > 0
        c.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_requirements_install_into_a_clean_venv(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([tmp_path / "venv/bin/pip", "install", "--quiet", "-r", ROOT / "requirements.txt"], check=True)
    with run_app(tmp_path / "app", str(tmp_path / "venv/bin/python"), SPACE_ID="me/cdmd", CUDA_VISIBLE_DEVICES=""): pass


def test_the_script_repeats_what_was_done(session, table, tmp_path, monkeypatch):
    list(session.fit_steps(Plan(None, None, epochs=2, size="tiny")))
    session.hold(2, "self")
    *_, (_, rows) = session.sample_steps(30, seed=4)
    monkeypatch.chdir(table.parent)
    code = session.snippet().split("report = ")[0]
    scope = {}
    exec(code, scope)
    assert (scope["synthetic"].astype(str) == rows.astype(str)).to_numpy().mean() > 0.95


def test_app_file_is_short():
    assert len((ROOT / "app.py").read_text().splitlines()) < 15
