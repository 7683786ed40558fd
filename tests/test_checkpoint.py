"""Checkpoints: saved, spoiled, shared through a Hub on loopback with the real client. Whatever goes wrong is said in one sentence."""
import dataclasses, hashlib, json, os, pickle, re, shutil, socket, subprocess, sys, time
from pathlib import Path

import numpy as np, pandas as pd, pytest, torch
from huggingface_hub import constants
from huggingface_hub.utils import close_session
from safetensors.torch import load_file, save_file

from cdmd_nb import checkpoint as module
from cdmd_nb.checkpoint import (Checkpoint, CheckpointError, FittedTable, fetch_checkpoint, load_checkpoint, model_card, push_checkpoint,
                                save_checkpoint)
from cdmd_nb.codec import TableCodec
from cdmd_nb.denoiser import Denoiser, DenoiserConfig, SchemaTensors
from cdmd_nb.sampler import CALIBRATION_TIMES, Calibration, sample_rows
from cdmd_nb.schema import infer_schema
from cdmd_nb.text import embed_schema
from hub_server import Hub, Repo

TINY = DenoiserConfig(32, 1, 2, 64, 384)


class Words:
    "Stands in for the text encoder: a random vector for each string."
    id, dim = "all-MiniLM-L6-v2", 384

    def __call__(self, strings):
        seeds = [int.from_bytes(hashlib.sha256(s.encode()).digest()[:8], "big") for s in strings]
        rows = np.array([np.random.default_rng(s).normal(size=self.dim) for s in seeds]).reshape(-1, self.dim)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("float32")


def fitted(name: str, df: pd.DataFrame) -> FittedTable:
    codec = TableCodec.fit(df, infer_schema(df, name))
    sizes, numbers = tuple(codec.vocabulary_sizes), (len(CALIBRATION_TIMES), len(codec.numerical))
    calibration = Calibration(torch.randn(numbers), torch.randn(numbers), torch.randn(len(CALIBRATION_TIMES), sum(sizes)), sizes)
    return FittedTable(codec, embed_schema(codec.variables, Words()), calibration)


def make(seed: int = 0, tables=("Customers", "Órders / 2024")) -> Checkpoint:
    torch.manual_seed(seed)
    df = pd.DataFrame({"id": [f"C{i:04d}" for i in range(60)], "age": np.arange(18, 78), "plan": ["basic", "plus", "premium"] * 20,
                       "spent": np.where(np.arange(60) % 7 == 0, np.nan, np.linspace(0, 99.5, 60).round(2))})
    run = {"date": "2026-01-01", "tables": list(tables), "steps": 10, "rows": 600, "minutes": 0.5}
    return Checkpoint(Denoiser(TINY).eval(), {t: fitted(t, df) for t in tables}, provenance=[run], metrics={"Shape": 98.5})


def rows(c: Checkpoint, table: str = "Customers") -> pd.DataFrame:
    t = c.tables[table]
    return t.codec.decode(*sample_rows(c.net, SchemaTensors.of(t.embedding, "cpu"), 20, steps=3, calibration=t.calibration))


def assert_same(a: Checkpoint, b: Checkpoint) -> None:
    for x, y in zip(a.net.state_dict().values(), b.net.state_dict().values(), strict=True): assert torch.equal(x, y)
    assert list(a.tables) == list(b.tables) and (a.provenance, a.metrics, a.encoder, a.net.schedule) == (b.provenance, b.metrics, b.encoder, b.net.schedule)
    for t in a.tables: pd.testing.assert_frame_equal(rows(a, t), rows(b, t))


def sentence(call, *args, **kwargs) -> str:
    "The one sentence in which `call` fails."
    with pytest.raises(CheckpointError) as e: call(*args, **kwargs)
    text = str(e.value)
    assert text.endswith(".") and "\n" not in text and len(text) < 300, text
    assert not re.search(r"[.!?] +[A-Z]|Traceback|https?://|File \"|Request ID|object at 0x", text), text
    return text


@pytest.fixture(scope="module")
def model() -> Checkpoint: return make()


@pytest.fixture
def folder(model, tmp_path) -> Path: return save_checkpoint(model, tmp_path / "model")


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch):
    "Whoever calls anything but this machine fails the test."
    connect, strangers = socket.socket.connect, []

    def checked(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] != "127.0.0.1":
            strangers.append(address)
            raise OSError("only loopback in tests")
        return connect(self, address)
    monkeypatch.setattr(socket.socket, "connect", checked)
    yield
    assert not strangers


def use_home(monkeypatch, home: Path) -> None:
    monkeypatch.setattr(constants, "HF_HOME", str(home))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))


@pytest.fixture
def hub(monkeypatch, tmp_path):
    "A running Hub, which the client of this process talks to, with an empty cache and nobody logged in."
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"): monkeypatch.delenv(name, raising=False)
    use_home(monkeypatch, tmp_path / "home")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    close_session()
    with Hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.endpoint + "/{repo_id}/resolve/{revision}/{filename}")
        yield server
    close_session()


def contents(folder: Path) -> dict[str, bytes]: return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def published(hub, folder) -> Repo:
    repo = hub.repos["me/model"] = Repo()
    repo.commit(contents(folder))
    return repo


# Saving and loading


def test_roundtrip(model, folder):
    assert_same(model, load_checkpoint(folder))
    assert sorted(p.name for p in (folder / "tables").iterdir()) == ["customers", "rders-2024"]
    assert save_checkpoint(load_checkpoint(folder), folder) == folder
    assert_same(model, load_checkpoint(folder))
    assert [p.name for p in folder.parent.iterdir()] == ["model"]


def test_names_that_collide_get_folders_of_their_own(tmp_path):
    c = make(tables=("a b", "A-B", "!!", "", "a-b-2"))
    assert_same(c, load_checkpoint(save_checkpoint(c, tmp_path / "m")))


def test_half_precision(model, tmp_path):
    half = save_checkpoint(model, tmp_path / "half", torch.float16)
    full = save_checkpoint(model, tmp_path / "full")
    assert (half / "model.safetensors").stat().st_size < 0.6 * (full / "model.safetensors").stat().st_size
    again = load_checkpoint(half).net
    for a, b in zip(model.net.state_dict().values(), again.state_dict().values(), strict=True):
        assert b.dtype == torch.float32 and torch.equal(a.half().float(), b)


def test_a_pretrained_network_without_tables(tmp_path):
    c = Checkpoint(Denoiser(TINY))
    assert load_checkpoint(save_checkpoint(c, tmp_path / "m")).tables == {} and "to be fitted" in model_card(c)


@pytest.mark.parametrize("content", [{"notes.txt": "x"}, {"config.json": '{"model_type": "bert"}'}, {"config.json": "[" * 100_000},
                                     {"config.json": '{"files": {"a.json": "0"}}'}])
def test_other_peoples_folders_are_not_replaced(model, tmp_path, content):
    other = tmp_path / "other"
    other.mkdir()
    for k, v in content.items(): (other / k).write_text(v)
    assert "is not a checkpoint" in sentence(save_checkpoint, model, other)
    assert contents(other) == {k: v.encode() for k, v in content.items()}


def test_a_checkpoint_with_other_files_beside_it_is_not_replaced(model, folder):
    (folder / "tables" / "notes.md").write_text("mine")
    before = contents(folder)
    assert "holds other files too" in sentence(save_checkpoint, model, folder)
    assert contents(folder) == before
    file = folder.parent / "file"
    file.write_text("x")
    assert "is not a checkpoint" in sentence(save_checkpoint, model, file)
    assert "could not be saved" in sentence(save_checkpoint, model, file / "below")


@pytest.mark.parametrize("where", ["save_embedding", "model_card", "_hash"])
def test_a_failure_while_writing_leaves_the_old_model(folder, monkeypatch, where):
    def fail(*_): raise OSError(28, "No space left on device")
    before = contents(folder)
    with monkeypatch.context() as broken:
        broken.setattr(module, where, fail)
        assert "(No space left on device): nothing was changed" in sentence(save_checkpoint, make(1), folder)
    assert contents(folder) == before and [p.name for p in folder.parent.iterdir()] == ["model"]
    load_checkpoint(folder)


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_while_moving_leaves_the_old_model(folder, monkeypatch, failing):
    before, replace, calls = contents(folder), os.replace, []

    def fail(a, b):
        calls.append(a)
        if len(calls) == failing: raise PermissionError(13, "Permission denied")
        return replace(a, b)
    monkeypatch.setattr(os, "replace", fail)
    assert "(Permission denied)" in sentence(save_checkpoint, make(1), folder)
    assert contents(folder) == before and [p.name for p in folder.parent.iterdir()] == ["model"]


def test_weights_that_cannot_be_loaded_again_are_not_saved(folder):
    before, broken = contents(folder), make(1)
    with torch.no_grad(): broken.net.logit.bias.fill_(1e6)
    assert "not all finite as float16" in sentence(save_checkpoint, broken, folder, torch.float16)
    with torch.no_grad(): broken.net.logit.bias.fill_(float("nan"))
    assert "not all finite as float32" in sentence(save_checkpoint, broken, folder)
    assert contents(folder) == before


def test_the_model_card_is_harmless(model):
    from markdown_it import MarkdownIt
    evil = '<script>alert(1)</script> ![x](http://evil/x.png) [y](javascript:z) `a` | # h\n\n# heading\n---\n<img src=x onerror=y> &lt;b&gt;\u202e'
    run = {"date": evil, "tables": [evil, 5], "steps": "many", "rows": None, "minutes": [evil]}
    c = dataclasses.replace(model, tables={evil: model.tables["Customers"]}, encoder=evil, provenance=[run, {"tables": 5}], metrics={evil: evil, "n": 3})
    card = model_card(c)
    page = MarkdownIt("commonmark", {"html": True}).render(re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.S))
    assert not re.search(r"<(script|img|a|h3|hr|table)\b", page) and page.count("<h1>") == 1 and "\u202e" not in card
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5 and page.count("<code") == 2


# Hostile and damaged folders


def rewrite(folder: Path, **changes) -> None:
    "Change the config, with hashes that fit the files as they are now: whoever is hostile can count."
    config = json.loads((folder / "config.json").read_text())
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in config["files"] if (folder / name).is_file()}
    (folder / "config.json").write_text(json.dumps(config | {"files": files} | changes))


ARCHITECTURE = dataclasses.asdict(TINY)


@pytest.mark.parametrize("changes, words", [
    ({"format": 99}, "was made by a newer version of cdmd_nb (format 99): update the package"),
    ({"format": "1"}, "is not a checkpoint of cdmd_nb"),
    ({"format": True}, "is not a checkpoint of cdmd_nb"),
    ({"architecture": ARCHITECTURE | {"dim": 10**9}}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"layers": 10**9}}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"heads": 0}}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"heads": 3}}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"dim": 32.0}}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"apart": "yes"}}, "architecture in 'model' makes no sense"),
    ({"architecture": None}, "architecture in 'model' makes no sense"),
    ({"architecture": ARCHITECTURE | {"dim": 4096, "layers": 64, "feedforward": 16384}}, "weights in 'model' do not fit its architecture"),
    ({"schedule": None}, "schedule in 'model' makes no sense"),
    ({"schedule": {"sigma_min": float("nan")}}, "schedule in 'model' makes no sense"),
    ({"schedule": {"sigma_max": 10**400}}, "schedule in 'model' makes no sense"),
    ({"schedule": {"rho": 0}}, "schedule in 'model' makes no sense"),
    ({"tables": [{"name": "x", "slug": "../../etc"}]}, "'../../etc' cannot be the folder of a table"),
    ({"tables": [{"name": "x", "slug": "a\nb" * 100}]}, "cannot be the folder of a table"),
    ({"tables": [{"name": "x", "slug": "elsewhere"}]}, "does not list its files"),
    ({"tables": None}, "list of tables in 'model' is damaged"),
    ({"tables": ["x"]}, "list of tables in 'model' is damaged"),
    ({"files": None}, "does not list its files"),
    ({"files": {}}, "does not list its files"),
    ({"encoder": {"a": 1}}, "config.json of 'model' is damaged"),
    ({"provenance": "x"}, "config.json of 'model' is damaged"),
    ({"provenance": [1]}, "config.json of 'model' is damaged"),
    ({"metrics": 5}, "config.json of 'model' is damaged")])
def test_a_config_that_lies(folder, changes, words):
    rewrite(folder, **changes)
    assert words in sentence(load_checkpoint, folder)


@pytest.mark.parametrize("name", ["../evil.json", "/etc/passwd.json", "tables/../../x.json", "a\\b.json", "model.pkl", "x/y.json", "tables/a/b/c.json",
                                  "x.json\n"])
def test_names_of_files_that_lead_out(folder, name):
    files = json.loads((folder / "config.json").read_text())["files"]
    rewrite(folder, files={name: "0", **files})
    assert "which a checkpoint cannot have: it is refused" in sentence(load_checkpoint, folder)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 200_000, b"[1]", b"null", b'{"format": ' + b"9" * 5000 + b"}"])
def test_a_config_that_is_none(folder, text):
    (folder / "config.json").write_bytes(text)
    assert "'model' is" in sentence(load_checkpoint, folder)


def test_a_config_that_is_huge(folder):
    with (folder / "config.json").open("r+b") as f: f.truncate(2**40)
    assert sentence(load_checkpoint, folder) == "'model' is not a checkpoint of cdmd_nb."


def test_pickles_are_refused(folder, tmp_path):
    class Bomb:
        def __reduce__(self): return os.mkdir, (str(tmp_path / "exploded"),)
    bomb = pickle.dumps(Bomb())
    for name in ("pytorch_model.bin", "tables/customers/codec.PKL", "model.pt"):
        (folder / name).write_bytes(bomb)
        assert "can run code when loaded: it is refused" in sentence(load_checkpoint, folder)
        (folder / name).unlink()
    for name in ("model.safetensors", "tables/customers/embeddings.safetensors", "tables/customers/codec.safetensors", "tables/customers/codec.json"):
        good = (folder / name).read_bytes()
        (folder / name).write_bytes(bomb)
        rewrite(folder)
        assert "damaged" in sentence(load_checkpoint, folder)
        (folder / name).write_bytes(good)
    assert not (tmp_path / "exploded").exists()


def test_links_out_of_the_folder_are_refused(folder, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(folder, outside)
    for name in ("model.safetensors", "tables"):
        inside = folder / name
        shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
        inside.symlink_to(outside / name)
        assert "holds a link that leads out of it: it is refused" in sentence(load_checkpoint, folder)
        inside.unlink()
        shutil.copytree(outside / name, inside) if (outside / name).is_dir() else shutil.copy(outside / name, inside)
    (folder / "loop").symlink_to(folder / "loop")
    load_checkpoint(folder)
    (folder / "loop").unlink()
    hiding = tmp_path / "snapshots"
    hiding.mkdir()
    shutil.move(folder, hiding / "model")
    load_checkpoint(hiding / "model")
    (hiding / "model" / "secret").symlink_to(tmp_path / "outside" / "config.json")
    assert "leads out" in sentence(load_checkpoint, hiding / "model")


def header(shape, end: int, dtype: str = "F32") -> bytes:
    text = json.dumps({"logit.bias": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize("body", [header([2**40, 2**20], 2**62), header([2**31], 4) + b"0000", header([2**63, 4], 0), header([1], 4, "X") + b"0000",
                                  (2**62).to_bytes(8, "little") + b"{}", b"", header([1], 4)[:20]])
@pytest.mark.parametrize("name", ["model", "tables/customers/embeddings", "tables/customers/codec"])
def test_giant_and_broken_headers(folder, body, name):
    (folder / f"{name}.safetensors").write_bytes(body)
    rewrite(folder)
    assert "damaged" in sentence(load_checkpoint, folder)


def test_weights_that_do_not_fit(folder):
    path = folder / "model.safetensors"
    good = load_file(path)
    for change, words in (({"logit.bias": torch.tensor([float("nan")])}, "not all finite"), ({"logit.bias": torch.tensor([float("-inf")])}, "not all finite"),
                          ({"logit.bias": torch.zeros(2)}, "do not fit its architecture"), ({"more": torch.zeros(1)}, "do not fit its architecture")):
        save_file({**good, **change}, path)
        rewrite(folder)
        assert words in sentence(load_checkpoint, folder)
    save_file({k: v for k, v in good.items() if k != "logit.bias"}, path)
    rewrite(folder)
    assert "do not fit its architecture" in sentence(load_checkpoint, folder)


def test_a_calibration_that_does_not_fit(folder):
    path = folder / "tables" / "customers" / "calibration.safetensors"
    good = load_file(path)
    for change in ({"shift": good["shift"][1:]}, {"slope": good["slope"] * float("nan")}, {"logits": good["logits"][:, 1:].contiguous()},
                   {"more": good["shift"]}, {"shift": good["shift"].long()}):
        save_file({k: v.clone() for k, v in {**good, **change}.items()}, path)
        rewrite(folder)
        assert "calibration.safetensors of the table 'customers' is damaged: save the model again" in sentence(load_checkpoint, folder)
    path.unlink()
    rewrite(folder)
    assert load_checkpoint(folder).tables["Customers"].calibration is None  # a model from before there were calibrations


def test_tables_that_do_not_fit(folder):
    place = folder / "tables" / "customers"
    words = place / "embeddings.safetensors"
    good = load_file(words)
    for change in ({"categories": good["categories"][:, :8].contiguous()}, {"columns": good["columns"][1:]}, {"table": good["table"] * float("nan")},
                   {"sizes": good["sizes"] * 2}, {"sizes": -good["sizes"]}, {"more": good["table"]}, {"table": good["table"][None]}):
        save_file({k: v.clone() for k, v in {**good, **change}.items()}, words)
        rewrite(folder)
        assert re.search("do not fit|damaged", sentence(load_checkpoint, folder))
    save_file(good, words)
    codec = json.loads((place / "codec.json").read_text())
    changes = [{"maps": codec["maps"][1:]}, {"format": 99}, {"row_numbers": [["id", {"prefix": "", "width": 10**10, "start": 1}]]}, {"flags": 5},
               {"schema": {}}, {"maps": ["x"] * len(codec["maps"])}]
    for change in changes:
        (place / "codec.json").write_text(json.dumps(codec | change))
        rewrite(folder)
        assert re.search("damaged|newer version", sentence(load_checkpoint, folder))


def test_missing_and_changed_files(folder):
    assert sentence(load_checkpoint, folder / "nowhere") == f"There is no folder '{folder / 'nowhere'}'."
    weights = folder / "model.safetensors"
    good = weights.read_bytes()
    for bad in (good[:-100], good[:-1] + bytes([good[-1] ^ 1]), b""):
        weights.write_bytes(bad)
        assert sentence(load_checkpoint, folder) == (
            "model.safetensors of 'model' is not the file that was saved (it is truncated or was changed): fetch it again.")
    weights.unlink()
    assert sentence(load_checkpoint, folder) == "'model' is incomplete: model.safetensors is missing."
    (folder / "config.json").unlink()
    assert sentence(load_checkpoint, folder) == "'model' is not a checkpoint: config.json is missing."


# The Hub


def test_push_and_download_elsewhere(hub, model, folder, monkeypatch, tmp_path):
    address = push_checkpoint(folder, "me/model", token="hf_owner", message="First")
    repo = hub.repos["me/model"]
    assert address == f"{hub.endpoint}/me/model/commit/{repo.refs['main']}" and repo.messages == ["First"] and not repo.private
    assert repo.commits[repo.refs["main"]] == contents(folder)
    use_home(monkeypatch, tmp_path / "elsewhere")
    place = fetch_checkpoint("me/model")
    assert place.is_relative_to(tmp_path / "elsewhere")
    assert_same(model, load_checkpoint(place))
    assert not hub.leaked


def test_push_again(hub, folder, tmp_path):
    push_checkpoint(folder, "me/model", token="hf_owner")
    repo = hub.repos["me/model"]
    push_checkpoint(folder, "me/model", token="hf_owner")
    assert len(repo.commits) == 1
    other = save_checkpoint(make(3, ("Other",)), tmp_path / "other")
    (other / "secret.txt").write_text("not for the Hub")
    push_checkpoint(other, "me/model", token="hf_owner")
    (other / "secret.txt").unlink()
    assert repo.commits[repo.refs["main"]] == contents(other)
    assert list(load_checkpoint(fetch_checkpoint("me/model")).tables) == ["Other"]


def test_push_through_the_pipeline_of_xet(hub, folder, monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    hub.lfs = False
    for c in (make(1), make(2, ("Other",))):
        push_checkpoint(save_checkpoint(c, folder), "me/model", token="hf_owner")
        repo = hub.repos["me/model"]
        assert repo.commits[repo.refs["main"]] == contents(folder)
        assert_same(c, load_checkpoint(fetch_checkpoint("me/model")))


def test_push_with_a_token_from_the_usual_places(hub, folder, monkeypatch):
    Path(constants.HF_TOKEN_PATH).parent.mkdir(parents=True)
    Path(constants.HF_TOKEN_PATH).write_text("hf_owner")
    push_checkpoint(folder, "model", private=True)
    assert hub.repos["me/model"].private and len(hub.repos["me/model"].commits) == 1


def test_push_that_fails(hub, folder, published, monkeypatch):
    right = "The token gives no right to do this with '{}': log in with one that does, `hf auth login`."
    assert sentence(push_checkpoint, folder, "not a name!") == "'not a name!' is not a repository name like 'owner/name'."
    assert sentence(push_checkpoint, folder, "me/new") == "The Hub does not accept the token: log in with `hf auth login`."
    assert sentence(push_checkpoint, folder, "me/new", token="hf_wrong") == "The Hub does not accept the token: log in with `hf auth login`."
    assert sentence(push_checkpoint, folder, "me/model", token="hf_reader") == right.format("me/model")
    assert sentence(push_checkpoint, folder, "them/model", token="hf_owner") == right.format("them/model")
    assert sentence(push_checkpoint, folder, "me/model", private=True, token="hf_owner") == (
        "The repository 'me/model' exists and is public: make it private on its page, or choose another name.")
    monkeypatch.setattr(module, "_ask", lambda *_: None)
    hub.down = 500
    assert sentence(push_checkpoint, folder, "me/model", token="hf_owner") == "The Hub answered with error 500 when asked for 'me/model': try again later."
    assert len(published.commits) == 1


def test_push_of_what_is_no_checkpoint(hub, folder):
    (folder / "model.safetensors").write_bytes(b"")
    assert "not the file that was saved" in sentence(push_checkpoint, folder, "me/model", token="hf_owner")
    assert not hub.repos and not hub.log


def test_no_network_and_nothing_cached(hub, folder):
    hub.stop()
    start = time.monotonic()
    assert sentence(fetch_checkpoint, "me/model") == (
        "'me/model' is not in the local cache and the Hub cannot be reached (ConnectError): check the connection.")
    assert "cannot be reached" in sentence(fetch_checkpoint, "me/model", "0" * 40)
    assert sentence(push_checkpoint, folder, "me/model", token="hf_owner") == (
        "The Hub cannot be reached (ConnectError), so 'me/model' was not uploaded: check the connection.")
    assert time.monotonic() - start < 8


def test_a_hub_that_does_not_answer(hub, published, folder, monkeypatch):
    place = fetch_checkpoint("me/model")
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    hub.mute.set()
    start = time.monotonic()
    assert fetch_checkpoint("me/model") == place
    assert sentence(fetch_checkpoint, "me/other") == (
        "'me/other' is not in the local cache and the Hub cannot be reached (ReadTimeout): check the connection.")
    assert "cannot be reached (ReadTimeout)" in sentence(push_checkpoint, folder, "me/model", token="hf_owner")
    assert time.monotonic() - start < 8


def test_cached_and_offline(hub, model, published, monkeypatch):
    place = fetch_checkpoint("me/model")
    start = time.monotonic()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.log)
    assert fetch_checkpoint("me/model") == place and len(hub.log) == asked
    assert sentence(fetch_checkpoint, "me/other") == "'me/other' is not in the local cache, and HF_HUB_OFFLINE forbids to download it: unset it."
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    hub.down = 503
    assert fetch_checkpoint("me/model") == place
    assert sentence(fetch_checkpoint, "me/other") == "The Hub answered with error 503 when asked for 'me/other': try again later."
    hub.stop()
    assert fetch_checkpoint("me/model") == place and fetch_checkpoint("me/model", published.refs["main"]) == place
    assert "cannot be reached" in sentence(fetch_checkpoint, "me/model", "v1")
    assert time.monotonic() - start < 8
    assert_same(model, load_checkpoint(place))


def test_a_broken_cache_is_mended_or_said(hub, model, published):
    place = fetch_checkpoint("me/model")
    blob = (place / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:-1])
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))
    (place / "tables" / "customers" / "codec.json").unlink()
    fetch_checkpoint("me/model", published.refs["main"])
    assert_same(model, load_checkpoint(place))
    (place / "tables" / "customers" / "codec.json").unlink()
    hub.stop()
    assert "cannot be reached" in sentence(fetch_checkpoint, "me/model")


def test_revisions(hub, model, published, tmp_path):
    first = published.refs["main"]
    published.refs["v1.0"] = first
    other = make(7)
    second = published.commit(contents(save_checkpoint(other, tmp_path / "other")))
    published.refs["feature/x"] = second
    for revision, expected in ((None, other), ("main", other), ("v1.0", model), (first, model), (second, other), ("feature/x", other)):
        assert_same(expected, load_checkpoint(fetch_checkpoint("me/model", revision)))
    asked = len(hub.log)
    fetch_checkpoint("me/model", first)
    assert len(hub.log) == asked
    for unknown in ("v2.0", "f" * 40): assert sentence(fetch_checkpoint, "me/model", unknown) == f"The repository 'me/model' has no revision '{unknown}'."


def test_wrong_names(hub, published):
    missing = "There is no repository '{}' on the Hub, or it is private: check the name, or log in with `hf auth login`."
    for name in ("me/modell", "nobody"): assert sentence(fetch_checkpoint, name) == missing.format(name)
    assert sentence(fetch_checkpoint, "me/modell", token="hf_owner") == missing.format("me/modell")
    for name in ("not a name at all!", "a/b/c", "../x", "x" * 200, "nul\0"):
        assert sentence(fetch_checkpoint, name) == f"'{name}' is neither a folder nor a repository name like 'owner/name'."


def test_private_and_gated(hub, model, published, monkeypatch):
    published.private = True
    missing = "There is no repository 'me/model' on the Hub, or it is private: check the name, or log in with `hf auth login`."
    assert sentence(fetch_checkpoint, "me/model") == missing
    assert sentence(fetch_checkpoint, "me/model", token="hf_reader") == missing
    assert sentence(fetch_checkpoint, "me/model", token="hf_wrong") == "The Hub does not accept the token: log in with `hf auth login`."
    monkeypatch.setenv("HF_TOKEN", "hf_owner")
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))
    assert not hub.leaked
    hub.repos["me/gated"] = Repo(gated=True, commits=published.commits, refs=published.refs)
    assert sentence(fetch_checkpoint, "me/gated") == "The repository 'me/gated' asks for permission: request it on its page and log in with `hf auth login`."


@pytest.mark.parametrize("path", ["config.json", "model.safetensors"])
def test_truncated_download(hub, model, published, path):
    hub.faults[path] = "truncated"
    assert sentence(fetch_checkpoint, "me/model") == "The download of 'me/model' broke off (OSError): try again."
    hub.faults.clear()
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))


def test_a_cut_connection_is_taken_up_again(hub, model, published):
    hub.faults["model.safetensors"] = "cut"
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))
    assert not hub.faults and not hub.leaked


@pytest.mark.parametrize("path, words", [
    ("model.safetensors", "model.safetensors of 'me/model' is not the file that was saved (it is truncated or was changed)"),
    ("tables/customers/codec.json", "tables/customers/codec.json of 'me/model' is not the file that was saved"),
    ("config.json", "config.json of 'me/model' is damaged")])
def test_changed_download(hub, model, published, path, words):
    hub.faults[path] = "changed"
    assert words in sentence(fetch_checkpoint, "me/model")
    hub.faults.clear()
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))


def test_what_is_no_checkpoint_is_not_downloaded(hub, folder, tmp_path):
    hub.repos["big/bert"] = Repo()
    hub.repos["big/bert"].commit({"config.json": b'{"model_type": "bert"}', "model.safetensors": b"x" * 1000, "pytorch_model.bin": b"x"})
    assert sentence(fetch_checkpoint, "big/bert") == "'big/bert' is not a checkpoint of cdmd_nb."
    hub.repos["big/data"] = Repo()
    hub.repos["big/data"].commit({"README.md": b"hello"})
    assert sentence(fetch_checkpoint, "big/data") == "The repository 'big/data' is not a checkpoint: config.json is missing."
    rewrite(folder, format=2)
    hub.repos["me/newer"] = Repo()
    hub.repos["me/newer"].commit(contents(folder))
    assert sentence(fetch_checkpoint, "me/newer") == "'me/newer' was made by a newer version of cdmd_nb (format 2): update the package."
    assert not any("safetensors" in path for _, path in hub.log)


def test_a_pickle_on_the_hub_never_reaches_the_disk(hub, model, folder):
    hub.repos["me/odd"] = Repo()
    hub.repos["me/odd"].commit(contents(folder) | {"pytorch_model.bin": b"x", "tables/customers/x.pkl": b"x", "run.py": b"x", "more.safetensors": b"x"})
    place = fetch_checkpoint("me/odd")
    assert set(contents(place)) == set(contents(folder))
    assert_same(model, load_checkpoint(place))


def test_blobs_that_repositories_share(hub, model, published):
    place = fetch_checkpoint("me/model")
    blob = (place / "model.safetensors").resolve()
    shared = Path(constants.HF_HUB_CACHE) / "blobs" / "ab" / "abcd"
    shared.parent.mkdir(parents=True)
    shutil.move(blob, shared)
    blob.symlink_to(os.path.relpath(shared, blob.parent))
    assert_same(model, load_checkpoint(fetch_checkpoint("me/model")))
    shutil.move(shared, shared.parents[3] / "stranger")
    blob.unlink()
    blob.symlink_to(shared.parents[3] / "stranger")
    assert "holds a link that leads out of it" in sentence(load_checkpoint, place)


SCRIPT = """
from cdmd_nb.checkpoint import fetch_checkpoint, load_checkpoint
from cdmd_nb.denoiser import SchemaTensors
from cdmd_nb.sampler import sample_rows
c = load_checkpoint(fetch_checkpoint("me/model"))
t = c.tables["Customers"]
print(t.codec.decode(*sample_rows(c.net, SchemaTensors.of(t.embedding, "cpu"), 20, steps=3, calibration=t.calibration)).to_csv())
"""


def test_a_session_of_its_own_online_then_offline(hub, model, published, tmp_path):
    published.private = True
    home = {"HF_HOME": str(tmp_path / "fresh"), "HF_HUB_DISABLE_XET": "1", "OMP_NUM_THREADS": "1"}
    env = {k: v for k, v in os.environ.items() if not k.startswith("HF_")} | home | {"HF_ENDPOINT": hub.endpoint}
    run = lambda **more: subprocess.run([sys.executable, "-c", SCRIPT], env=env | more, capture_output=True, text=True, timeout=120)
    online = run(HF_TOKEN="hf_owner")
    assert online.returncode == 0, online.stderr
    asked = len(hub.log)
    hub.stop()
    offline = run(HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert offline.stdout == online.stdout == rows(model).to_csv() + "\n" and asked > 5
