"""Named tables: examples, the seven, and the corpus."""
import gzip, json, os, pickle, signal, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np, pandas as pd, pytest

from cdmd_nb import datasets
from cdmd_nb.datasets import (EVALUATION, EXAMPLES, Corpus, CorpusEntry, build_corpus, compare, corpus_packages, fingerprint, halves, leakage_report,
                              load_dataset, make_orders, missing_packages, read_entry, read_manifest, write_manifest)
from cdmd_nb.datasets import _evaluation_facts, _prepared, _read_pickle
from cdmd_nb.schema import TableError
from cdmd_nb.text import TextEncoder

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_load_without_a_network(name):
    d = load_dataset(name)
    assert len(d.df) >= 100 and d.schema.target in d.df.columns and not d.schema[d.schema.target].ignored
    assert (d.task == "regression") == (d.schema[d.schema.target].type == "numerical")
    train, test = d.halves(seed=3)
    assert len(train) == len(d.df) // 2 and not set(train.index) & set(test.index)


def test_halves_are_those_of_the_published_row():
    a, b = halves(pd.DataFrame({"x": range(10)}), 0)
    order = np.random.default_rng(0).permutation(10)
    assert a.x.tolist() == order[:5].tolist() and b.x.tolist() == order[5:].tolist()


def _raw_like(df: pd.DataFrame, facts: dict) -> pd.DataFrame:
    "The table as UCI would serve it: codes, one-hot columns, its own names, extra columns."
    raw = df.copy()
    for column, words in facts.get("codes", {}).items():
        back = {w: c for c, w in reversed(words.items()) if c or "None" not in words}
        raw[column] = raw[column].map(lambda v, back=back: back.get(v, v))
    for column, parts in facts.get("merge", {}).items():
        for name, label in parts.items(): raw[f" {name}"] = np.where(raw[column] == label, "1.0", "0.0")
        raw = raw.drop(columns=column)
    raw = raw.rename(columns={v: k for k, v in facts.get("rename", {}).items()})
    raw.insert(0, "number", [str(i) for i in range(len(raw))])
    return raw.replace("", "?")


def test_the_raw_form_of_each_of_the_seven_becomes_the_prepared_one(eval_dataset):
    "Undo what was done to the raw files; `_prepared` must do it again."
    name = next(n for n, f in _evaluation_facts().items() if f["title"] == eval_dataset[1]["title"])
    facts = _evaluation_facts()[name]
    df = pd.read_csv(Path(os.environ["CDMD_DATA"]) / f"{name}.csv.gz", dtype=str, keep_default_na=False).iloc[:3000]
    raw = _raw_like(df, facts)
    if "present" in facts: raw = pd.concat([raw, raw.head(2).assign(**{facts["present"]: "NA"})])
    assert _prepared(raw, facts).reset_index(drop=True).equals(df)
    d = load_dataset(name)
    assert (len(d.df), d.schema.target, d.task) == (facts["rows"], eval_dataset[1]["target"], eval_dataset[1]["task"])
    assert {c.name for c in d.schema if c.type == "categorical"} == set(eval_dataset[1]["categorical"])


class _Server:
    "A tiny web server that answers every request with one body."
    def __init__(self, body: bytes, status: int = 200):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status); self.end_headers(); self.wfile.write(body)

            def log_message(self, *a): pass
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self): return f"http://127.0.0.1:{self.server.server_port}/{{}}/data.csv"
    def __exit__(self, *a): self.server.shutdown(); self.server.server_close()


@pytest.fixture
def small_magic(monkeypatch):
    "Facts that describe a table of three rows."
    facts = {"magic": _evaluation_facts()["magic"] | {"rows": 3, "sha256": ""}}
    monkeypatch.setattr(datasets, "_evaluation_facts", lambda: facts)
    monkeypatch.delenv("CDMD_DATA", raising=False)
    return facts["magic"]


def test_download(monkeypatch, tmp_path, small_magic):
    body = (",".join(small_magic["columns"]) + "\n" + "1,2,3,4,5,6,7,8,9,10,g\n" * 2 + "1,2,3,4,5,6,7,8,9,10.50,h\n").encode()
    monkeypatch.setenv("CDMD_CACHE", str(tmp_path))
    with _Server(body) as url:
        monkeypatch.setattr(datasets, "UCI", url)
        with pytest.warns(UserWarning, match="differs in some cells"): d = load_dataset("magic")
    assert d.df["class"].tolist() == ["gamma", "gamma", "hadron"] and d.df.fDist.tolist() == [10, 10, 10.5]
    assert b"10.50" in gzip.decompress((tmp_path / "evaluation" / "magic.csv.gz").read_bytes())
    monkeypatch.setattr(datasets, "UCI", "http://127.0.0.1:9/{}")  # nothing listens there: now it must come from the cache
    assert load_dataset("magic").df.equals(d.df)


def test_download_that_fails_says_so_in_one_sentence(monkeypatch, tmp_path, small_magic):
    monkeypatch.setenv("CDMD_CACHE", str(tmp_path))
    with _Server(b"gone", status=404) as url:
        monkeypatch.setattr(datasets, "UCI", url)
        with pytest.raises(TableError, match="could not be downloaded from .*404.*CDMD_DATA"): load_dataset("magic")
    monkeypatch.setattr(datasets, "UCI", "http://127.0.0.1:9/{}")
    with pytest.raises(TableError, match="could not be downloaded"): load_dataset("magic")
    assert not list(tmp_path.rglob("*.gz"))


def test_the_manifest_and_the_extra_name_the_same_packages():
    pins = next(line for line in (ROOT / "settings.ini").read_text().splitlines() if line.startswith("corpus_requirements")).split("=", 1)[1].split()
    assert sorted(pins) == sorted(corpus_packages())
    names = {e.name for e in read_manifest()}
    excluded = pd.read_csv(ROOT / "cdmd_nb" / "corpus" / "excluded.csv")
    assert not names & set(excluded.table) and set(excluded.package) <= {e.package for e in read_manifest()}


def test_unpickling_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self): return os.system, (f"touch {tmp_path / 'owned'}",)
    with pytest.raises(pickle.UnpicklingError, match="no place"): _read_pickle(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="no place"): _read_pickle(b"cpandas.io.common\nos.system\n.")
    assert not (tmp_path / "owned").exists()


class _Hashing(TextEncoder):
    "An encoder that needs no model: a vector from the hash of a string."
    def __init__(self): self.name = self.id = "hashing"
    dim = 8

    def __call__(self, strings, batch_size=64):
        rows = [np.random.default_rng(list(s.encode())).normal(size=8) for s in strings]
        return np.stack([r / np.linalg.norm(r) for r in rows]).astype("float32")


@pytest.fixture
def tiny(tmp_path):
    "A package with three tables, and a manifest of them."
    tables = {f"shop{i}": make_orders(400 + i, seed=i) for i in range(3)}
    packages = tmp_path / "packages"
    for part in ("tinytables-1.0.dist-info", "tinytables"): (packages / part).mkdir(parents=True)
    (packages / "tinytables-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tinytables\nVersion: 1.0\n")
    for t, df in tables.items(): df.to_csv(packages / "tinytables" / f"{t}.csv", index=False)
    types = {"order date": "datetime", "unit price": "numerical", "discount": "numerical", "product": "categorical", "returned": "categorical"}
    columns = tuple((c, c, k) for c, k in types.items())
    entries = [CorpusEntry(f"tinytables/{t}", "tinytables", "1.0", f"tinytables/{t}.csv", "CC0", f"Table {t}", "", "validation" if t == "shop1" else "train",
                           350, columns) for t in tables]
    return packages, write_manifest(entries, tmp_path / "manifest.jsonl"), tmp_path


def _content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".sqlite"}


def test_build_is_deterministic_and_memory_mapped(tiny):
    packages, manifest, tmp = tiny
    a, b = (build_corpus(tmp / n, packages, manifest, _Hashing(), show=False) for n in "ab")
    assert _content(a.folder) == _content(b.folder)
    train, validation = a.tables("train"), a.tables("validation")
    assert [t.name for t in train] == ["tinytables/shop0", "tinytables/shop2"] and [t.name for t in validation] == ["tinytables/shop1"]
    mapped = np.load(a.folder / "tables" / "tinytables-shop0" / "num.npy", mmap_mode="r")
    assert len(train[0]) == 350 and (train[0].num.numpy() == mapped).all() and str(train[0].cat.dtype) == "torch.int64"
    df, _ = read_entry(read_manifest(manifest)[0], packages)
    decoded = a.codec(a.infos()[0]).decode(train[0].num.numpy(), train[0].cat.numpy())
    assert decoded["product"].tolist() == df["product"].tolist() and decoded["discount"].isna().tolist() == df["discount"].isna().tolist()


_CHILD = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from test_datasets import _Hashing
from cdmd_nb import datasets
write = datasets._write_table
def killed(entry, *a):
    info = write(entry, *a)
    if entry.name.endswith("shop1"): os.kill(os.getpid(), signal.SIGKILL)
    return info
datasets._write_table = killed
datasets.build_corpus({out!r}, {packages!r}, {manifest!r}, _Hashing(), show=False)
"""


def test_a_killed_build_goes_on(tiny):
    packages, manifest, tmp = tiny
    code = _CHILD.format(tests=str(Path(__file__).parent), out=str(tmp / "killed"), packages=str(packages), manifest=str(manifest))
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert (tmp / "killed/tables/tinytables-shop0/table.json").exists() and not (tmp / "killed/tables/tinytables-shop1").exists()
    with pytest.raises(TableError, match="no finished corpus"): Corpus(tmp / "killed")
    first = (tmp / "killed/tables/tinytables-shop0/num.npy").stat().st_mtime_ns
    build_corpus(tmp / "killed", packages, manifest, _Hashing(), show=False)
    whole = build_corpus(tmp / "whole", packages, manifest, _Hashing(), show=False)
    assert _content(tmp / "killed") == _content(whole.folder)
    assert (tmp / "killed/tables/tinytables-shop0/num.npy").stat().st_mtime_ns == first


def test_what_is_missing_or_damaged_is_said_in_one_sentence(tiny):
    packages, manifest, tmp = tiny
    with pytest.raises(TableError, match=r"tinytables==1.0\): pip install 'cdmd_nb\[corpus\]'"): build_corpus(tmp / "x", None, manifest, _Hashing())
    with pytest.raises(TableError, match=r"--target .*\(cdmd corpus packages\)"): build_corpus(tmp / "x", tmp, manifest, _Hashing())
    assert not (tmp / "x").exists()
    (packages / "tinytables" / "shop2.csv").unlink()
    with pytest.raises(TableError, match="does not hold 'tinytables/shop2.csv'"): build_corpus(tmp / "x", packages, manifest, _Hashing(), show=False)
    (tmp / "x" / "index.json").write_text("{")
    with pytest.raises(TableError, match="damaged"): Corpus(tmp / "x")
    (tmp / "x" / "index.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(TableError, match="another version"): Corpus(tmp / "x")


def _hidden(df: pd.DataFrame, how: str, g) -> pd.DataFrame:
    "A copy that somebody tried to hide."
    df = df.sample(frac=1, random_state=1)
    if how == "subset": df = df.head(400)
    if how == "columns": df = df[list(g.permutation(df.columns)[:6])]
    if how == "one-hot": df = pd.get_dummies(df, columns=[c for c in df.columns if df[c].dtype == object and df[c].nunique() < 20])
    if how == "rounded text": df = df.astype(str).replace("nan", None)
    return df.set_axis([f"v{i}" for i in range(df.shape[1])], axis=1)


@pytest.mark.parametrize("how", ["renamed", "subset", "columns", "one-hot", "rounded text"])
def test_a_planted_copy_is_found(how):
    unseen = make_orders(3000).drop(columns="order id")
    mine = {"shop": ("Orders of a web shop", unseen)}
    report = leakage_report([("innocent", "Iris", load_dataset("iris").df), ("planted", "table", _hidden(unseen, how, np.random.default_rng(0)))], mine)
    assert report.table.tolist() == ["planted"] and report.rows[0] > 0.5


def test_other_rows_of_the_same_kind_are_no_copy():
    a, b = (fingerprint(make_orders(3000, seed=s).drop(columns="order id"), "x") for s in (1, 2))
    assert compare(a, b).rows < 0.02


@pytest.mark.parametrize("name", EVALUATION)
def test_a_renamed_third_of_each_evaluation_table_is_found(name):
    if not os.environ.get("CDMD_DATA"): pytest.skip("set CDMD_DATA to the folder of the seven evaluation datasets")
    d = load_dataset(name)
    part = d.df.sample(len(d.df) // 3, random_state=0).iloc[:, ::-1]
    part = part.set_axis([f"v{i}" for i in range(part.shape[1])], axis=1)
    report = leakage_report([("part", "table", part)], {name: (d.schema.name, d.df)})
    assert len(report) == 1 and report.rows[0] > 0.8


def test_the_whole_corpus_can_be_read_where_its_packages_are():
    entries = read_manifest()
    folder = Path(os.environ["CDMD_CORPUS_PACKAGES"]) if os.environ.get("CDMD_CORPUS_PACKAGES") else None
    if missing_packages(entries, folder): pytest.skip("install the packages of the corpus: pip install 'cdmd_nb[corpus]'")
    for e in entries[::20]:
        df, schema = read_entry(e, folder, cap=500)
        assert len(df) == min(e.rows, 500) and len(schema.used) == len(e.columns)
