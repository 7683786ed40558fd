"""Figures: what they show, that they cope with any report, and that nothing from a table can become markup."""
import json, re, subprocess, sys, os
from pathlib import Path

import numpy as np, pandas as pd, pytest

from cdmd_nb.metrics import METRICS, Report, _example, axes, evaluate
from cdmd_nb.plots import (REAL, SYNTHETIC, _embedded, _page_data, _safe, plot_card, plot_column, plot_losses, plot_pair, plot_privacy, plot_shapes,
                           plot_trends, report_page)
from cdmd_nb.schema import TableError, infer_schema

EVIL = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "%{x}<b>&amp;", "'\"`\\", "\u2028<!--", "a" * 500]


@pytest.fixture(scope="module")
def report():
    train, test, synthetic = _example(250, 1), _example(250, 2), _example(250, 3)
    return evaluate(train, test, synthetic, infer_schema(train, "Customers", target="buys"), skip=("MLE",), threads=1)


@pytest.fixture(scope="module")
def empty(): return Report("nothing", {"train": 0, "test": 0, "synthetic": 0}, dict.fromkeys(METRICS))


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({EVIL[0]: rng.choice(EVIL, 80), EVIL[1]: rng.normal(size=80), EVIL[2]: rng.choice(EVIL[:3], 80), EVIL[5]: rng.normal(size=80)})
    return evaluate(df, df, df, infer_schema(df, EVIL[0], target=EVIL[2]), skip=("MLE",), references=False)


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({f"a long name for column number {i}": rng.normal(size=60) for i in range(45)}
                      | {f"label {i}": rng.choice(list("abc"), 60) for i in range(5)})
    return evaluate(df, df, df.sample(frac=1, random_state=0), infer_schema(df, "wide"), skip=("MLE", "DCR", "Authenticity"), references=False)


def test_card_shows_scores_and_reference_points(report):
    fig = plot_card(report)
    assert fig.data[0].x[0] == pytest.approx(report["F"]) and fig.data[0].x[1] == 0
    assert "–" in fig.layout.yaxis.ticktext[1] and f"{report['F']:.1f}" in fig.layout.yaxis.ticktext[0]
    assert fig.data[1].x[0] == pytest.approx(axes(report.ceiling)["F"]) and fig.data[2].x[2] == pytest.approx(axes(report.floor)["P"])


def test_shapes_show_every_column_worst_first(report):
    fig = plot_shapes(report)
    scores = {y: x for t in fig.data for y, x in zip(t.y, t.x, strict=True)}
    assert len(scores) == 7 and [scores[i] for i in range(7)] == sorted(scores.values())
    names = dict(enumerate(fig.layout.yaxis.ticktext))
    for c in report.columns: assert scores[next(i for i, n in names.items() if n == c["name"])] == pytest.approx(100 * c["score"])
    assert {t.marker.pattern.shape for t in fig.data} == {"", "/"}


def test_numerical_column(report):
    fig = plot_column(report, "income")
    real, synthetic, real_cum, _ = fig.data
    assert real.line.color == REAL and synthetic.line.color == SYNTHETIC and synthetic.line.dash
    assert sum(real.y) / 2 == pytest.approx(100) and list(real_cum.x) == sorted(real_cum.x) and not real_cum.visible
    assert "missing: real" in fig.layout.xaxis.title.text
    assert plot_column(report, "since").data[0].x[0].startswith(("2023-12", "2024-01"))


def test_categorical_column(report):
    fig = plot_column(report, "region")
    assert sum(fig.data[0].y) == pytest.approx(100) and sum(fig.data[1].y) == pytest.approx(100)
    assert set(fig.layout.xaxis.ticktext) == {"north", "south", "<i>missing</i>"}
    with pytest.raises(TableError, match="no column 'x'"): plot_column(report, "x")


def test_many_labels_are_put_together():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"city": rng.choice([f"city {i}" for i in range(100)], 3000), "n": rng.normal(size=3000)})
    got = evaluate(df, df, df, infer_schema(df), skip=tuple(m for m in METRICS if m != "Shape"), references=False)
    fig = plot_column(got, "city")
    assert fig.layout.xaxis.ticktext[-1] == "80 others" and len(fig.data[0].y) == 21 and sum(fig.data[0].y) == pytest.approx(100)


def test_trends(report):
    fig, names = plot_trends(report), [c["name"] for c in report.cells]
    for p in report.pairs:
        i, j = names.index(p["column_1"]), names.index(p["column_2"])
        for a, b in ((i, j), (j, i)):
            assert fig.data[0].z[a][b] == pytest.approx(p["real"]) and fig.data[1].z[a][b] == pytest.approx(p["synthetic"])
            assert fig.data[2].z[a][b] == pytest.approx(p["synthetic"] - p["real"], abs=1e-12)
    assert np.isnan(fig.data[0].z[0][0]) and "Trend" in fig.data[0].text[0][1]


def test_pair(report):
    fig = plot_pair(report, "age", "region")
    assert np.sum(fig.data[0].z) == pytest.approx(100) and np.sum(fig.data[2].z) == pytest.approx(0, abs=1e-9)
    assert np.array_equal(np.transpose(fig.data[0].z), plot_pair(report, "region", "age").data[0].z)
    assert len(fig.layout.yaxis.ticktext) == len(fig.data[0].z) and len(fig.layout.xaxis.ticktext) == len(fig.data[0].z[0])
    with pytest.raises(TableError, match="no joint table"): plot_pair(report, "age", "nothing")


def test_joint_table_by_hand():
    df = pd.DataFrame({"a": list("xxyy") * 10, "b": list("uuuv") * 10})
    got = evaluate(df, df, df, infer_schema(df), skip=("MLE",), references=False)
    z = np.array(plot_pair(got, "a", "b").data[0].z)
    rows, columns = plot_pair(got, "a", "b").layout.yaxis.ticktext, plot_pair(got, "a", "b").layout.xaxis.ticktext
    cell = lambda a, b: z[rows.index(a), columns.index(b)]
    assert cell("x", "u") == 50 and cell("y", "u") == 25 and cell("x", "v") == 0


def test_privacy(report):
    fig = plot_privacy(report)
    assert [sum(t.y) / 2 for t in fig.data] == pytest.approx([100, 100]) and f"{report.privacy['closer']:.1%}" in fig.layout.title.text
    assert fig.data[0].line.dash != fig.data[1].line.dash


def test_losses():
    history = [dict(step=s, loss=1 / (s + 1), lr=0.1) for s in range(50)]
    fig = plot_losses(history, smooth=0)
    assert [t.name for t in fig.data] == ["loss"] and fig.data[0].y[3] == pytest.approx(0.25) and list(fig.data[0].x) == list(range(50))
    assert len(plot_losses(pd.DataFrame(history)).data) == 2 and not plot_losses([]).data
    smooth = plot_losses([dict(step=s, loss=(-1) ** s) for s in range(400)]).data[1].y
    assert abs(smooth[-1]) < 0.2
    assert plot_losses([dict(epoch=1, loss=float("inf")), dict(epoch=2, loss=1.0)], smooth=0).data[0].y[1] == 1
    with pytest.raises(TableError, match="no 'x'"): plot_losses(history, ["x"])


@pytest.mark.parametrize("dark", [False, True])
def test_every_figure_with_every_report(report, empty, hostile, wide, dark):
    for r in (report, empty, hostile, wide):
        figures = [plot_card(r, dark), plot_shapes(r, dark), plot_trends(r, dark), plot_privacy(r, dark)]
        figures += [plot_column(r, c["name"], dark) for c in r.columns]
        figures += [plot_pair(r, p["column_1"], p["column_2"], dark) for p in r.pairs[:10] if "joint" in p]
        for f in figures: assert json.loads(f.to_json()) and f.layout.template.layout.paper_bgcolor == ("#15181d" if dark else "#ffffff")


def test_fifty_columns_have_room(wide):
    shapes, trends = plot_shapes(wide), plot_trends(wide)
    assert shapes.layout.height / 50 >= 15
    low, high = trends.layout.yaxis.domain
    room = (high - low) * (trends.layout.height - trends.layout.template.layout.margin.t) / 50
    assert room >= 11 and trends.layout.yaxis.tickfont.size <= 10
    assert len(set(map(len, shapes.layout.yaxis.ticktext))) <= 3 and max(map(len, shapes.layout.yaxis.ticktext)) <= 32


def test_text_is_escaped_and_cut():
    assert _safe("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;" and len(_safe("y" * 99)) == 32 and "%{" not in _safe("%{x}")


def test_page_is_self_contained_and_safe(hostile):
    page = report_page(hostile)
    before, rest = page.split("<script>", 1)
    data = rest.split("id='figures'>")[1].split("</script>")[0]
    for part in (before, data):
        for tag in ("<script", "<img", "</script", "<!--", "onerror=alert(2)>"): assert tag not in part
    assert not re.search(r"<[^>]*\s(src|href)\s*=", before) and "\u2028" not in data
    assert json.loads(data)["columns"]
    text = json.dumps(json.loads(data))
    assert "<img" not in text and "<script" not in text


def test_page_of_anything(report, empty, wide):
    for r in (report, empty, wide):
        page = report_page(r)
        assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
        for m in METRICS: assert f"<td>{m}</td>" in page
    assert "there is no score for utility" in report_page(report) and "skipped on request" in report_page(report)


def test_page_data_has_every_pair(report):
    data = _page_data(report)
    assert len(data["pairs"]) == 21 and len(data["cells"]) == 7 and len(data["columns"]) == 7
    assert json.loads(_embedded(data)) == json.loads(json.dumps(data))


def test_html_is_written(report, tmp_path):
    report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()


def test_light_import():
    "Neither torch nor plotly come with the module."
    code = "import sys, cdmd_nb.plots; print([m for m in ('torch', 'plotly', 'xgboost', 'sdmetrics') if m in sys.modules])"
    root = Path(__file__).parent.parent
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert loaded.stdout.strip() == "[]", loaded.stdout + loaded.stderr
