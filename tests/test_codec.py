"""Tables to arrays and back."""
import tempfile

import numpy as np, pandas as pd, pytest
from hypothesis import given
from scipy.stats import kstest
from tables import tables

from cdmd_nb.codec import TableCodec
from cdmd_nb.schema import TableError, _is_missing, _numbers, infer_schema

rng = np.random.default_rng(0)


def round_trip(df, schema=None, **kwargs):
    codec = TableCodec.fit(df, schema or infer_schema(df), **kwargs)
    e = codec.encode(df)
    assert np.isfinite(e.num).all() and e.notes == ()
    assert all((0 <= e.cat[:, j]).all() and (e.cat[:, j] < k).all() for j, k in enumerate(codec.vocabulary_sizes))
    return codec, codec.decode(e.num, e.cat)


def assert_same(back, df, schema, rtol):
    assert list(back.columns) == list(df.columns) and len(back) == len(df)
    for c in schema.used:
        old, new = df[c.name].reset_index(drop=True), back[c.name]
        assert str(new.dtype) == str(old.dtype), (c, old.dtype, new.dtype)
        if c.type == "categorical":
            if old.dtype == object or old.dtype.kind == "f": old = old.where(~_is_missing(old), np.nan)
            assert [type(v) for v in new[new.notna()]] == [type(v) for v in old[old.notna()].tolist()] or new.dtype != object
            pd.testing.assert_series_equal(new.astype(object), old.astype(object), check_names=False)
        else:
            (x, gone), (y, also) = _numbers(c, old), _numbers(c, new)
            np.testing.assert_array_equal(gone, also)
            if x.dtype.kind == "i": np.testing.assert_array_equal(x[~gone], y[~also])
            else: np.testing.assert_allclose(y[~also], x[~gone], rtol=rtol, atol=0)


def test_evaluation_datasets_come_back(eval_dataset):
    df, meta = eval_dataset
    half = df.sample(frac=0.5, random_state=0).reset_index(drop=True)
    types = {c: "numerical" for c in meta["numerical"]} | {c: "categorical" for c in meta["categorical"]}
    codec, back = round_trip(half, infer_schema(half, meta["title"], types=types))
    assert_same(back, half, codec.schema, 1e-6)
    z = codec.encode(half).num
    worst = {c.name: kstest(z[:, j], "norm").statistic for j, c in enumerate(codec.numerical)}
    assert max(worst.values()) < 0.02, worst


@given(tables())
def test_any_table_comes_back(df):
    codec, back = round_trip(df)
    assert_same(back, df, codec.schema, 1e-6)
    with tempfile.TemporaryDirectory() as folder:
        codec.save(folder)
        again = TableCodec.load(folder)
        e = again.encode(df)
        np.testing.assert_array_equal(e.num, codec.encode(df).num)
        pd.testing.assert_frame_equal(again.decode(e.num, e.cat), back)


@given(tables())
def test_any_variates_make_a_valid_table(df):
    codec = TableCodec.fit(df, infer_schema(df))
    g = np.random.default_rng(1)
    cat = np.stack([g.integers(0, k, 50) for k in codec.vocabulary_sizes], 1) if codec.categorical else np.zeros((50, 0), int)
    made = codec.decode(g.normal(size=(50, len(codec.numerical))) * 3, cat)
    assert list(made.columns) == list(df.columns) and len(made) == 50
    for c in codec.schema.used:
        if c.type == "numerical":
            (x, gone), (y, also) = _numbers(c, df[c.name]), _numbers(c, made[c.name])
            if (~gone).any() and (~also).any(): assert x[~gone].min() <= y[~also].min() and y[~also].max() <= x[~gone].max()
            assert gone.any() or not also.any()


def test_paper_mode_imputes_the_mean():
    df = pd.DataFrame({"x": [1.0, 2.0, 6.0, np.nan] * 20, "c": ["a", None, "b", "a"] * 20})
    codec, back = round_trip(df, infer_schema(df, types={"x": "numerical"}), missing="impute")
    assert not codec.flags and not back.x.isna().any() and back.x[3] == pytest.approx(3.0) and back.c.isna().sum() == 20
    with pytest.raises(TableError, match="'generate' or 'impute'"): TableCodec.fit(df, infer_schema(df), missing="drop")


def test_holes_come_back_in_the_same_places():
    df = pd.DataFrame({"x": np.where(rng.random(500) < 0.3, np.nan, rng.normal(size=500)), "n": pd.array([1, None, 3, 4, 5] * 100, dtype="Int64")})
    codec, back = round_trip(df)
    assert len(codec.flags) == 2
    pd.testing.assert_frame_equal(back.isna(), df.isna())


def test_only_numbers_only_labels_one_row_ten_rows():
    for df in (pd.DataFrame(rng.normal(size=(30, 3))), pd.DataFrame({"a": list("xyzxy") * 6, "b": list("uuvvv") * 6}),
               pd.DataFrame({"a": [1], "b": ["x"], "c": [2.5]}), pd.DataFrame({"a": range(10), "b": list("abcdefghij")})):
        codec, back = round_trip(df)
        pd.testing.assert_frame_equal(back, df)
    assert len(TableCodec.fit(pd.DataFrame({"a": [1]}), infer_schema(pd.DataFrame({"a": [1]}))).variables) == 0


def test_exact_beyond_2_to_the_53_and_across_magnitudes():
    df = pd.DataFrame({"big": rng.integers(2**60, 2**62, 5000) // 2 * 2 + 1, "wide": 10.0 ** rng.uniform(-12, 12, 5000)})
    df.loc[:3, "big"] = df.big[4]
    codec, back = round_trip(df, infer_schema(df, types={"big": "numerical"}))
    few = df.head(800)
    codec, back = round_trip(few, infer_schema(few, types={"big": "numerical"}))
    pd.testing.assert_frame_equal(back, few)


def test_infinite_numbers_count_as_missing_and_are_reported():
    df = pd.DataFrame({"x": [1.5, np.inf, -np.inf, 2.5, 3.5] * 10})
    codec, back = round_trip(df)
    assert back.x.isna().sum() == 20 and "infinite" in codec.schema["x"].reason


def test_what_does_not_fit_is_handled_and_reported():
    df = pd.DataFrame({"x": rng.normal(size=100), "c": ["a", "b", "b", "b"] * 25, "d": ["u", None] * 50})
    codec = TableCodec.fit(df, infer_schema(df))
    e = codec.encode(pd.DataFrame({"x": [99.0, -99.0, np.nan], "c": ["zzz", None, "a"], "d": ["new", "u", None]}))
    back = codec.decode(e.num, e.cat)
    assert len(e.notes) == 4 and "'zzz'" in " ".join(e.notes)
    assert back.x[0] == df.x.max() and back.x[1] == df.x.min() and list(back.c) == ["b", "b", "a"] and list(back.d.isna()) == [True, False, True]
    with pytest.raises(TableError, match="lacks the column 'x'"): codec.encode(df.drop(columns="x"))


def test_many_different_dates_come_back():
    days = np.datetime64("2010-01-01") + rng.integers(0, 6000, 30_000)
    df = pd.DataFrame({"text": days.astype(str), "stamp": days.astype("datetime64[s]") + rng.integers(0, 86_400, 30_000)})
    codec, back = round_trip(df)
    pd.testing.assert_frame_equal(back, df)


def test_labels_that_differ_in_nul_characters_are_refused():
    df = pd.DataFrame({"c": ["a", "", "\0"] * 9})
    with pytest.raises(TableError, match="NUL characters"): TableCodec.fit(df, infer_schema(df))


def test_fitted_on_training_rows_only():
    df = pd.DataFrame({"c": ["a", "b"] * 50 + ["rare"], "x": list(range(100)) + [10**6]})
    codec = TableCodec.fit(df.head(100), infer_schema(df))
    assert codec.schema["c"].domain == ("a", "b") and codec.schema["x"].domain == (0, 99)


def test_a_saved_codec_does_not_carry_the_column():
    df = pd.DataFrame({"x": rng.lognormal(size=50_000)})
    assert len(TableCodec.fit(df, infer_schema(df)).maps["x"].values) < 1100


def test_damaged_files_are_refused(tmp_path):
    df = pd.DataFrame({"x": rng.normal(size=50), "c": ["a", "b"] * 25})
    codec = TableCodec.fit(df, infer_schema(df))
    with pytest.raises(TableError, match="no codec"): TableCodec.load(tmp_path)
    codec.save(tmp_path)
    from safetensors.numpy import load_file, save_file
    arrays = load_file(tmp_path / "codec.safetensors")
    save_file(arrays | {"0.values": arrays["0.values"][::-1].copy()}, tmp_path / "codec.safetensors")
    with pytest.raises(TableError, match="not increasing"): TableCodec.load(tmp_path)
    codec.save(tmp_path)
    (tmp_path / "codec.json").write_text((tmp_path / "codec.json").read_text().replace('"format": 1', '"format": 99', 1))
    with pytest.raises(TableError, match="newer version"): TableCodec.load(tmp_path)
    (tmp_path / "codec.json").write_text("[]")
    with pytest.raises(TableError, match="damaged"): TableCodec.load(tmp_path)
