"""A hypothesis strategy for tables of every shape a user might bring."""
import datetime

import numpy as np, pandas as pd
from hypothesis import strategies as st

LABELS = ["a", "b", "", " ", "é", "=1+1", "1", "True", "nan?", "x" * 300, "日本", "a,b", 'q"q', "line\nbreak", "0", "-", "?"]
text = st.one_of(st.sampled_from(LABELS), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12))


def _holes(draw, values: list, hole) -> list:
    mask = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))) if draw(st.booleans()) else [False] * len(values)
    return [hole if m else v for v, m in zip(values, mask, strict=True)]


def _repeat(draw, element, n: int) -> list:
    "`n` values, often drawn from a few so that there are ties."
    if draw(st.booleans()):
        few = draw(st.lists(element, min_size=1, max_size=4))
        return [few[i] for i in draw(st.lists(st.integers(0, len(few) - 1), min_size=n, max_size=n))]
    return draw(st.lists(element, min_size=n, max_size=n))


floats = st.one_of(st.floats(allow_nan=False, width=64), st.floats(-1e3, 1e3).map(lambda x: round(x, 2)), st.sampled_from([1e-12, 1e12, 0.0, -0.0]))
stamps = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
FORMATS = ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M:%S", "%b %d, %Y", "%Y%m%d", "%H:%M"]


@st.composite
def columns(draw, n: int) -> pd.Series:
    "One column of `n` rows."
    kind = draw(st.sampled_from(["int", "bigint", "Int64", "uint", "float", "float32", "bool", "boolean", "text", "string", "mixed", "category", "stamp",
                                 "zoned", "delta", "date", "datetext", "money", "decimal", "objint", "id", "prose", "empty", "constant", "list"]))
    rep = lambda e: _repeat(draw, e, n)
    if kind == "int": return pd.Series(rep(st.integers(-50, 50)), dtype=draw(st.sampled_from(["int64", "int32", "int8"])))
    if kind == "bigint": return pd.Series(rep(st.integers(-2**63, 2**63 - 1)), dtype="int64")
    if kind == "Int64": return pd.Series(_holes(draw, rep(st.integers(-2**60, 2**60)), pd.NA), dtype="Int64")
    if kind == "uint": return pd.Series(rep(st.integers(0, 2**64 - 1)), dtype="uint64")
    if kind == "float": return pd.Series(_holes(draw, rep(floats), np.nan), dtype="float64")
    if kind == "float32": return pd.Series(_holes(draw, rep(st.floats(-1e6, 1e6, width=32)), np.nan), dtype="float32")
    if kind == "bool": return pd.Series(rep(st.booleans()), dtype=bool)
    if kind == "boolean": return pd.Series(_holes(draw, rep(st.booleans()), pd.NA), dtype="boolean")
    if kind == "text": return pd.Series(_holes(draw, rep(text), draw(st.sampled_from([None, np.nan]))), dtype=object)
    if kind == "string": return pd.Series(_holes(draw, rep(text), pd.NA), dtype="string")
    if kind == "mixed": return pd.Series(_holes(draw, rep(st.one_of(text, st.integers(), st.booleans(), st.floats(allow_nan=False))), None), dtype=object)
    if kind == "category":
        values = _holes(draw, rep(st.one_of(text)), None)
        return pd.Series(pd.Categorical(values, ordered=draw(st.booleans()), categories=sorted({v for v in values if v is not None} | {"never seen"})))
    if kind == "stamp": return pd.Series(_holes(draw, rep(stamps), pd.NaT), dtype=draw(st.sampled_from(["datetime64[ns]", "datetime64[us]", "datetime64[s]"])))
    if kind == "zoned": return pd.Series(pd.DatetimeIndex(_holes(draw, rep(stamps), pd.NaT)).tz_localize("UTC").tz_convert("Asia/Tokyo"))
    if kind == "delta": return pd.Series(_holes(draw, rep(st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))), pd.NaT), dtype="timedelta64[ns]")
    if kind == "date": return pd.Series(_holes(draw, rep(st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1))), None), dtype=object)
    if kind == "datetext":
        pattern = draw(st.sampled_from(FORMATS))
        recent = st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2100, 1, 1))
        return pd.Series(_holes(draw, [t.strftime(pattern) for t in rep(recent)], None), dtype=object)
    if kind == "money": return pd.Series(_holes(draw, [f"${v:,.2f}" for v in rep(st.floats(-1e7, 1e7))], draw(st.sampled_from([None, "?"]))), dtype=object)
    if kind == "decimal": return pd.Series(_holes(draw, rep(st.decimals(-1000, 1000, places=2)), None), dtype=object)
    if kind == "objint": return pd.Series(_holes(draw, rep(st.integers(-2**70, 2**70)), None), dtype=object)
    if kind == "id": return pd.Series([f"user-{i:04d}" for i in range(n)], dtype=object)
    if kind == "prose": return pd.Series([f"the {i}th customer wrote that all was well" for i in range(n)], dtype=object)
    if kind == "empty": return pd.Series([None] * n, dtype=draw(st.sampled_from([object, "float64"])))
    if kind == "list": return pd.Series([[i] for i in range(n)], dtype=object)
    return pd.Series([draw(st.one_of(text, st.integers(-5, 5), floats.filter(np.isfinite)))] * n)


@st.composite
def tables(draw) -> pd.DataFrame:
    "A table of up to 40 rows and 6 columns, of any types and names."
    n, k = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    names = draw(st.lists(st.one_of(st.text(max_size=10), st.integers(0, 99)), min_size=k, max_size=k, unique=True))
    return pd.DataFrame({i: draw(columns(n)) for i in range(k)}).set_axis(pd.Index(names, dtype=object), axis=1)
