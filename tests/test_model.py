"""The network, its loss and its samplers, beyond what their notebooks show."""
import time

import numpy as np, pandas as pd, pytest, torch

from cdmd_nb.codec import TableCodec
from cdmd_nb.denoiser import SIZES, Denoiser, DenoiserConfig, SchemaTensors
from cdmd_nb.diffusion import MASK, Schedule, add_noise, sample_times
from cdmd_nb.sampler import METHODS, sample_rows
from cdmd_nb.schema import infer_schema
from cdmd_nb.text import EncoderError, TextEncoder, embed_schema, load_embedding, save_embedding

TINY = DenoiserConfig(32, 2, 2, 64, 24)


def make(n_num, sizes, seed=0):
    torch.manual_seed(seed)
    return Denoiser(TINY), SchemaTensors(torch.randn(24), torch.randn(n_num + len(sizes), 24), torch.randn(sum(sizes), 24), tuple(sizes))


def loss_of(net, schema, x_num, x_cat):
    t = sample_times(max(len(x_num), len(x_cat)))
    noisy_num, noisy_cat = add_noise(x_num, x_cat, t, net.schedule)
    return net(noisy_num, noisy_cat, x_num, x_cat, t, schema)


def test_published_parameter_count():
    assert Denoiser(SIZES["paper"]).n_parameters == 10_655_234
    assert 0.5e6 < Denoiser(SIZES["small"]).n_parameters < Denoiser(SIZES["medium"]).n_parameters < 1.1e6
    with pytest.raises(ValueError, match="choose paper, medium, small"): DenoiserConfig.named("huge")


@pytest.mark.parametrize("n_num, sizes", [(3, []), (0, [4, 2]), (1, []), (0, [1]), (0, [7]), (2, [1, 3]), (0, []), (1, [5000])])
@pytest.mark.parametrize("method", list(METHODS))
def test_every_shape_of_table_trains_and_samples(n_num, sizes, method):
    net, schema = make(n_num, sizes)
    x_num, x_cat = torch.randn(64, n_num), torch.stack([torch.randint(0, k, (64,)) for k in sizes], 1) if sizes else torch.zeros(64, 0, dtype=torch.long)
    if n_num + len(sizes):
        num, cat = loss_of(net, schema, x_num, x_cat)
        assert torch.isfinite(num + cat) and (n_num or num == 0) and (sizes or cat == 0)
        (num + cat).backward()
    z, labels = sample_rows(net, schema, 300, method=method, steps=4)
    assert z.shape == (300, n_num) and labels.shape == (300, len(sizes)) and np.isfinite(z).all()
    assert (labels >= 0).all() and (labels < np.array(sizes or [1])).all()


def test_columns_can_be_permuted():
    net, schema = make(3, [4, 2, 6])
    x_num, t = torch.randn(20, 3), torch.rand(20)
    x_cat = torch.stack([torch.randint(-1, k, (20,)) for k in (4, 2, 6)], 1)
    p, q = [2, 0, 1], [1, 2, 0]
    parts = schema.categories.split([4, 2, 6])
    columns, sizes = torch.cat([schema.columns[:3][p], schema.columns[3:][q]]), tuple([4, 2, 6][j] for j in q)
    other = SchemaTensors(schema.table, columns, torch.cat([parts[j] for j in q]), sizes)
    num, h = net.encode(x_num, x_cat, t, net.context(schema))
    num_, h_ = net.encode(x_num[:, p], x_cat[:, q], t, net.context(other))
    torch.testing.assert_close(num[:, p], num_, atol=1e-5, rtol=0)
    torch.testing.assert_close(h.view(3, 20, -1)[q].flatten(0, 1), h_, atol=1e-5, rtol=0)


def test_seeds_batches_and_blocks():
    net, schema = make(3, [4, 2, 6])
    for method in METHODS:
        a = sample_rows(net, schema, 1100, method=method, steps=5, seed=3, batch_size=256)
        b = sample_rows(net, schema, 1100, method=method, steps=5, seed=3, batch_size=100_000)
        for x, y in zip(a, b, strict=True): np.testing.assert_array_equal(x, y)
        c = sample_rows(net, schema, 1100, method=method, steps=5, seed=4)
        assert (a[0] != c[0]).any() and len(np.unique(a[0][:, 0])) == 1100


@pytest.mark.parametrize("method", list(METHODS))
def test_known_cells_stay_and_stop_works(method):
    net, schema = make(2, [4, 3])
    known_num, known_cat = torch.full((500, 2), torch.nan), torch.full((500, 2), MASK)
    known_num[:, 1], known_cat[:, 0] = 1.25, 2
    num, cat = sample_rows(net, schema, 500, method=method, steps=6, known_num=known_num, known_cat=known_cat)
    assert (num[:, 1] == 1.25).all() and (cat[:, 0] == 2).all() and num[:, 0].std() > 0 and len(np.unique(cat[:, 1])) > 1
    cores = torch.get_num_threads()
    torch.set_num_threads(2)  # with many cores all batches would be under way at once
    num, cat = sample_rows(net, schema, 5000, method=method, steps=6, batch_size=256, progress=lambda share: share < 0.3)
    torch.set_num_threads(cores)
    assert 0 < len(num) == len(cat) < 5000
    assert len(sample_rows(net, schema, 10, method=method, progress=lambda share: False)[0]) in (0, 10)


def test_threads_change_neither_rows_nor_settings():
    net, schema = make(2, [4, 3])
    before = torch.get_num_threads()
    try:
        made = {}
        for threads in (1, 3):
            torch.set_num_threads(threads)
            made[threads] = sample_rows(net, schema, 1500, steps=5)
            assert torch.get_num_threads() == threads
        np.testing.assert_allclose(made[1][0], made[3][0], atol=1e-5)
        assert (made[1][1] == made[3][1]).mean() > 0.999

        slow = sample_rows(net, schema, 5120, steps=2, batch_size=256, progress=lambda share: time.sleep(0.002))
        assert len(slow[0]) == 5120  # a slow watcher loses no rows
        assert len(sample_rows(net, schema, 0)[0]) == 0

        def fails(share): raise KeyError("the watcher failed")
        with pytest.raises(KeyError, match="watcher"): sample_rows(net, schema, 1500, steps=5, progress=fails)
        assert torch.get_num_threads() == 3
    finally: torch.set_num_threads(before)


def test_at_most_one_label_per_row_and_step():
    net, schema = make(1, [3] * 9)
    revealed = []
    original = Denoiser.decode

    def spy(self, h, counts, ctx):
        revealed.append(sum(counts))
        return original(self, h, counts, ctx)

    Denoiser.decode = spy
    try: sample_rows(net, schema, 256, batch_size=256)
    finally: Denoiser.decode = original
    assert sum(revealed) == 256 * 9 and max(revealed) <= 256


def test_wrong_sampler_and_untrained_network_say_so():
    net, schema = make(1, [2])
    with pytest.raises(ValueError, match="choose fast or paper"): sample_rows(net, schema, 1, method="magic")
    for p in net.parameters(): p.data.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="not finite"): sample_rows(net, schema, 1)


def test_sigma_data_fits_the_codec():
    g = np.random.default_rng(0)
    df = pd.DataFrame({"zeros": np.where(g.random(3000) < 0.7, 0, g.lognormal(size=3000)), "count": g.poisson(2, 3000), "x": g.normal(size=3000) * 1e6})
    encoded = TableCodec.fit(df, infer_schema(df)).encode(df)
    np.testing.assert_allclose(encoded.num.std(0), Schedule().sigma_data, atol=0.03)


def test_texts_are_embedded_once(tmp_path, monkeypatch):
    encoder = TextEncoder(cache=tmp_path / "e.sqlite")
    first = encoder(["sex", "age", "sex"])
    again = TextEncoder(cache=tmp_path / "e.sqlite")
    monkeypatch.setattr(TextEncoder, "_load", lambda self: pytest.fail("the model was loaded"))
    np.testing.assert_array_equal(again(["age", "sex"]), first[[1, 0]])


def test_every_label_has_its_own_vector(tmp_path):
    df = pd.DataFrame({"c": ["a", "A", "日", "本", "x" * 900, "x" * 901, " ", "1", "1.0", None] * 5, "b": [True, False] * 25})
    codec = TableCodec.fit(df, infer_schema(df, types={"c": "categorical"}))
    e = embed_schema(codec.variables, TextEncoder())
    assert len(np.unique(e.categories.round(2), axis=0)) >= sum(e.sizes) - 1
    save_embedding(e, tmp_path / "e.safetensors")
    np.testing.assert_array_equal(load_embedding(tmp_path / "e.safetensors").categories, e.categories)


def test_encoders_that_cannot_be_had(tmp_path, monkeypatch):
    with pytest.raises(EncoderError, match="model.safetensors is missing"): TextEncoder(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match="not in the local cache"): TextEncoder("nobody/no-such-encoder", cache=tmp_path / "c.sqlite")(["x"])
    monkeypatch.setattr("cdmd_nb.text._EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match="not the published ones"): TextEncoder(cache=tmp_path / "d.sqlite")(["x"])
