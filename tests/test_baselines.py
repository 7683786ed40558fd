"""Other generators: tables on their way out and back, the protocol of the worker, errors as sentences."""
import json, os, subprocess, sys, textwrap, time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np, pandas as pd, pytest
from hypothesis import given

from cdmd_nb import peers
from cdmd_nb.baselines import BASELINES, Baseline, BaselineError, PeerTable, _Process, available, baselines_table
from cdmd_nb.schema import TableError, infer_schema
from tables import tables

ROOT = Path(__file__).parent.parent


@pytest.fixture
def people() -> pd.DataFrame:
    g = np.random.default_rng(0)
    return pd.DataFrame({"id": [f"P-{i:03d}" for i in range(60)], "born": pd.date_range("1990-01-01", periods=60, freq="7D"),
                         "children": g.poisson(1, 60).astype("int8"),
                         "income": np.where(g.random(60) < 0.1, np.nan, g.lognormal(10, 1, 60).round(2)), "city": g.choice(["Rome", "Oslo", None], 60),
                         "country": "EU", "owner": g.random(60) < 0.4})


@given(tables())
def test_every_table_survives_the_way_to_a_peer_and_back(df):
    schema = infer_schema(df)
    try: table = PeerTable.of(df, schema)
    except TableError: return
    assert all(isinstance(c, str) for c in table.frame.columns) and table.frame.columns.is_unique
    new, notes = table.back(table.frame)
    assert list(new.columns) == list(df.columns) and len(new) == len(df)
    assert [str(t) for t in new.dtypes] == [str(t) for t in df.dtypes]
    assert not [n for n in notes if "rounded" not in n]
    for c in schema.used:
        assert (new[c.name].isna().to_numpy() == df[c.name].isna().to_numpy()).all() or c.format is not None or df[c.name].dtype.kind == "f"
        if c.type == "categorical": assert new[c.name].astype(str).tolist() == df[c.name].astype(str).tolist()


def test_what_peers_get_wrong_is_repaired_and_noted(people):
    schema = infer_schema(people)
    table = PeerTable.of(people, schema)
    made = table.frame.head(4).astype(object)
    made["children"], made["city"] = [0.4, -300, 2.0, None], ["Rome", "Atlantis", None, "Oslo"]
    made["owner"], made["income"] = ["True", None, "False", "yes"], ["x", 1.239, np.inf, 2]
    new, notes = table.back(made)
    assert new.children.tolist() == [0, -128, 2, round(people.children.mean())] and str(new.children.dtype) == "int8"
    assert new.city.isna().tolist() == [False, True, True, False] and new.owner.tolist() == [True, False, False, False]
    assert new.income.isna().tolist() == [True, False, True, False]
    assert "children: 1 whole numbers came with decimals, rounded." in notes and "children: 1 cells were not numbers, set to the mean." in notes
    assert any("city: 1 labels that the table does not have ('Atlantis')" in n for n in notes) and any("owner: 2 labels" in n for n in notes)
    assert new.id.tolist() == ["P-060", "P-061", "P-062", "P-063"]


def test_real_rows_again_go_through_a_real_worker(people):
    schema = infer_schema(people, target="owner")
    with replace(BASELINES["bootstrap"]) as peer:
        new = peer.fit(people, schema, threads=1, timeout=60).sample(100, seed=3, timeout=60)
        pd.testing.assert_frame_equal(peer.sample(100, seed=3), new)
        assert not peer.sample(100, seed=4).equals(new)
        folder, pid = Path(peer._folder.name), peer._process.popen.pid
        assert peer.fitted["seconds"] >= 0 and peer.fitted["memory"] > 10 and peer.sampled["rows"] == 100
    assert not folder.exists() and subprocess.run(["ps", "-p", str(pid)], capture_output=True).returncode
    assert new.dtypes.equals(people.dtypes) and set(new.country) == {"EU"} and new.income.isna().any()
    rows = people.drop(columns="id").astype(str).agg("|".join, axis=1)
    assert new.drop(columns="id").astype(str).agg("|".join, axis=1).isin(set(rows)).all()


FAKE = """
import json, os, sys, time
for line in sys.stdin:
    job = json.loads(line)
    print("doing", job["do"], file=sys.stderr, flush=True)
    {body}
"""


@pytest.fixture
def fake(tmp_path):
    "A baseline whose worker does what `body` says for each command."
    opened = []

    def make(body: str) -> Baseline:
        script = tmp_path / "worker.py"
        script.write_text(FAKE.format(body=textwrap.indent(textwrap.dedent(body), "    ").strip()))
        opened.append(Baseline("fake", "Fake", "", "", worker=script))
        return opened[-1]
    yield make
    for b in opened: b.close()


@pytest.mark.parametrize("body, said", [
    ("os.kill(os.getpid(), 9)", "Fake was killed, most likely for want of memory, while fitting (its last words: doing fit)."),
    ("os.abort()", "Fake crashed (SIGABRT) while fitting (its last words: doing fit)."),
    ("sys.exit('no such thing')", "Fake ended with exit code 1 while fitting (its last words: no such thing)."),
    ("print('hello', flush=True)", "Fake answered nonsense while fitting: hello (its last words: doing fit)."),
    ("print(json.dumps({'ok': False, 'error': 'ValueError: too few rows'}), flush=True)",
     "Fake failed while fitting: ValueError: too few rows (its last words: doing fit)."),
])
def test_whatever_happens_to_a_worker_is_one_sentence(fake, people, body, said):
    with pytest.raises(BaselineError) as e: fake(body).fit(people, infer_schema(people))
    assert str(e.value) == said


def test_a_worker_that_ended_before_it_was_asked_is_one_sentence_too(tmp_path):
    worker = _Process([sys.executable, "-c", ""], dict(os.environ), tmp_path, "Fake")
    worker.popen.wait()
    with pytest.raises(BaselineError, match="Fake ended with exit code 0 while fitting"): worker.ask("fitting", {"do": "fit"}, 30)
    assert worker.popen.stdin.closed and worker.popen.stdout.closed


def test_a_worker_that_hangs_is_stopped_with_its_children(fake, people):
    peer = fake("import subprocess; p = subprocess.Popen(['sleep', '600']); open('child', 'w').write(str(p.pid)); p.wait()")
    start = time.monotonic()
    with pytest.raises(BaselineError, match="Fake was still fitting after 2 s and was stopped"): peer.fit(people, infer_schema(people), timeout=2)
    assert time.monotonic() - start < 20
    child = (Path(peer._folder.name) / "child").read_text()
    time.sleep(0.2)
    state = subprocess.run(["ps", "-o", "stat=", "-p", child], capture_output=True, text=True).stdout.strip()
    assert not state or state.startswith("Z")
    with pytest.raises(BaselineError, match="has not learned a table"): peer.sample(5)


def test_the_worker_is_told_what_the_columns_are(fake, people):
    peer = fake("""
    if job["do"] == "fit": open("job.json", "w").write(json.dumps(job)); print(json.dumps({"ok": True, "seconds": 0}), flush=True)
    else: open(job["path"], "w").write("born,children,income,city,country,owner\\n7,2,,Rome,EU,True\\n"); print(json.dumps({"ok": True, "rows": 1}), flush=True)
    """)
    schema = infer_schema(people, types={"children": "numerical"})
    peer.fit(people, schema, target="city", epochs=3, seed=5, threads=2)
    job = json.loads((Path(peer._folder.name) / "job.json").read_text())
    assert (job["numerical"], job["categorical"]) == (["born", "children", "income"], ["city", "country", "owner"])
    assert [job[k] for k in ("target", "task", "epochs", "minutes", "seed", "threads")] == ["city", "multiclass", 3, None, 5, 2]
    row = peer.sample(1).iloc[0]
    assert row.born == pd.Timestamp("1990-01-08") and row.children == 2 and np.isnan(row.income) and row.city == "Rome"


def test_what_is_missing_is_said_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("CDMD_PEERS_PYTHON", sys.executable)
    for name in BASELINES:
        said = available(name)
        assert said is None or (said.endswith(".") and BASELINES[name].title in said), name
    assert available("bootstrap") is None and "no code" in available("ctsyn")
    monkeypatch.setenv("CDMD_PYTHON_CTGAN", "/no/such/python")
    assert "correct CDMD_PYTHON_CTGAN" in available("ctgan")
    monkeypatch.setenv("CDMD_TABSYN", str(tmp_path))
    assert available("tabsyn") == "TabSyn needs a clone of https://github.com/amazon-science/tabsyn, but the folder that CDMD_TABSYN names is not one."
    (tmp_path / "tabsyn").mkdir()
    (tmp_path / "tabsyn/main.py").touch()
    assert available("tabsyn") is None
    monkeypatch.delenv("CDMD_TABSYN")
    with pytest.raises(BaselineError, match="git clone"): BASELINES["tabsyn"].fit(pd.DataFrame({"x": [1]}), infer_schema(pd.DataFrame({"x": [1]})))
    with pytest.raises(BaselineError, match="There is no baseline"): available("nobody")


def test_the_worker_imports_nothing_of_ours_and_ends_with_its_input():
    code = "import runpy, sys; runpy.run_path('peers.py', run_name='peers'); print([m for m in sys.modules if m.startswith('cdmd_nb')])"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "cdmd_nb", capture_output=True, text=True, env={**os.environ, "PYTHONSAFEPATH": "1"})
    assert out.stdout.strip() == "[]", out.stderr
    run = subprocess.run([sys.executable, ROOT / "cdmd_nb/peers.py", "bootstrap"], input='{"do": "quit"}\n', capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")
    run = subprocess.run([sys.executable, ROOT / "cdmd_nb/peers.py", "nobody"], input="", capture_output=True, text=True)
    assert run.returncode == 1 and "Say which peer: smote, ctgan" in run.stderr


def test_every_peer_is_listed_once():
    listed = {n for n, b in BASELINES.items() if not b.reason}
    assert listed == set(peers.PEERS)
    table = baselines_table()
    assert list(table.index) == list(BASELINES) and (table["how to get it"].astype(bool) | (table.index == "bootstrap")).all()
    extra = (ROOT / "settings.ini").read_text().split("baselines_requirements = ")[1].splitlines()[0].split()
    assert set(extra) <= {p for b in BASELINES.values() for p in b.pip.split()}


def test_a_budget_in_minutes_ends_a_loop_near_its_time():
    budget = peers.Budget(minutes=0.3 / 60)
    for _ in budget.epochs(range(10**6)): time.sleep(0.02)
    assert 3 <= budget.done <= 16 and budget.left < 0.05


def test_holes_and_constants_come_back_where_a_peer_cannot_take_them():
    df = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["missing", None, "x"], "c": ["k"] * 3, "d": [None] * 3})
    job = peers.Job("", ["a"], ["b", "c", "d"])
    p = peers.prepare(df, job, missing=False)
    assert list(p.df.columns) == ["a", "b"] and p.df.a.tolist() == [1, 2, 3] and p.df.b.tolist() == ["missing", "missing 0", "x"]
    back = p.undo(p.df)
    assert list(back.columns) == ["a", "b", "c", "d"] and back.b.tolist() == ["missing", None, "x"] and back.c.tolist() == ["k"] * 3 and back.d.isna().all()
    assert peers.prepare(df, job, missing=True).df.isna().sum().sum() == 2


@pytest.mark.skipif(find_spec("imblearn") is None, reason="imbalanced-learn is not installed: pip install imbalanced-learn==0.14.2")
@pytest.mark.parametrize("target", ["owner", "income", "city", None])
def test_smote_makes_rows_of_every_class(people, target):
    schema = infer_schema(people, types={"children": "numerical"})
    with replace(BASELINES["smote"]) as peer: new = peer.fit(people, schema, target=target, threads=1).sample(150, seed=1)
    assert len(new) == 150 and new.dtypes.equals(people.dtypes)
    assert new.children.between(people.children.min(), people.children.max()).all()
    if target == "owner": assert abs(new.owner.mean() - people.owner.mean()) < 0.02


@pytest.mark.skipif(find_spec("imblearn") is None, reason="imbalanced-learn is not installed: pip install imbalanced-learn==0.14.2")
def test_smote_finds_the_same_neighbours_in_any_unit(people):
    made = []
    for unit in (1, 1024):  # a power of two: no rounding
        df = people.assign(income=people.income.astype("float64") * unit)
        with replace(BASELINES["smote"]) as peer: made.append(peer.fit(df, infer_schema(df), target="owner", threads=1).sample(150, seed=1))
    pd.testing.assert_frame_equal(made[0].drop(columns="income"), made[1].drop(columns="income"))
    assert np.allclose(made[1].income, made[0].income * 1024, rtol=1e-3)
