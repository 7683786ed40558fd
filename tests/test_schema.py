"""Recognising columns, editing them, and carrying schemas as JSON."""
import numpy as np, pandas as pd, pytest
from hypothesis import given
from tables import tables

from cdmd_nb.schema import Schema, TableError, infer_column, infer_schema

N = 400
rng = np.random.default_rng(0)


def column(values, name="x", type=None, dtype=None):
    return infer_column(pd.Series(values, name=name, dtype=dtype), type)


@pytest.mark.parametrize("values, type, kind", [
    (rng.poisson(4, N), "numerical", "integer"),
    (rng.normal(size=N), "numerical", "decimal"),
    (rng.integers(0, 2, N), "categorical", "boolean"),
    (rng.choice(["yes", "No"], N), "categorical", "boolean"),
    (rng.choice(["TRUE", "FALSE"], N), "categorical", "boolean"),
    (rng.choice([True, False], N), "categorical", "boolean"),
    (np.where(rng.random(N) < 0.2, np.nan, rng.poisson(40, N)), "numerical", "integer"),
    (pd.date_range("2020", periods=N, freq="D").strftime("%Y/%m/%d"), "numerical", "datetime"),
    (pd.date_range("2020", periods=N, freq="h").strftime("%d.%m.%Y %H:%M"), "numerical", "datetime"),
    (pd.date_range("2020", periods=N, freq="D").strftime("%B %d, %Y"), "numerical", "datetime"),
    (pd.date_range("2020", periods=N, freq="D").strftime("%Y%m%d").astype(int), "numerical", "datetime"),
    (pd.date_range("2020", periods=N, freq="D"), "numerical", "datetime"),
    ([f"{v:,}" for v in rng.integers(0, 10**7, N)], "numerical", "integer"),
    ([f"€{v:.2f}" for v in rng.random(N) * 99], "numerical", "decimal"),
    ([f"{v:.1f}%" for v in rng.random(N) * 99], "numerical", "decimal"),
    ([f"{v:.2f}".replace(".", ",") for v in rng.random(N) * 99], "numerical", "decimal"),
    (rng.choice(["red", "green", "blue"], N), "categorical", "label"),
    (rng.choice([f"city {i}" for i in range(150)], N), "categorical", "label"),
    ([f"{v:05d}" for v in rng.integers(0, 30, N)], "categorical", "label"),
    (["same"] * N, "categorical", "label"),
    ([7] * N, "categorical", "integer"),
])
def test_recognised(values, type, kind):
    c = column(values)
    assert (c.type, c.kind, c.ignored) == (type, kind, False), c
    assert c.reason and "\n" not in c.reason


@pytest.mark.parametrize("values, kind, word", [
    ([f"C{i}" for i in range(N)], "identifier", "identify"),
    (np.arange(1, N + 1), "identifier", "row number"),
    ([f"this is what customer {i} wrote to us" for i in range(N)], "text", "free text"),
    ([None] * N, "label", "no values"),
])
def test_ignored_with_a_reason_and_overruled(values, kind, word):
    c = column(values)
    assert c.ignored and c.kind == kind and word in c.reason
    if kind != "label": assert not column(values, type="categorical").ignored


def test_codes_and_counts_with_few_values():
    codes = np.repeat(np.arange(1, 9), [2585, 6601, 2555, 478, 6, 19, 7, 79])
    assert column(codes, "system").type == "categorical"
    assert column(rng.poisson(2, 9000), "purchases").type == "numerical"
    assert column(codes, "num_systems").type == "numerical"
    assert column(rng.poisson(2, 9000), "shop type").type == "categorical"


def test_missing_share_range_and_marker():
    c = column(["$1.50", "?", "$12.00", None, "$3.25"] * 10)
    assert c.missing == pytest.approx(0.4) and c.domain == (1.5, 12.0) and c.format.marker == "?"


def test_wrong_types_are_explained():
    with pytest.raises(TableError, match="'plan' cannot be numerical: 2 of its 4 different values are not numbers, such as 'basic', 'plus'"):
        column(["basic", "plus", "3", "4"] * 9, "plan", "numerical")
    with pytest.raises(TableError, match="cannot be a date"): column(["x", "y"] * 9, "when", "datetime")
    with pytest.raises(TableError, match="not a type"): column([1, 2], "n", "number")
    with pytest.raises(TableError, match="not supported"): column(pd.period_range("2020", periods=3, freq="M"))
    with pytest.raises(TableError, match="no rows"): infer_schema(pd.DataFrame({"a": []}))
    with pytest.raises(TableError, match="more than once"): infer_schema(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TableError, match="There is no column 'b'"): infer_schema(pd.DataFrame({"a": [1]}), types={"b": "numerical"})


def test_edits_leave_the_original_alone():
    df = pd.DataFrame({"code": np.repeat([1, 2, 3], 50), "y": rng.normal(size=150)})
    s = infer_schema(df, "t", target="y")
    t = s.retype(df, code="categorical").replace(description="d", target="code")
    assert t["code"].domain == (1, 2, 3) and t.target == "code" and s.target == "y" and s.description == ""
    assert t != s and t.retype(df, code="ignored")["code"].ignored


def test_markup_in_names_and_values_is_shown_as_text():
    df = pd.DataFrame({"<script>alert(1)</script>": ["<b>x</b>", "y"] * 9})
    page = infer_schema(df, "<i>t</i>")._repr_html_()
    assert "<script>" not in page and "<b>x" not in page and "<i>t" not in page


def test_types_of_the_evaluation_datasets(eval_dataset):
    df, meta = eval_dataset
    schema = infer_schema(df, meta["title"])
    wrong = [c for c in schema if c.ignored or c.type != ("numerical" if c.name in meta["numerical"] else "categorical")]
    print(meta["name"], "misses:", [(c.name, c.reason) for c in wrong])
    assert len(wrong) <= 0.05 * len(schema)


@given(tables())
def test_any_table_has_a_schema_that_survives_json(df):
    schema = infer_schema(df, "generated")
    assert schema.names == list(df.columns)
    assert all(c.reason for c in schema)
    again = Schema.from_json(schema.to_json())
    assert again == schema and again.to_json() == schema.to_json()
    assert repr(schema) and schema._repr_html_()
