"""The seven metrics: hand-computed cases, parity with sdmetrics and brute force, invariances, degenerate tables, reports."""
import itertools, json, os, subprocess, sys, warnings
from pathlib import Path

import numpy as np, pandas as pd, pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.neighbors import NearestNeighbors

from cdmd_nb.metrics import (AXES, METRICS, NotComputed, Report, Rows, _auc, _cramers_v, _example, _one_hot, _points, _shuffled, alpha_precision,
                             authenticity, axes, beta_recall, column_pairs, column_shapes, dcr, encode_tables, evaluate, mle, nearest, scale_of)
from cdmd_nb.schema import TableError, infer_schema


def line(*values):
    "Rows with a single number."
    return Rows(np.array(values, float)[:, None], np.zeros((len(values), 1), bool), np.zeros((len(values), 0), "int32"))


def labels(*values):
    "Rows with a single label."
    return Rows(np.zeros((len(values), 0)), np.zeros((len(values), 0), bool), np.array(values, "int32")[:, None])


def brute(rows, among, scale, p, own=False):
    "Distances to the nearest row by brute force over scaled numbers and one-hot labels."
    flags = rows.missing.any(0) | among.missing.any(0)
    (a, c), (b, d) = _points(rows, flags), _points(among, flags)
    sizes = np.maximum(c.max(0), d.max(0)) + 1 if c.shape[1] else np.zeros(0, int)
    x, y = (np.hstack([(n - scale[0]) / scale[1], _one_hot(k, sizes) / (2 if p == 1 else 1)]) for n, k in ((a, c), (b, d)))
    full = NearestNeighbors(n_neighbors=1 + own, algorithm="brute", metric="manhattan" if p == 1 else "euclidean").fit(y).kneighbors(x)[0]
    return full[:, -1]


def mixed(rng, n, numbers, cats, spread=3, holes=0.0):
    "Random mixed rows with many ties and duplicates."
    x = np.round(rng.normal(size=(n, numbers)), 1)
    missing = rng.random((n, numbers)) < holes
    x[missing] = 0
    return Rows(x, missing, rng.integers(0, spread, (n, cats)).astype("int32"))


def pair(real, synthetic, types=None):
    real, synthetic = pd.DataFrame(real), pd.DataFrame(synthetic)
    return encode_tables(real, real, synthetic, infer_schema(real, types=types))


@pytest.fixture(scope="module")
def three():
    "Training, test and synthetic rows, and their schema."
    train, test, synthetic = _example(300, 1), _example(300, 2), _example(300, 3)
    return train, test, synthetic, infer_schema(train, "Customers", target="buys")


@pytest.fixture(scope="module")
def report(three): return evaluate(*three, threads=1)


# Shape and Trend

def test_shape_by_hand():
    t = pair({"x": [1., 2, 3, 4], "c": list("aabb")}, {"x": [3., 4, 5, 6], "c": list("abbb")}, {"x": "numerical"})
    found = column_shapes(t, t.test, t.synthetic).set_index("column").score
    assert found["x"] == pytest.approx(0.5) and found["c"] == pytest.approx(0.75)


def test_trend_by_hand():
    t = pair({"x": [1., 2, 3], "y": [1., 2, 3]}, {"x": [1., 2, 3], "y": [3., 2, 1]}, {"x": "numerical", "y": "numerical"})
    assert column_pairs(t, t.test, t.synthetic).score[0] == pytest.approx(0)
    t = pair({"a": list("xxyy"), "b": list("uuvv")}, {"a": list("xxyy"), "b": list("uvuv")})
    found = column_pairs(t, t.test, t.synthetic).iloc[0]
    # two cells of 1/2 against four of 1/4: half of 4 * 1/4
    assert found.score == pytest.approx(0.5) and found.real == pytest.approx(1) and found.synthetic == pytest.approx(0, abs=1e-9)


def test_same_as_quality_report():
    "Every column, every pair, both totals: as sdmetrics' own report has them."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sdmetrics.reports.single_table import QualityReport
        real, synthetic = (_example(400, s).drop(columns=["since", "price"]).fillna({"income": 0, "region": "none"}) for s in (5, 6))
        synthetic["age"] = synthetic.age.sample(frac=1, random_state=0).to_numpy()
        schema = infer_schema(real)
        kinds = {c.name: {"sdtype": c.type} for c in schema}
        t = encode_tables(real, real, synthetic, schema)
        shapes, pairs = column_shapes(t, t.test, t.synthetic), column_pairs(t, t.test, t.synthetic)
        for strong in (True, False):
            q = QualityReport()
            if not strong: q.real_correlation_threshold = q.real_association_threshold = 0
            q.generate(real, synthetic, {"columns": kinds}, verbose=False)
            total = q.get_properties().set_index("Property").Score
            assert shapes.score.mean() == pytest.approx(total["Column Shapes"], abs=1e-12)
            mine = pairs[pairs.counts] if strong else pairs
            assert mine.score.mean() == pytest.approx(total["Column Pair Trends"], abs=1e-12)
            theirs = {frozenset((r["Column 1"], r["Column 2"])): r["Score"] for _, r in q.get_details("Column Pair Trends").iterrows()}
            for r in mine.itertuples(): assert r.score == pytest.approx(theirs[frozenset((r.column_1, r.column_2))], abs=1e-12)


def test_cramers_v_without_relation():
    assert np.isnan(_cramers_v(np.zeros(5, int), np.arange(5))) and np.isnan(_cramers_v(np.zeros(0, int), np.zeros(0, int)))


# Nearest neighbours

@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.integers(0, 4), st.integers(0, 5), st.sampled_from([0, 0.3]),
       st.sampled_from([1, 2]))
def test_nearest_is_exact(seed, n, m, numbers, cats, holes, p):
    if numbers + cats == 0: numbers = 1
    rng = np.random.default_rng(seed)
    a, b = mixed(rng, n, numbers, cats, holes=holes), mixed(rng, m, numbers, cats, holes=holes)
    scale = scale_of(b)
    d, i = nearest(a, b, scale, p)
    assert np.allclose(d, brute(a, b, scale, p), atol=1e-6)
    one = [nearest(a.take([k]), b.take([i[k]]), scale, p)[0][0] for k in range(min(n, 5))]
    assert np.allclose(one, d[:5], atol=1e-9)
    if m > 1: assert np.allclose(nearest(b, b, scale, p, own=True)[0], brute(b, b, scale, p, own=True), atol=1e-6)


@pytest.mark.parametrize("numbers,cats,spread,p", [(3, 2, 2, 1), (3, 2, 2, 2), (20, 0, 1, 1), (20, 0, 1, 2), (20, 2, 3, 1), (20, 2, 3, 2),
                                                   (0, 8, 4, 1)])
def test_nearest_is_exact_in_every_branch(numbers, cats, spread, p):
    "Large groups go through the k-d tree or the lower bounds, small ones through pairs."
    rng = np.random.default_rng(0)
    a, b = mixed(rng, 1500, numbers, cats, spread), mixed(rng, 1300, numbers, cats, spread)
    scale = scale_of(b)
    assert np.allclose(nearest(a, b, scale, p)[0], brute(a, b, scale, p), atol=1e-6)
    d, i = nearest(b, b, scale, p, own=True)
    assert np.allclose(d, brute(b, b, scale, p, own=True), atol=1e-6)


def test_nearest_of_nothing():
    assert nearest(line(1, 2), line(), (np.zeros(1), np.ones(1)))[0].tolist() == [np.inf, np.inf]
    assert len(nearest(line(), line(1), (np.zeros(1), np.ones(1)))[0]) == 0


# alpha-Precision, beta-Recall, Authenticity, DCR

def test_precision_and_recall_extremes():
    rng = np.random.default_rng(0)
    cloud = Rows(rng.normal(size=(500, 3)), np.zeros((500, 3), bool), np.zeros((500, 0), "int32"))
    other = Rows(rng.normal(size=(500, 3)), cloud.missing, cloud.codes)
    far = Rows(cloud.numbers + 100, cloud.missing, cloud.codes)
    point = Rows(np.zeros((500, 3)), cloud.missing, cloud.codes)
    assert alpha_precision(cloud, cloud) > 99 and alpha_precision(cloud, other) > 93
    # nothing inside any ball: 1 - sum(u) / sum(u) = 0; everything inside every ball is as wrong
    assert alpha_precision(cloud, far) == pytest.approx(0, abs=1e-6) and alpha_precision(cloud, point) == pytest.approx(0, abs=8)
    assert beta_recall(cloud, cloud) > 99 and 35 < beta_recall(cloud, other) < 60
    assert beta_recall(cloud, far) == 0 and beta_recall(cloud, point) < 15


def test_recall_by_hand():
    # real rows 0, 1, 10: nearest others 1, 1, 9 away; synthetic 0.5, 0.5, 5: all three covered, by 0.5, 0.5 and 5
    real, synthetic = line(0, 1, 10), line(0.5, 0.5, 5)
    grid = np.linspace(0, 1, 30)
    to_mean = np.array([1.5, 1.5, 3.0]) / 10
    inside = (to_mean[:, None] <= np.quantile(to_mean, grid) * (1 + 1e-9)).mean(0)
    assert beta_recall(real, synthetic) == pytest.approx(100 * (1 - np.abs(grid - inside).sum() / grid.sum()))


def test_authenticity_by_hand():
    assert authenticity(line(0, 1, 3), line(0.4, -2)) == 50
    assert authenticity(line(0, 1, 3), line(0, 1, 3)) == 0
    assert authenticity(labels(0, 1), labels(2, 0)) == 0  # another label is as far as the training rows are from each other
    assert authenticity(line(5, 5, 9), line(5.001, 9)) == 50  # duplicates have distance 0 to each other


def test_dcr_by_hand():
    found = dcr(line(0, 10), line(4, 5), line(1, 4.5, 2))
    assert found.closer == pytest.approx(1 / 3) and found.score == 100 and np.allclose(found.train, [0.1, 0.45, 0.2])
    assert dcr(line(0, 10), line(4, 5), line(0, 10)).score == 0
    assert dcr(line(0, 10), line(4, 5), line(0, 10, 4.1, 4.2)).score == 100
    assert dcr(line(0, 10), line(4, 5), line(0, 10, 9.9, 4.2)).score == pytest.approx(50)
    assert dcr(labels(0, 1), labels(1, 1), labels(0, 1)).closer == 0.5


def test_dcr_few_shot_averages_over_seeds():
    rng = np.random.default_rng(0)
    holdout, synthetic = line(*rng.normal(size=400)), line(*rng.normal(size=200))
    few = dcr(line(*rng.normal(size=10)), holdout, synthetic)
    one = dcr(line(*np.random.default_rng(0).normal(size=10)), holdout, synthetic, seeds=1)
    assert 0 < few.closer < 1 and few.closer * 20 * 200 == pytest.approx(round(few.closer * 20 * 200), abs=1e-6)
    assert one.closer * 200 == pytest.approx(round(one.closer * 200), abs=1e-9)


# MLE

def test_auc_by_hand():
    assert _auc(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])) == 0.75
    assert _auc(np.array([0, 1, 2]), np.array([[.8, .1, .1], [.2, .6, .2], [.1, .2, .7]])) == 1
    assert np.isnan(_auc(np.array([1, 1]), np.array([0.1, 0.2])))


def test_mle_grid_is_the_paper_grid(monkeypatch):
    "Each of the 36 settings is scored once on validation, and the best one is the result of fitting it alone."
    import xgboost as xgb, cdmd_nb.metrics as m
    t = encode_tables(_example(250, 1), _example(250, 2), _example(250, 3), infer_schema(_example(250, 1)))
    seen, original = [], m._validation_score
    monkeypatch.setattr(m, "_validation_score", lambda y, p, classes: seen.append(original(y, p, classes)) or seen[-1])
    found = mle(t, t.synthetic, t.test, "buys", threads=1)
    assert len(seen) == 36
    grid = [(n, d, w, g) for d, w, g, n in itertools.product((5, 10, 20), (1, 10), (0, 1), (10, 50, 100))]
    best = grid[int(np.argmax(seen))]
    assert tuple(found.best[k] for k in ("n_estimators", "max_depth", "min_child_weight", "gamma")) == best
    task = m._problem(t, t.synthetic, t.test, "buys", False)
    order = task.order[np.random.default_rng(0).permutation(len(task.y))]
    learn = order[len(order) // 9:]
    floats = [i for i, k in enumerate(task.types) if k == "float"]
    cats = [i for i, k in enumerate(task.types) if k == "c"]
    sizes = np.maximum(task.x[:, cats].max(0), task.test_x[:, cats].max(0)).astype(int) + 1
    plain = [np.hstack([x[:, floats], _one_hot(x[:, cats].astype(int), sizes)]) for x in (task.x, task.test_x)]
    alone = xgb.XGBClassifier(n_estimators=best[0], max_depth=best[1], min_child_weight=best[2], gamma=best[3], tree_method="hist", n_jobs=1)
    p = alone.fit(plain[0][learn], task.y[learn]).predict_proba(plain[1])[:, 1]
    assert found.score == pytest.approx(100 * _auc(task.test_y, p), abs=1e-6)


def test_mle_tasks(three):
    t = encode_tables(*three)
    assert mle(t, t.synthetic, t.test, "work", threads=1).task == "multiclass"
    income = mle(t, t.synthetic, t.test, "income", threads=1)
    assert income.task == "regression" and 60 < income.score < 100
    assert mle(t, t.synthetic, t.test, "income", log=True, threads=1).score != income.score
    assert mle(t, t.synthetic, t.test, "since", threads=1).task == "regression"


def test_mle_says_which_class_is_lost(three):
    train, test, synthetic, schema = three
    t = encode_tables(train, test, synthetic[synthetic.work != "self"], schema)
    assert "no 'self'" in mle(t, t.synthetic, t.test, "work", threads=1).note
    t = encode_tables(train, test, synthetic[synthetic.buys], schema)
    with pytest.raises(NotComputed, match="single class"): mle(t, t.synthetic, t.test, "buys", threads=1)


# Report

def test_axes_of_the_paper():
    "The Train Set row of Adult."
    got = axes(dict(zip(METRICS, [99.38, 98.65, 99.52, 48.55, 92.75, 0.19, 0.0], strict=True)))
    assert [got[k] for k in "FUPQS"] == pytest.approx([86.52, 92.75, 0.095, 89.64, 59.79], abs=0.011)


def test_reference_points(report):
    assert report.ceiling["Authenticity"] == 0 and report.ceiling["DCR"] < 5
    assert report.floor["Shape"] > 85 and report.floor["Trend"] < report.ceiling["Trend"] and report.floor["MLE"] < 70 < report.ceiling["MLE"]
    assert abs(report["F"] - axes(report.ceiling)["F"]) < 8


def test_report_round_trip(report, tmp_path):
    again = Report.from_json(report.to_json())
    assert again == report and json.loads(report.to_json())["report"] == 1
    frame = again.to_frame()
    assert list(frame.index[:7]) == list(METRICS) and frame.meaning.str.len().min() > 20 and frame.score.between(0, 100).all()
    assert frame.loc["Q (Generation quality)", "score"] == pytest.approx((report["F"] + report["U"]) / 2)
    for bad in ("", "[]", "{}", '{"report": 2}', '{"report": 1, "nonsense": 0}'):
        with pytest.raises(TableError): Report.from_json(bad)


def test_order_of_rows_and_columns_does_not_matter(three, report):
    train, test, synthetic, _ = three
    moved = [t.sample(frac=1, random_state=k)[list(np.random.default_rng(k).permutation(t.columns))] for k, t in enumerate((train, test, synthetic))]
    again = evaluate(*moved, infer_schema(moved[0], "Customers", target="buys"), threads=1)
    for mine, theirs in ((report.scores, again.scores), (report.ceiling, again.ceiling), (report.floor, again.floor)):
        for m in METRICS: assert mine[m] == pytest.approx(theirs[m], abs=1e-9), m


def test_order_does_not_matter_with_many_ties():
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame({"a": rng.integers(0, 3, 120), "b": rng.choice(list("xyz"), 120), "c": rng.integers(0, 30, 120)}) for _ in range(3)]
    types = {"a": "categorical", "b": "categorical", "c": "numerical"}
    first = evaluate(*frames, infer_schema(frames[0], types=types), target="b", threads=1, references=False)
    moved = [f.sample(frac=1, random_state=9)[["c", "a", "b"]] for f in frames]
    again = evaluate(*moved, infer_schema(moved[0], types=types), target="b", threads=1, references=False)
    for m in METRICS: assert first[m] == pytest.approx(again[m], abs=1e-9), m


def test_labels_are_matched_across_types():
    real = pd.DataFrame({"k": [1, 2, 2, 1] * 5, "f": [True, False] * 10})
    other = pd.DataFrame({"k": pd.Series([1.0, 2.0, 2.0, np.nan] * 5), "f": pd.Categorical([True, False] * 10)})
    t = encode_tables(real, real, other, infer_schema(real, types={"k": "categorical"}))
    score = column_shapes(t, t.test, t.synthetic).set_index("column").score
    assert score["k"] == pytest.approx(0.75) and score["f"] == 1


def test_written_numbers_and_dates_are_read(three):
    t = encode_tables(*three)
    price = [c.name for c in t.numerical].index("price")
    assert t.train.numbers[0, price] == float(three[0].price[0].replace("$", "").replace(",", ""))
    since = [c.name for c in t.numerical].index("since")
    assert t.train.numbers[0, since] == (pd.Timestamp(three[0].since[0]) - pd.Timestamp(0)).days
    stamps = [d.assign(since=pd.to_datetime(d.since).astype(f"datetime64[{u}]")) for d, u in zip(three[:3], ("ns", "s", "ms"), strict=True)]
    again = encode_tables(*stamps, infer_schema(stamps[0]))
    since = [c.name for c in again.numerical].index("since")
    assert np.array_equal(again.test.numbers[:, since], t.test.numbers[:, [c.name for c in t.numerical].index("since")])


def test_ignored_columns_are_left_out(three):
    train, test, synthetic, schema = three
    t = encode_tables(train, test, synthetic.drop(columns="price"), schema.retype(train, price="ignored"))
    assert "price" not in [c.name for c in t.numerical]


def test_progress_and_skip(three):
    seen = []
    got = evaluate(*three, skip=("MLE", "Trend"), threads=1, progress=lambda share, text: seen.append((share, text)))
    assert got["MLE"] is None and got.notes["MLE"] == "skipped on request" and got["Q"] is None and got["F"] is not None
    shares = [s for s, _ in seen]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1 and any("floor" in t for _, t in seen)
    later = evaluate(*three, skip=("MLE", "Trend"), references=got)
    assert later.ceiling == got.ceiling and later.floor == got.floor


def test_shuffled_keeps_columns_and_breaks_relations(three):
    t = encode_tables(*three)
    loose = _shuffled(t.train, 0)
    for f in ("numbers", "codes"): assert np.array_equal(np.sort(getattr(loose, f), 0), np.sort(getattr(t.train, f), 0))
    assert loose.missing.sum() == t.train.missing.sum() and not np.array_equal(loose.numbers, t.train.numbers)


# Degenerate tables

NUMBERS = pd.DataFrame({"x": np.linspace(0, 1, 40), "y": np.linspace(0, 1, 40) ** 2})
LABELS = pd.DataFrame({"a": list("uv") * 20, "b": list("uuvw") * 10})
HOLES = pd.DataFrame({"x": [np.nan] * 40, "a": [None] * 40, "y": np.linspace(0, 1, 40), "b": list("uv") * 20})
CASES = {
    "numbers": (NUMBERS, NUMBERS, NUMBERS), "labels": (LABELS, LABELS, LABELS),
    "one column": (NUMBERS[["x"]],) * 3, "one label column": (LABELS[["a"]],) * 3,
    "constant": (NUMBERS.assign(x=5.0),) * 3, "constant here, not there": (NUMBERS.assign(x=5.0), NUMBERS.assign(x=5.0), NUMBERS),
    "huge constant": (NUMBERS.assign(x=1e17),) * 3, "huge": (NUMBERS * 1e300, NUMBERS * 1e300, -NUMBERS * 1e300),
    "one class": (LABELS.assign(a="u"),) * 3, "all missing": (NUMBERS.assign(x=np.nan),) * 3,
    "missing there": (NUMBERS, NUMBERS, NUMBERS.assign(x=np.nan)), "missing labels there": (LABELS, LABELS, LABELS.assign(a=None)),
    "no synthetic rows": (NUMBERS, NUMBERS, NUMBERS.head(0)), "no test rows": (NUMBERS, NUMBERS.head(0), NUMBERS),
    "one row each": (NUMBERS.head(1),) * 3, "one training row": (NUMBERS.head(1), NUMBERS, NUMBERS), "two rows": (LABELS.head(2),) * 3,
    "one synthetic row": (LABELS, LABELS, LABELS.head(1)), "infinite": (NUMBERS, NUMBERS, NUMBERS.assign(x=np.inf)),
    "new labels": (LABELS, LABELS, LABELS.assign(a="never seen")), "labels lost": (LABELS, LABELS, LABELS.assign(b="u")),
    "number names": (NUMBERS.set_axis([0, 1], axis=1),) * 3, "identical rows": (NUMBERS.iloc[[0] * 30],) * 3,
    "unequal sizes": (NUMBERS, NUMBERS.head(7), NUMBERS.head(23)), "duplicate index": (pd.concat([NUMBERS, NUMBERS]),) * 3,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("last", [True, False], ids=["target", "no target"])
def test_degenerate_tables_never_crash(case, last):
    train, test, synthetic = CASES[case]
    known = NUMBERS.set_axis(train.columns, axis=1) if case == "number names" else NUMBERS if "x" in train else LABELS
    kinds = {c: "numerical" if known is not LABELS else "categorical" for c in train.columns}
    schema = infer_schema(known[list(train.columns)], "case", types=kinds)
    got = evaluate(train, test, synthetic, schema, target=list(train.columns)[-1] if last else None, threads=1)
    for m in METRICS:
        assert got[m] is None or 0 <= got[m] <= 100 + 1e-9, m
        assert got[m] is not None or got.notes[m], m
    assert Report.from_json(got.to_json()) == got and len(got.to_frame()) == len(METRICS) + len(AXES)
    if case == "no synthetic rows": assert all(v is None for v in got.scores.values())
    if case in ("numbers", "labels"): assert got["Shape"] == 100 and got["Authenticity"] == 0


def test_mixed_with_all_kinds_of_holes():
    schema = infer_schema(HOLES.assign(x=NUMBERS.x, a=LABELS.a), types={"x": "numerical", "y": "numerical"})
    got = evaluate(HOLES, HOLES, HOLES, schema, target="b", threads=1)
    assert got["Authenticity"] == 0 and "without x" in got.notes["Shape"]


def test_errors_of_the_user(three):
    train, test, synthetic, schema = three
    for bad, words in ((lambda: evaluate(train, test, synthetic.drop(columns="age"), schema), "no column 'age'"),
                       (lambda: evaluate(train, test, "rows.csv", schema), "must be a pandas DataFrame"),
                       (lambda: evaluate(train, test, synthetic, schema, target="nothing"), "'nothing' is not a column"),
                       (lambda: evaluate(train, test, synthetic, schema, skip=("Shapes",)), "no metric 'Shapes'"),
                       (lambda: evaluate(train, test, synthetic.assign(price="abc"), schema), "price")):
        with pytest.raises(TableError, match=words): bad()


def test_light_import():
    "The module comes without torch, and without the libraries that only some of it needs."
    code = "import sys, cdmd_nb.metrics; print([m for m in ('torch', 'sdmetrics', 'xgboost', 'plotly', 'sklearn') if m in sys.modules])"
    root = Path(__file__).parent.parent
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert loaded.stdout.strip() == "[]", loaded.stdout + loaded.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif("CDMD_DATA" not in os.environ, reason="needs CDMD_DATA, the folder of the seven tables")
def test_train_set_row_of_magic():
    "The training half of Magic scored as synthetic rows gives the paper's numbers."
    folder = Path(os.environ["CDMD_DATA"])
    df, meta = pd.read_csv(folder / "magic.csv.gz"), json.loads((folder / "magic.json").read_text())
    order = np.random.default_rng(0).permutation(len(df))
    train, test = df.iloc[order[:len(df) // 2]], df.iloc[order[len(df) // 2:]]
    got = evaluate(train, test, train, infer_schema(df, target=meta["target"]), references=False, threads=1)
    paper = {"Shape": 99.08, "alpha-Precision": 99.54, "beta-Recall": 50.20, "MLE": 92.78, "DCR": 1.20, "Authenticity": 0}
    for m, v in paper.items(): assert got[m] == pytest.approx(v, abs=1.0), m
